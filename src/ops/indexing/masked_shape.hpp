// Which shapes masks and what is written through them have, for Variables and Arrays.
#pragma once
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

/// Throws unless y has the shape that x's parts at that many places have.
inline void check_rows(const std::string& user, const Shape& x, std::int64_t count, const Shape& y) {
  bool fits = y.rank() == x.rank() && (y[0] == count || y[0] == kUnknown || count == kUnknown);
  for (int axis = 1; fits && axis < x.rank(); ++axis) fits = y[axis] == x[axis] || y[axis] == kUnknown || x[axis] == kUnknown;
  if (fits) return;
  Shape want = x;
  want[0] = count;
  throw ShapeError(user + ": y of shape " + to_string(y) + " does not fit to the places where the mask is true: " + to_string(want), "give a row for each, or leave that axis out");
}

}  // namespace damo
