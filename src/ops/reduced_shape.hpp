// The shape that is left of a reduction.
#pragma once
#include <cstdint>

#include <damo/shape.hpp>

namespace damo {

/// Bit a of axes: axis a is gone, or with keepdims has extent 1.
inline Shape reduced_shape(const Shape& shape, std::uint32_t axes, bool keepdims) {
  Shape left;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (!(axes >> axis & 1u))
      left.push_back(shape[axis]);
    else if (keepdims)
      left.push_back(1);
  }
  return left;
}

}  // namespace damo
