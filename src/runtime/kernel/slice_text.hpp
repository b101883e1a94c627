// The text of where a slice lies that a kernel finds by its position (taken.hpp).
#pragma once
#include <string>

namespace damo {

/// Where the position of the slice at coordinates c0, c1, ..., or of another letter, along so many axes stands among those of what is taken from input i. What it counts positions in, `as`, is the type that coordinates are multiplied
/// in; empty: their own.
inline std::string slice_place(int i, int axes, const std::string& as = {}, const std::string& letter = "c") {
  const auto in = [&](const std::string& text) { return as.empty() ? text : as + "(" + text + ")"; };
  std::string place;
  for (int axis = 0; axis < axes; ++axis) {
    const std::string at = std::to_string(axis);
    place += (place.empty() ? "" : " + ") + in(letter + at) + " * " + in("a.of" + std::to_string(i) + "[" + at + "]");
  }
  return place.empty() ? "0" : place;
}

/// How far that slice lies from the first one of the array that input i is taken from, in elements: 64 bits.
inline std::string slice_offset(int i, int axes, const std::string& as = {}, const std::string& letter = "c") {
  const std::string n = std::to_string(i);
  return "a.positions" + n + "[" + slice_place(i, axes, as, letter) + "] * a.apart" + n;
}

}  // namespace damo
