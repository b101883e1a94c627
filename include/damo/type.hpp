// TensorType: what a Variable promises before any value is there: a dtype and, for each axis, an extent or kUnknown.
#pragma once
#include <string>

#include <damo/dtype.hpp>
#include <damo/shape.hpp>

namespace damo {

struct TensorType {
  DType dtype = float32;
  Shape dims;

  int rank() const { return dims.rank(); }
  /// Whether a value of this dtype and shape may stand for a Variable of this type.
  bool accepts(DType value_dtype, const Shape& shape) const;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

/// "float32 (?, 784)".
std::string to_string(const TensorType& type);

}  // namespace damo
