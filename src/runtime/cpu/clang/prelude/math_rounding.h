// Rounding to integers, square roots, remainders, minimum and maximum, tests: float and double. See math_support.h for the rules.
#pragma once
#include "math_support.h"
DAMO_EXACT_BEGIN

namespace damo {
namespace math {

// One place of a long division in base 2^29: takes off the multiples of m 2^(29 place). Exact: the quotient has
// at most 29 bits and m 24.
template <int Place>
DAMO_MATH double long_division(double r, double m, double inverse) {
  const double up = as_double(u64(1023 + 29 * Place) << 52), down = as_double(u64(1023 - 29 * Place) << 52);
  const double part = m * up;
  r = r - __builtin_trunc(r * inverse * down) * part;
  r = r < 0.0 ? r + part : r;
  r = r >= part ? r - part : r;
  if constexpr (Place > 0) return long_division<Place - 1>(r, m, inverse);
  return r;
}

}  // namespace math

// rint and nearbyint: half to even. round: half away from zero.
#define DAMO_ROUNDING(name, done)                                    \
  DAMO_MATH float name(float x) { return __builtin_##done##f(x); }   \
  DAMO_MATH double name(double x) { return __builtin_##done(x); }
DAMO_ROUNDING(floor, floor) DAMO_ROUNDING(ceil, ceil) DAMO_ROUNDING(trunc, trunc)
DAMO_ROUNDING(rint, rint) DAMO_ROUNDING(nearbyint, rint) DAMO_ROUNDING(round, round)
#undef DAMO_ROUNDING

// The tests are by bits: right whatever the compiler was told about NaN and infinity. fmin and fmax are C's: the number
// where the other is NaN.
#define DAMO_FLOATING(T, suffix, infinity_bits)                                                       \
  DAMO_MATH T fabs(T x) { return math::magnitude(x); }                                                \
  DAMO_MATH T copysign(T x, T s) { return math::with_sign(x, s); }                                    \
  DAMO_MATH T sqrt(T x) { return __builtin_sqrt##suffix(x); }                                         \
  DAMO_MATH T rsqrt(T x) { return T(1) / sqrt(x); }                                                   \
  DAMO_MATH T fma(T a, T b, T c) { return __builtin_fma##suffix(a, b, c); }                           \
  DAMO_MATH bool isnan(T x) { return math::bits(math::magnitude(x)) > infinity_bits; }                \
  DAMO_MATH bool isinf(T x) { return math::bits(math::magnitude(x)) == infinity_bits; }               \
  DAMO_MATH bool isfinite(T x) { return math::bits(math::magnitude(x)) < infinity_bits; }             \
  DAMO_MATH bool signbit(T x) { return math::bits(x) >> (8 * sizeof(T) - 1); }                        \
  DAMO_MATH T fmin(T x, T y) { return isnan(y) ? x : (y < x || isnan(x) ? y : x); }                   \
  DAMO_MATH T fmax(T x, T y) { return isnan(y) ? x : (y > x || isnan(x) ? y : x); }
DAMO_FLOATING(float, f, 0x7f800000u)
DAMO_FLOATING(double, , 0x7ff0000000000000ull)
#undef DAMO_FLOATING

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
