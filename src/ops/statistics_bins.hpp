// How many bins bincount has, of Variables and of Arrays.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include <damo/dtype.hpp>
#include <damo/error.hpp>
#include <damo/shape.hpp>

namespace damo {

/// Throws TypeError for what is no integer, ShapeError for another rank than 1, OptionError for a negative length.
inline void check_bins(DType dtype, int rank, std::int64_t min_length) {
  if (is_floating(dtype)) throw TypeError("bincount: x is " + std::string(name(dtype)) + ", whose elements number no bins", "cast(x, int64)");
  if (rank != 1) throw ShapeError("bincount: x has " + std::to_string(rank) + " axes, not 1", "flatten(x)");
  if (min_length < 0) throw OptionError("bincount: min_length is " + std::to_string(min_length), "it is 0 or more");
}

/// Throws ShapeError for weights of another shape than x's, extents of which may be unknown.
inline void check_weights(const Shape& x, const Shape& weights) {
  const bool fits = weights.rank() == 1 && (weights[0] == x[0] || weights[0] == kUnknown || x[0] == kUnknown);
  if (!fits) throw ShapeError("bincount: weights of shape " + to_string(weights) + " for x of shape " + to_string(x), "give each element a weight");
}

/// least: of x's elements and 0; greatest: of them and -1.
inline std::int64_t bin_count(std::int64_t least, std::int64_t greatest, std::int64_t min_length) {
  if (least < 0) throw IndexError("bincount: x has the element " + std::to_string(least), "elements are 0 or more");
  const bool is_last = greatest == std::numeric_limits<std::int64_t>::max();  // an array of so many elements is refused
  return std::max(is_last ? greatest : greatest + 1, min_length);
}

}  // namespace damo
