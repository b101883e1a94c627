// How many numbers a range has, for Arrays (eager/create.cpp) and graphs (create.cpp).
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

#include <damo/error.hpp>
#include <damo/scalar.hpp>

namespace damo {

struct RangeLength {
  std::int64_t count;
  bool of_integers;  ///< start, stop and step all are
};

/// ceil((stop - start) / step), of integers exactly. Throws OptionError for a step of 0, ShapeError for a range without an end.
inline RangeLength range_length(const Scalar& start, const Scalar& stop, const Scalar& step) {
  __extension__ using Wide = __int128;  // holds the distance of any two integers
  const auto wide = [](const Scalar& integer) { return integer.dtype() == uint64 ? Wide(static_cast<std::uint64_t>(integer.as_int())) : Wide(integer.as_int()); };
  if (step.as_double() == 0) throw OptionError("arange: the step is 0", "give another one; linspace takes a count instead");
  const bool of_integers = !is_floating(start.dtype()) && !is_floating(stop.dtype()) && !is_floating(step.dtype());
  double count = std::ceil((stop.as_double() - start.as_double()) / step.as_double());
  if (of_integers) {
    const Wide distance = wide(stop) - wide(start), by = wide(step);
    count = (distance > 0) == (by > 0) ? static_cast<double>((distance + by + (by > 0 ? -1 : 1)) / by) : 0;
  }
  if (!(count < 0x1p62)) throw ShapeError("arange: the range has no end", "give finite numbers");
  return {static_cast<std::int64_t>(std::max(count, 0.0)), of_integers};
}

}  // namespace damo
