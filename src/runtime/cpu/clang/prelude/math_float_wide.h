// Float functions that are computed in double, so that a few terms give a result within 0.6 ulp without any care
// for what cancels: powers, hyperbolic functions and their inverses, roots. See math_support.h for the rules.
#pragma once
#include "math_rounding.h"
DAMO_EXACT_BEGIN

namespace damo {
namespace math {

// The kernels have about 34 good bits: enough for one rounding to float, half the terms a double needs.

// (e^r - 1 - r) / r^2 for |r| <= ln(2)/2.
DAMO_MATH double wide_expm1_tail(double r) {
  return horner(r, 0x1.0000003a1afc6p-1, 0x1.555554424c5e1p-3, 0x1.55548dd70b5acp-5, 0x1.1112725cb40eap-7,
                0x1.6d8cf8a8706fap-10, 0x1.9f062728429ecp-13);
}

// y = n ln(2) + r for |y| < 700.
struct WideSplit {
  double r, scale;  // scale = 2^n
};
DAMO_MATH WideSplit wide_exp_split(double y) {
  const double sum = madd(y, 0x1.71547652b82fep+0, kRounderDouble + 1023.0);
  const double n = sum - (kRounderDouble + 1023.0);
  return {madd(n, -0x1.62e42fefa39efp-1, y), as_double(bits(sum) << 52)};
}

DAMO_MATH double wide_exp(double y) {
  const WideSplit s = wide_exp_split(y);
  return s.scale * madd(s.r * s.r, wide_expm1_tail(s.r), 1.0 + s.r);
}

DAMO_MATH double wide_expm1(double y) {
  const WideSplit s = wide_exp_split(y);
  return madd(s.scale, madd(s.r * s.r, wide_expm1_tail(s.r), s.r), s.scale - 1.0);
}

// log(1 + f) = 2 atanh(f / (2 + f)) for f in [sqrt(1/2) - 1, sqrt(2) - 1].
DAMO_MATH double wide_log_reduced(double f) {
  const double s = f / (2.0 + f), u = s * s;
  return s * horner(u, 2.0, 0x1.555554fd8dd27p-1, 0x1.999a7ac2a5e4bp-2, 0x1.2438c3b0744f1p-2, 0x1.e2fa1c1892456p-3);
}

// log x for a positive double that is no denormal; 0 gives about -710, inf a large number: callers see to the ends.
DAMO_MATH double wide_log(double x) {
  const u64 ix = bits(x) - kSqrtHalf;
  const double e = double(i32(i64(ix) >> 52));
  const double f = as_double((ix & 0x000fffffffffffffull) + kSqrtHalf) - 1.0;
  return madd(e, 0x1.62e42fefa39efp-1, wide_log_reduced(f));
}

// log(1 + x) for -1 < x < 2^500, with all digits near 0.
DAMO_MATH double wide_log1p(double x) {
  const i32 k = i32(i64(bits(1.0 + x) - kSqrtHalf) >> 52);
  const double scale = as_double(u64(1023 - k) << 52);
  return madd(double(k), 0x1.62e42fefa39efp-1, wide_log_reduced(madd(x, scale, scale - 1.0)));
}

// A step of Halley's iteration towards the cube root of d.
DAMO_MATH double halley(double y, double d) {
  const double y3 = y * y * y;
  return y * (y3 + 2.0 * d) / (2.0 * y3 + d);
}

// C's pow of a |x| that has the power r: 1 for y = 0 or x = 1 whatever the other, NaN for x < 0 unless y is an integer, whose
// parity gives the sign.
template <class T>
DAMO_MATH T pow_ends(T x, T y, T r) {
  const T a = magnitude(x), half = T(0.5) * y;
  const bool whole = trunc(y) == y, odd = whole && trunc(half) != half && magnitude(y) < infinity(y);
  r = a == T(1) ? T(1) : r;  // 1^inf
  r = odd ? with_sign(r, x) : r;
  r = (x < T(0) && a < infinity(x) && !whole) ? quiet_nan(x) : r;
  r = (x != x || y != y) ? x + y : r;
  return (y == T(0) || x == T(1)) ? T(1) : r;
}

}  // namespace math

DAMO_MATH float pow(float x, float y) {
  const float a = math::magnitude(x);
  double l = math::wide_log(a);
  l = a == 0.0f ? -__builtin_inf() : l;
  l = a < __builtin_inff() ? l : double(a);  // inf and NaN
  return math::pow_ends(x, y, float(math::wide_exp(math::at_least(math::at_most(y * l, 200.0), -200.0))));
}

DAMO_MATH float hypot(float x, float y) {
  const double a = x, b = y;
  const float r = float(__builtin_sqrt(a * a + b * b));
  const bool infinite = math::magnitude(x) == __builtin_inff() || math::magnitude(y) == __builtin_inff();
  return infinite ? __builtin_inff() : r;
}

// A third of the exponent by integer division, then two steps of Halley's iteration: 5 % -> 1e-4 -> 1e-12.
DAMO_MATH float cbrt(float x) {
  const float a = math::magnitude(x);
  const bool small = a < 0x1p-126f;
  const float scaled = small ? a * 0x1p24f : a;
  const double d = scaled;
  const double y = math::halley(math::halley(math::as_float(math::bits(scaled) / 3u + 0x2a514067u), d), d);
  const float r = float(small ? y * 0x1p-8 : y);
  return (a > 0.0f && a < __builtin_inff()) ? math::with_sign(r, x) : x;
}

DAMO_MATH float sinh(float x) {
  const double m = math::wide_expm1(math::at_most(math::magnitude(x), 100.0f));
  return math::with_sign(float(0.5 * (m + m / (m + 1.0))), x);
}

DAMO_MATH float cosh(float x) {
  const double e = math::wide_exp(math::at_most(math::magnitude(x), 100.0f));
  return float(0.5 * (e + 1.0 / e));
}

DAMO_MATH float asinh(float x) {
  const float a = math::magnitude(x);
  const double d = a, d2 = d * d;
  const float r = float(math::wide_log1p(d + d2 / (1.0 + __builtin_sqrt(1.0 + d2))));
  return math::with_sign(a < __builtin_inff() ? r : a, x);
}

DAMO_MATH float acosh(float x) {
  const double t = double(x) - 1.0;
  const float r = float(math::wide_log1p(t + __builtin_sqrt(t * (t + 2.0))));
  return x >= 1.0f ? (x < __builtin_inff() ? r : x) : (x != x ? x : math::quiet_nan(x));
}

DAMO_MATH float atanh(float x) {
  const float a = math::magnitude(x);
  const double d = a;
  float r = float(0.5 * math::wide_log1p(2.0 * d / (1.0 - d)));
  r = a == 1.0f ? __builtin_inff() : r;
  r = a > 1.0f ? math::quiet_nan(x) : r;
  return x != x ? x : math::with_sign(r, x);
}

}  // namespace damo
DAMO_EXACT_END
