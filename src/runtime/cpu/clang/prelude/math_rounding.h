// Rounding to integers, remainders, minimum and maximum, tests: float and double. See math_support.h for the rules.
#pragma once
#include "math_support.h"
DAMO_EXACT_BEGIN

namespace damo {

// rint and nearbyint: half to even. round: half away from zero.
#define DAMO_ROUNDING(name, done)                                    \
  DAMO_MATH float name(float x) { return __builtin_##done##f(x); }   \
  DAMO_MATH double name(double x) { return __builtin_##done(x); }
DAMO_ROUNDING(floor, floor) DAMO_ROUNDING(ceil, ceil) DAMO_ROUNDING(trunc, trunc)
DAMO_ROUNDING(rint, rint) DAMO_ROUNDING(nearbyint, rint) DAMO_ROUNDING(round, round)
#undef DAMO_ROUNDING

DAMO_MATH float fabs(float x) { return math::magnitude(x); }
DAMO_MATH double fabs(double x) { return math::magnitude(x); }
DAMO_MATH float copysign(float x, float s) { return math::with_sign(x, s); }
DAMO_MATH double copysign(double x, double s) { return math::with_sign(x, s); }
DAMO_MATH float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
DAMO_MATH double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }

// By bits: right whatever the compiler was told about NaN and infinity.
DAMO_MATH bool isnan(float x) { return (math::bits(x) & 0x7fffffffu) > 0x7f800000u; }
DAMO_MATH bool isnan(double x) { return (math::bits(x) & 0x7fffffffffffffffull) > 0x7ff0000000000000ull; }
DAMO_MATH bool isinf(float x) { return (math::bits(x) & 0x7fffffffu) == 0x7f800000u; }
DAMO_MATH bool isinf(double x) { return (math::bits(x) & 0x7fffffffffffffffull) == 0x7ff0000000000000ull; }
DAMO_MATH bool isfinite(float x) { return (math::bits(x) & 0x7fffffffu) < 0x7f800000u; }
DAMO_MATH bool isfinite(double x) { return (math::bits(x) & 0x7fffffffffffffffull) < 0x7ff0000000000000ull; }
DAMO_MATH bool signbit(float x) { return math::bits(x) >> 31; }
DAMO_MATH bool signbit(double x) { return math::bits(x) >> 63; }

// C's: the number where the other is NaN.
DAMO_MATH float fmin(float x, float y) { return isnan(y) ? x : (y < x || isnan(x) ? y : x); }
DAMO_MATH double fmin(double x, double y) { return isnan(y) ? x : (y < x || isnan(x) ? y : x); }
DAMO_MATH float fmax(float x, float y) { return isnan(y) ? x : (y > x || isnan(x) ? y : x); }
DAMO_MATH double fmax(double x, double y) { return isnan(y) ? x : (y > x || isnan(x) ? y : x); }

namespace math {

// One place of a long division in base 2^29: takes off the multiples of m 2^(29 place). Exact: the quotient has
// at most 29 bits and m 24.
template <int Place>
DAMO_MATH double long_division(double r, double m, double inverse) {
  constexpr double kBase = double(1u << 29);
  double up = 1.0, down = 1.0;
  for (int i = 0; i < Place; ++i) up *= kBase, down /= kBase;
  const double part = m * up;
  r = r - __builtin_trunc(r * inverse * down) * part;
  r = r < 0.0 ? r + part : r;
  r = r >= part ? r - part : r;
  if constexpr (Place > 0) return long_division<Place - 1>(r, m, inverse);
  return r;
}

}  // namespace math

// Exact, as C's. Ten places cover the 277 binary digits between the largest float and the smallest.
DAMO_MATH float fmod(float x, float y) {
  const float a = math::magnitude(x), b = math::magnitude(y);
  const float r = float(math::long_division<9>(a, b, 1.0 / double(b)));
  const bool valid = a < __builtin_inff() && b > 0.0f;  // false for NaN
  const float value = b == __builtin_inff() ? a : r;
  return valid && b == b ? math::with_sign(value, x) : math::quiet_nan(x);
}
DAMO_MATH double fmod(double x, double y) { return __builtin_fmod(x, y); }

}  // namespace damo
DAMO_EXACT_END
