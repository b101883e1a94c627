// FloatBits: how text tells from a float's bits whether it is finite: without the sign's they are less than those of infinity. Of float8_e4m3, which has no infinity, those that
// are all ones are NaN and take its place.
#pragma once
#include <damo/dtype.hpp>

namespace damo {

struct FloatBits {
  const char* word;       ///< the unsigned integer of that many bits
  const char* magnitude;  ///< all bits but the sign's
  const char* infinite;   ///< the least of those that are not finite
};

/// Of a floating dtype.
inline FloatBits float_bits(DType dtype) {
  if (dtype == float64) return {"unsigned long long", "0x7fffffffffffffffull", "0x7ff0000000000000ull"};
  if (dtype == float32) return {"unsigned int", "0x7fffffffu", "0x7f800000u"};
  if (is_float8(dtype)) return {"unsigned char", "0x7f", dtype == float8_e4m3 ? "0x7f" : "0x7c"};
  return {"unsigned short", "0x7fff", dtype == float16 ? "0x7c00" : "0x7f80"};
}

}  // namespace damo
