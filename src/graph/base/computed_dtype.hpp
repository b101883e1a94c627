// What arithmetic says of 8-bit floats, everywhere alike.
#pragma once
#include <string>
#include <string_view>

#include <damo/dtype.hpp>
#include <damo/error.hpp>

namespace damo {

/// Throws TypeError for float8_e4m3 and float8_e5m2. user: what would compute, "sum".
inline void require_computed(std::string_view user, DType dtype) {
  if (is_float8(dtype)) throw TypeError(std::string(user) + " does not compute with " + std::string(name(dtype)) + ", which only stores numbers", "cast it to float32 first");
}

}  // namespace damo
