// Sine, cosine and tangent, float and double. See math_support.h for the rules.
#pragma once
#include "math_rare.h"
DAMO_EXACT_BEGIN

namespace damo {
namespace math {

// 48 binary digits of 2/pi from 24 i behind the point on, as a number below 1.
inline constexpr double kTwoOverPi[] = {
    0xa2f9836e4e44p-48, 0x6e4e441529fcp-48, 0x1529fc2757d1p-48, 0x2757d1f534ddp-48, 0xf534ddc0db62p-48, 0xc0db6295993cp-48, 0x95993c439041p-48,
    0x439041fe5163p-48, 0xfe5163abdebbp-48, 0xabdebbc561b7p-48, 0xc561b7246e3ap-48, 0x246e3a424dd2p-48, 0x424dd2e00649p-48, 0xe006492eea09p-48,
    0x2eea09d1921cp-48, 0xd1921cfe1debp-48, 0xfe1deb1cb129p-48, 0x1cb129a73ee8p-48, 0xa73ee88235f5p-48, 0x8235f52ebb44p-48, 0x2ebb4484e99cp-48,
    0x84e99c7026b4p-48, 0x7026b45f7e41p-48, 0x5f7e413991d6p-48, 0x3991d6398353p-48, 0x39835339f49cp-48, 0x39f49c845f8bp-48, 0x845f8bbdf928p-48,
    0xbdf9283b1ff8p-48, 0x3b1ff897ffdep-48, 0x97ffde05980fp-48, 0x5980fef2f11p-48, 0xef2f118b5a0ap-48, 0x8b5a0a6d1f6dp-48, 0x6d1f6d367ecfp-48,
    0x367ecf27cb09p-48, 0x27cb09b74f46p-48, 0xb74f463f669ep-48, 0x3f669e5fea2dp-48, 0x5fea2d7527bap-48, 0x7527bac7ebe5p-48, 0xc7ebe5f17b3dp-48,
    0xf17b3d0739f7p-48, 0x739f78a5292p-48, 0x8a5292ea6bfbp-48, 0xea6bfb5fb11fp-48, 0x5fb11f8d5d08p-48, 0x8d5d08560330p-48, 0x56033046fc7bp-48};

// pi/2 in three parts.
template <class T>
struct HalfPi {
  static constexpr bool kIsFloat = sizeof(T) == sizeof(float);
  static constexpr T kHigh = T(0x1.921fb54442d18p+0), kLow = T(kIsFloat ? -0x1.777a5cp-25 : 0x1.1a62633145c07p-54);
  static constexpr T kLowest = T(kIsFloat ? -0x1.ee59dap-50 : -0x1.f1976b7ed8fbcp-110);
};

// x = (4 k + quarter) pi/2 + r + rest, |r| <= pi/4.
template <class T>
struct Turn {
  T r, rest;
  u32 quarter;  // only its low two bits mean anything
};

// Of an x that has fewer turns than a product with a part of pi/2 has digits to lose.
DAMO_MATH bool is_far_turn(float x) { return !(magnitude(x) <= 131072.0f); }
DAMO_MATH bool is_far_turn(double x) { return !(magnitude(x) <= 0x1p20); }
template <class T>
DAMO_MATH Turn<T> near_turn(T x) {
  const T sum = madd(x, T(0x1.45f306dc9c883p-1), rounder(x)), turns = sum - rounder(x);
  // A multiple of pi/2's last digit, or of x's, and below 1: no digit is lost.
  const T whole = less_product(x, turns, HalfPi<T>::kHigh);
  const Pair<T> low = two_product(turns, HalfPi<T>::kLow), r = two_sum(whole, -low.hi);
  return {r.hi, madd(-turns, HalfPi<T>::kLowest, r.lo - low.lo), u32(bits(sum))};
}

// What is left of x by multiples of 4: exact.
DAMO_MATH double modulo_four(double x) {
  return x - 4.0 * __builtin_rint(0.25 * x);
}

// Right for every finite double, since 2/pi comes with more bits than any double can cancel. inf and NaN give a NaN r. Of a double
// below 2^78 (class 0) or from 2^(54 + 24 k) to 2^(78 + 24 k) (class k) the first 24 k digits of 2/pi make a multiple of 4.
DAMO_MATH Turn<double> any_turn(double x) {
  const i32 exponent = i32((bits(x) >> 52) & 2047u) - (1023 + 54);
  const i32 k = exponent < 0 ? 0 : (exponent * 43691) >> 20;  // exponent / 24
  const double y = x * as_double(u64(1023 - 24 * k) << 52);   // below 2^78
  const Pair<double> a = two_product(y, kTwoOverPi[k]);
  const Pair<double> b = two_product(y * 0x1p-48, kTwoOverPi[k + 2]);
  const Pair<double> c = two_product(y * 0x1p-96, kTwoOverPi[k + 4]);
  const double d = y * 0x1p-144 * madd(kTwoOverPi[k + 8], 0x1p-48, kTwoOverPi[k + 6]);
  // Only a.hi, a.lo and b.hi can exceed 4.
  const Pair<double> s = two_sum(modulo_four(a.hi), modulo_four(a.lo));
  const Pair<double> u = two_sum(s.hi, modulo_four(b.hi));
  const double sum = (u.hi + (s.lo + u.lo + b.lo + c.hi)) + kRounderDouble;
  // From the largest down, so that nothing is lost when the sum is close to 0.
  const Pair<double> f1 = two_sum(u.hi - (sum - kRounderDouble), b.lo);
  const Pair<double> f2 = two_sum(f1.hi, c.hi);
  const Pair<double> f3 = two_sum(f2.hi, s.lo);
  const Pair<double> f4 = two_sum(f3.hi, u.lo);
  const Pair<double> f = fast_two_sum(f4.hi, f1.lo + f2.lo + f3.lo + f4.lo + (c.lo + d));
  const Pair<double> r = two_product(f.hi, HalfPi<double>::kHigh);
  return {r.hi, r.lo + madd(f.hi, HalfPi<double>::kLow, f.lo * HalfPi<double>::kHigh), u32(bits(sum))};
}

// Each as a sum whose second part is small.
template <class T>
struct SineAndCosine {
  Pair<T> sin, cos;
};
DAMO_MATH SineAndCosine<float> sine_and_cosine(float r, float rest) {
  const float u = r * r, cos = madd(-0.5f * r, r, 1.0f), lost = less_product(1.0f - cos, 0.5f * r, r);
  const float sin_rest = madd(r * u, horner(u, -0x1.555544p-3f, 0x1.1106bcp-7f, -0x1.99165p-13f), rest);
  const float cos_rest = madd(u * u, horner(u, 0x1.55554ap-5f, -0x1.6c0c14p-10f, 0x1.99de6ep-16f), madd(-r, rest, lost));
  return {{r, sin_rest}, {cos, cos_rest}};
}
DAMO_MATH SineAndCosine<double> sine_and_cosine(double r, double rest) {
  const double u = r * r, h = 0.5 * u, cos = 1.0 - h;
  const double p = horner(u, -0x1.5555555555548p-3, 0x1.111111110f7bp-7, -0x1.a01a019bf9bafp-13, 0x1.71de356403e92p-19,
                     -0x1.ae5e5779119b5p-26, 0x1.5d8ee47b823a6p-33);
  const double q = horner(u, 0x1.555555555554bp-5, -0x1.6c16c16c14f6cp-10, 0x1.a01a019c8099fp-16, -0x1.27e4f7e804f5bp-22,
                     0x1.1ee9d5cabba35p-29, -0x1.8fa396509e41ap-37);
  return {{r, madd(r * u, p, madd(-0.5 * u, rest, rest))}, {cos, ((1.0 - cos) - h) + madd(u * u, q, -r * rest)}};
}

DAMO_MATH float flip_if(float x, u32 odd) { return as_float(bits(x) ^ (odd << 31)); }
DAMO_MATH double flip_if(double x, u32 odd) { return as_double(bits(x) ^ (u64(odd) << 63)); }

template <class T>
DAMO_MATH T sine_of(Turn<T> t) {
  const SineAndCosine<T> of = sine_and_cosine(t.r, t.rest);
  const bool odd = t.quarter & 1u;
  return flip_if((odd ? of.cos.hi : of.sin.hi) + (odd ? of.cos.lo : of.sin.lo), (t.quarter >> 1) & 1u);
}

// What the functions give of an x in quarter turns.
template <class T>
DAMO_MATH T sine(Turn<T> t, T x) {
  return x == T(0) ? x : sine_of(t);
}
template <class T>
DAMO_MATH T cosine(Turn<T> t, T) {
  return sine_of(Turn<T>{t.r, t.rest, t.quarter + 1u});
}
template <class T>
DAMO_MATH T tangent(Turn<T> t, T x) {
  const SineAndCosine<T> of = sine_and_cosine(t.r, t.rest);
  const bool odd = t.quarter & 1u;
  const Pair<T> s = fast_two_sum(of.sin.hi, of.sin.lo), c = fast_two_sum(of.cos.hi, of.cos.lo);
  const T top = odd ? c.hi : s.hi, top_rest = odd ? c.lo : s.lo, bottom = odd ? s.hi : c.hi, bottom_rest = odd ? s.lo : c.lo;
  const T inverse = T(1) / bottom, quotient = top * inverse;
  const T left = less_product(top, quotient, bottom) + madd(-quotient, bottom_rest, top_rest);
  return x == T(0) ? x : flip_if(madd(left, inverse, quotient), t.quarter & 1u);
}

template <class T, double (*function)(Turn<double>, double)>
DAMO_MATH T of_any(T x) {
  return T(function(any_turn(double(x)), double(x)));
}
template <class T, T (*function)(Turn<T>, T), double (*in_double)(Turn<double>, double)>
DAMO_MATH T by_turns(T x) {
  return unless_rare<T, is_far_turn, of_any<T, in_double>>(x, function(near_turn(x), x));
}

}  // namespace math

DAMO_MATH float sin(float x) { return math::by_turns<float, math::sine, math::sine>(x); }
DAMO_MATH float cos(float x) { return math::by_turns<float, math::cosine, math::cosine>(x); }
DAMO_MATH float tan(float x) { return math::by_turns<float, math::tangent, math::tangent>(x); }
DAMO_MATH double sin(double x) { return math::by_turns<double, math::sine, math::sine>(x); }
DAMO_MATH double cos(double x) { return math::by_turns<double, math::cosine, math::cosine>(x); }
DAMO_MATH double tan(double x) { return math::by_turns<double, math::tangent, math::tangent>(x); }

}  // namespace damo
DAMO_EXACT_END
