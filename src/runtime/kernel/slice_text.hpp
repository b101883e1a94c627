// The text of where a slice lies that a kernel finds by its position (taken.hpp).
#pragma once
#include <string>

namespace damo {

/// How far the slice at coordinates c0, c1, ..., or of another letter, along so many axes lies from the first one of the array that input i is taken from, in elements. What it counts positions in, `as`, is the type that coordinates
/// are multiplied in; empty: their own. The distance has 64 bits.
inline std::string slice_offset(int i, int axes, const std::string& as = {}, const std::string& letter = "c") {
  const std::string n = std::to_string(i);
  const auto in = [&](const std::string& text) { return as.empty() ? text : as + "(" + text + ")"; };
  std::string place;
  for (int axis = 0; axis < axes; ++axis) {
    const std::string at = std::to_string(axis);
    place += (place.empty() ? "" : " + ") + in(letter + at) + " * " + in("a.of" + n + "[" + at + "]");
  }
  return "a.positions" + n + "[" + (place.empty() ? "0" : place) + "] * a.apart" + n;
}

}  // namespace damo
