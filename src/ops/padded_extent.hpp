// What pad, and diag, make of an extent, of Variables and of Arrays.
#pragma once
#include <cstdint>
#include <string>

#include <damo/axes.hpp>
#include <damo/error.hpp>

namespace damo {

/// Throws ShapeError, in that function's name, for more elements along the axis than are counted.
inline std::int64_t padded_extent(const char* function, std::int64_t extent, const PadWidth& width, int axis) {
  if (__builtin_add_overflow(extent, width.before, &extent) || __builtin_add_overflow(extent, width.after, &extent)) {
    throw ShapeError(std::string(function) + ": axis " + std::to_string(axis) + " would have more than 2^63 elements", "give lesser widths");
  }
  return extent;
}

}  // namespace damo
