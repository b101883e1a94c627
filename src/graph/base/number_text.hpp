// Numbers and places in messages.
#pragma once
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>

#include <damo/shape.hpp>

namespace damo {

/// With so many significant digits at most; "nan" whatever its sign.
inline std::string number_text(double value, int digits) {
  if (std::isnan(value)) return "nan";
  char characters[40];
  return {characters, std::to_chars(characters, characters + sizeof characters, value, std::chars_format::general, digits).ptr};
}

/// "(2, 0)": where the element of that number in C order lies.
inline std::string place_text(std::int64_t element, const Shape& shape) {
  Shape at = shape;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    at[axis] = element % shape[axis];
    element /= shape[axis];
  }
  return to_string(at);
}

}  // namespace damo
