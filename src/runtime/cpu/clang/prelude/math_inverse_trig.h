// The inverses of sine, cosine and tangent, float and double. See math_support.h for the rules.
#pragma once
#include "math_trig.h"
DAMO_EXACT_BEGIN

namespace damo {
namespace math {

// asin s - s for s in [0, 1/2], z = s^2.
DAMO_MATH float asin_tail(float s, float z) {
  return s * z * horner(z, 0x1.5555c8p-3f, 0x1.3301ccp-4f, 0x1.7480ep-5f, 0x1.8c0cacp-6f, 0x1.598634p-5f);
}
DAMO_MATH double asin_tail(double s, double z) {
  return s * z * horner(z, 0x1.5555555555577p-3, 0x1.333333332e103p-4, 0x1.6db6db721431p-5, 0x1.f1c71a945bd1bp-6,
                     0x1.6e8bdeef7728fp-6, 0x1.1c49ef5c39b8ap-6, 0x1.ca1fa4718d892p-7, 0x1.7584d2e3f8644p-7,
                     0x1.614079d204b69p-7, 0x1.e5bad3f5c11d1p-9, 0x1.63ae377904aa6p-6, -0x1.5816a1554ba7ep-6,
                     0x1.0b4ea1184f042p-5);
}

DAMO_MATH float square_root(float x) { return __builtin_sqrtf(x); }
DAMO_MATH double square_root(double x) { return __builtin_sqrt(x); }

// Above 1/2: asin a = pi/2 - 2 asin sqrt((1 - a) / 2).
template <class T>
DAMO_MATH T asin_of(T x) {
  const T a = magnitude(x);
  const bool high = a > T(0.5);
  const T z = high ? T(0.5) - T(0.5) * a : a * a;
  const T s = high ? square_root(z) : a;
  const T tail = asin_tail(s, z);
  // The large parts first, what their difference rounds off joins the small ones.
  const T head = HalfPi<T>::kHigh - (s + s), lost = (HalfPi<T>::kHigh - head) - (s + s);
  const T far = head - (tail + tail - (HalfPi<T>::kLow + lost));
  return with_sign(high ? far : s + tail, x);
}

// In double x itself is taken off near 0, not its rounded sum with the tail.
template <class T>
DAMO_MATH T acos_of(T x) {
  const T a = magnitude(x), half_pi = HalfPi<T>::kHigh, low = HalfPi<T>::kLow;
  const bool high = a > T(0.5), negative = x < T(0);
  const T z = high ? T(0.5) - T(0.5) * a : a * a;
  const T s = high ? square_root(z) : a;
  const T tail = asin_tail(s, z), p = s + tail;
  const T near = HalfPi<T>::kIsFloat ? half_pi - ((negative ? -p : p) - low) : half_pi - ((x - low) + (negative ? -tail : tail));
  const T far = negative ? T(2) * half_pi - (p + p - T(2) * low) : p + p;
  return high ? far : near;
}

// atan q for q in [0, 1].
DAMO_MATH float atan_reduced(float q) {
  const float u = q * q, u2 = u * u;
  const float low = in_pairs(u, u2, -0x1.5554dcp-2f, 0x1.9978f4p-3f, -0x1.230adap-3f, 0x1.b4e11cp-4f);
  const float high = in_pairs(u, u2, -0x1.3556a6p-4f, 0x1.61fdd8p-5f, -0x1.0c2c4p-6f, 0x1.7ed2dap-9f);
  return madd(q * u, madd(u2 * u2, high, low), q);
}

// atan q - q for |q| <= tan(pi/8).
DAMO_MATH double atan_tail(double q) {
  const double u = q * q;
  return q * u * horner(u, -0x1.555555555553dp-2, 0x1.99999999957bp-3, -0x1.24924922a98acp-3, 0x1.c71c70e4bf07p-4,
                     -0x1.745cf8ba4076p-4, 0x1.3b1116ec64f6dp-4, -0x1.10eba112e98a3p-4, 0x1.df0e0cf4266a2p-5,
                     -0x1.9ccd6aa2c9cf7p-5, 0x1.37c8b7494dc4ep-5, -0x1.254f22204bbf2p-6);
}

// atan(top / bottom) for 0 <= top <= bottom, in two parts. Above tan(pi/8): pi/4 + atan((top - bottom) / (top + bottom)).
DAMO_MATH Pair<double> atan_of_ratio(double top, double bottom) {
  const bool high = top > 0x1.a827999fcef32p-2 * bottom;
  const double q = (high ? top - bottom : top) / (high ? top + bottom : bottom);
  const double base = high ? 0.5 * HalfPi<double>::kHigh : 0.0, base_low = high ? 0.5 * HalfPi<double>::kLow : 0.0;
  const Pair<double> sum = fast_two_sum(base, q);
  return {sum.hi, sum.lo + (atan_tail(q) + base_low)};
}

}  // namespace math

DAMO_MATH float asin(float x) { return math::asin_of(x); }
DAMO_MATH double asin(double x) { return math::asin_of(x); }

DAMO_MATH float acos(float x) { return math::acos_of(x); }
DAMO_MATH double acos(double x) { return math::acos_of(x); }

DAMO_MATH float atan(float x) {
  const float a = math::magnitude(x);
  const bool high = a > 1.0f;
  const float r = math::atan_reduced((high ? 1.0f : a) / (high ? a : 1.0f));
  return math::with_sign(high ? math::HalfPi<float>::kHigh - (r - math::HalfPi<float>::kLow) : r, x);
}
DAMO_MATH double atan(double x) {
  const double a = math::magnitude(x);
  const bool high = a > 1.0;
  const math::Pair<double> r = math::atan_of_ratio(high ? 1.0 : a, high ? a : 1.0);
  const double far = (math::HalfPi<double>::kHigh - r.hi) - (r.lo - math::HalfPi<double>::kLow);
  return x != x ? x : math::with_sign(high ? far : r.hi + r.lo, x);
}

DAMO_MATH float atan2(float y, float x) {
  const float ax = math::magnitude(x), ay = math::magnitude(y);
  const bool steep = ay > ax, left = math::bits(x) >> 31;
  const float top = steep ? ax : ay, bottom = steep ? ay : ax;
  float q = top / bottom;
  q = top == 0.0f ? 0.0f : q;
  q = top == __builtin_inff() ? 1.0f : q;
  const float r = math::atan_reduced(q);
  const float turns = steep ? 1.0f : (left ? 2.0f : 0.0f);  // quarter turns
  const float inner = math::madd(turns, math::HalfPi<float>::kLow, steep != left ? -r : r);
  const float angle = math::madd(turns, math::HalfPi<float>::kHigh, inner);
  return x != x || y != y ? x + y : math::with_sign(angle, y);
}
DAMO_MATH double atan2(double y, double x) {
  const double ax = math::magnitude(x), ay = math::magnitude(y);
  const bool steep = ay > ax, left = math::bits(x) >> 63;
  double top = steep ? ax : ay, bottom = steep ? ay : ax;
  const double inf = __builtin_inf();
  top = top == inf ? 1.0 : top;  // both infinite: pi/4
  bottom = ax == inf && ay == inf ? 1.0 : bottom;
  bottom = bottom == 0.0 ? 1.0 : bottom;
  const bool huge = bottom > 0x1p1000, tiny = bottom < 0x1p-900;  // top + bottom must not overflow
  const double scale = huge ? 0x1p-54 : (tiny ? 0x1p120 : 1.0);
  // A quotient below the normal range keeps its digits only unscaled: it is the result itself.
  const math::Pair<double> r = math::atan_of_ratio(top * scale, bottom * scale);
  const double turns = steep ? 1.0 : (left ? 2.0 : 0.0);  // quarter turns
  const bool minus = steep != left;
  const double rh = minus ? -r.hi : r.hi, rl = minus ? -r.lo : r.lo;
  const math::Pair<double> sum = math::two_sum(turns * math::HalfPi<double>::kHigh, rh);
  const double angle = sum.hi + (sum.lo + (rl + turns * math::HalfPi<double>::kLow));
  return x != x || y != y ? x + y : math::with_sign(angle, y);
}

}  // namespace damo
DAMO_EXACT_END
