// How many bins bincount has, of Variables and of Arrays.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>

#include <damo/dtype.hpp>
#include <damo/error.hpp>

namespace damo {

/// Throws TypeError for what is no integer, ShapeError for another rank than 1, OptionError for a negative length.
inline void check_bins(DType dtype, int rank, std::int64_t min_length) {
  if (is_floating(dtype)) throw TypeError("bincount: x is " + std::string(name(dtype)) + ", whose elements number no bins", "cast(x, int64)");
  if (rank != 1) throw ShapeError("bincount: x has " + std::to_string(rank) + " axes, not 1", "flatten(x)");
  if (min_length < 0) throw OptionError("bincount: min_length is " + std::to_string(min_length), "it is 0 or more");
}

/// least: of x's elements and 0; greatest: of them and -1.
inline std::int64_t bin_count(std::int64_t least, std::int64_t greatest, std::int64_t min_length) {
  if (least < 0) throw IndexError("bincount: x has the element " + std::to_string(least), "elements are 0 or more");
  return std::max(greatest + 1, min_length);
}

}  // namespace damo
