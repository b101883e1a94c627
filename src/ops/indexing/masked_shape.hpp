// Which shapes masks have, for Variables and Arrays.
#pragma once
#include <cstdint>
#include <string>

#include <damo/dtype.hpp>
#include <damo/error.hpp>
#include <damo/shape.hpp>

namespace damo {

/// Throws unless a mask of that dtype and shape fits to x's first axes; of unknown extents as far as one can tell.
inline void check_mask(const std::string& user, const Shape& x, DType dtype, const Shape& mask) {
  if (dtype != bool_) throw TypeError(user + ": the mask is " + std::string(name(dtype)) + ", not bool", "compare it: neq(mask, 0)");
  bool fits = mask.rank() >= 1 && mask.rank() <= x.rank();
  for (int axis = 0; fits && axis < mask.rank(); ++axis) fits = mask[axis] == x[axis] || mask[axis] == kUnknown || x[axis] == kUnknown;
  if (!fits) throw ShapeError(user + ": a mask of shape " + to_string(mask) + " does not fit to x of shape " + to_string(x), "it has the extents of x's first axes");
}

/// Throws unless y, which has no more axes than x has behind the mask's, stretches to these; of unknown extents as far as one can tell.
inline void require_fits_behind_mask(const std::string& user, const Shape& x, const Shape& y) {
  for (int axis = 1; axis <= y.rank(); ++axis) {
    const std::int64_t have = y[-axis], want = x[-axis];
    if (have != want && have != 1 && have != kUnknown && want != kUnknown) throw ShapeError(user + ": y of shape " + to_string(y) + " does not fit to x of shape " + to_string(x) + " behind the mask's axes", "broadcast or reshape it");
  }
}

}  // namespace damo
