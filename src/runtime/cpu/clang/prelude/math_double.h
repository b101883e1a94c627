// Exponentials, logarithms and what follows from them, double. See math_support.h for the rules.
#pragma once
#include "math_float.h"  // log_ends
#include "math_support.h"
DAMO_EXACT_BEGIN

namespace damo {
namespace math {

// (e^r - 1 - r) / r^2 for |r| <= ln(2)/2.
DAMO_MATH double exp_tail(double r) {
  const double r2 = r * r, r4 = r2 * r2;
  const double a = in_pairs(r, r2, 0x1p-1, 0x1.555555555555bp-3, 0x1.5555555555503p-5, 0x1.111111110ec5dp-7);
  const double b = in_pairs(r, r2, 0x1.6c16c16c303dap-10, 0x1.a01a01b37e876p-13, 0x1.a01a0136b8c51p-16, 0x1.71ddf01fccbcdp-19);
  const double c = in_pairs(r, r2, 0x1.27e5b3ffd5f16p-22, 0x1.af6be9e3b1189p-26, 0x1.1e3d87a919686p-29);
  return madd(r4, madd(r4, c, b), a);
}

// x + low = n ln(2) + r + rest, low a correction below the last bit of x. The high part of ln(2) has 40 bits, so its
// product with n is exact.
struct ExpSplitDouble {
  double r, rest;
  u64 sum;  // low bits: n + bias
};
DAMO_MATH ExpSplitDouble exp_split(double x, double low, double bias) {
  const double sum = madd(x, 0x1.71547652b82fep+0, kRounderDouble + bias);
  const double n = sum - (kRounderDouble + bias);
  const double high = madd(n, -0x1.62e42fefa2p-1, x), small = madd(n, -0x1.9ef35793c7673p-41, low);
  const double r = high + small;
  return {r, (high - r) + small, bits(sum)};
}

// p * 2^n for n in [-2046, 2046], where sum holds n + 2046 in its low bits. kNothingDouble: as kNothing of floats.
constexpr double kNothingDouble = -1418.0;
DAMO_MATH double scale_twice(double p, u64 sum) {
  const u64 half = sum >> 1;
  return p * as_double(half << 52) * as_double((sum - half) << 52);
}

// e^(x + low), low a correction below the last bit of x.
DAMO_MATH double exp_of_sum(double x, double low) {
  const ExpSplitDouble s = exp_split(at_least(at_most(x, 710.0), kNothingDouble), low, 2046.0);
  const double tail = madd(s.r * s.r, exp_tail(s.r), s.rest);
  return scale_twice(1.0 + (s.r + tail), s.sum);
}

// e^x - 1 for x in [-40, 710] as half the value, so that n = 1024 stays in range.
DAMO_MATH double expm1_half(double x) {
  const ExpSplitDouble s = exp_split(x, 0.0, 1022.0);
  const double r2 = s.r * s.r;
  const double q = horner(s.r, 0x1.5555555555559p-3, 0x1.5555555555559p-5, 0x1.111111110f6dep-7, 0x1.6c16c16c14a1bp-10,
                     0x1.a01a01afd5169p-13, 0x1.a01a01af82b8ap-16, 0x1.71ddf87743e28p-19, 0x1.27e4c7853fec1p-22,
                     0x1.af5e870085e48p-26, 0x1.1f931d30a8523p-29);
  const double p = s.r + madd(r2, madd(s.r, q, 0.5), s.rest);
  const double scale = as_double(s.sum << 52);  // 2^(n-1)
  return madd(scale, p, scale - 0.5);
}

// tanh (r + rest) for |r| <= ln(2)/4.
DAMO_MATH double tanh_reduced(double r, double rest) {
  const double r2 = r * r;
  return r + madd(r2 * r, horner(r2, -0x1.5555555555555p-2, 0x1.1111111110d16p-3, -0x1.ba1ba1b8fd801p-5, 0x1.664f4751c4d3bp-6,
                     -0x1.226d8757e8989p-7, 0x1.d66676ae1b1eep-9, -0x1.6bbf321b4f378p-10), rest);
}

// Beyond 709, where e^a overflows before sinh and cosh do: the factor that is missing.
DAMO_MATH double overflow_factor(double a) { return a > 709.0 ? exp_of_sum(a - 709.0, 0.0) : 1.0; }

DAMO_MATH LogSplit<double> log_split(double x) {
  const bool small = x < 0x1p-1022;
  const u64 ix = bits(small ? x * 0x1p54 : x) - kSqrtHalf;
  // The exponent, biased to stay positive, by way of a double's low bits: AVX2 has no 64-bit conversion.
  const double e = as_double(((ix + (2048ull << 52)) >> 52) | 0x4330000000000000ull) - (0x1p52 + 2048.0);
  return {e - (small ? 54.0 : 0.0), as_double((ix & 0x000fffffffffffffull) + kSqrtHalf) - 1.0};
}

// log(1 + f) = f - h + s (h + R(s^2)), h = f^2 / 2, s = f / (2 + f): what follows f, and h.
struct LogTail {
  double h, sum;  // sum = s (h + R)
};
DAMO_MATH LogTail log_tail(double f) {
  const double s = f / (2.0 + f), u = s * s, h = 0.5 * f * f;
  const double r = u * horner(u, 0x1.5555555555593p-1, 0x1.999999997fc6p-2, 0x1.2492494207fb9p-2, 0x1.c71c51f40e2dep-3,
                     0x1.746643cc604e2p-3, 0x1.39a13000b6c21p-3, 0x1.2f0b5083482adp-3);
  return {h, s * (h + r)};
}

// log(x) / log(base) = e step + (log(1 + f)) rate, rate and step in two parts whose products are exact.
DAMO_MATH double log_in_base(double x, double step, double step_low, double rate, double rate_low) {
  const LogSplit<double> s = log_split(x);
  const LogTail t = log_tail(s.f);
  const double high = as_double(bits(s.f - t.h) & 0xffffffff00000000ull);
  const double low = ((s.f - high) - t.h) + t.sum;
  const double rest = madd(s.e, step_low, madd(low + high, rate_low, low * rate));
  const Pair<double> sum = two_sum(s.e * step, high * rate);
  return sum.hi + (sum.lo + rest);
}

// log(1 + x) + low for |low| far below x.
DAMO_MATH double log1p_of_sum(double x, double low) {
  const u64 ix = bits(1.0 + x) - kSqrtHalf;
  const u64 k = (ix + (2048ull << 52)) >> 52;  // exponent + 2048
  const double e = as_double(k | 0x4330000000000000ull) - (0x1p52 + 2048.0);
  const double scale = as_double((3074ull - k) << 52);  // 2^(3-e): 2^-e may be a denormal
  const double f = madd(x * 0.125, scale, scale * 0.125 - 1.0);
  const LogTail t = log_tail(f);
  return madd(e, 0x1.62e42fefa2p-1, f - (t.h - (t.sum + madd(e, 0x1.9ef35793c7673p-41, low))));
}

}  // namespace math

DAMO_MATH double exp(double x) { return math::exp_of_sum(x, 0.0); }
namespace math {
DAMO_MATH double exp_below_4(double x) { return exp(x); }  // a GPU has a quicker one
}  // namespace math

DAMO_MATH double exp2(double x) {
  const double y = math::at_least(math::at_most(x, 1025.0), -2046.0);
  const double sum = y + (math::kRounderDouble + 2046.0);
  const double r = y - (sum - (math::kRounderDouble + 2046.0));
  const double q = math::horner(r, 0x1.62e42fefa39efp-1, 0x1.ebfbdff82c58fp-3, 0x1.c6b08d704a0cfp-5, 0x1.3b2ab6fba4e5fp-7,
                     0x1.5d87fe78a25dbp-10, 0x1.430912f873183p-13, 0x1.ffcbfc7504eedp-17, 0x1.62c02222dbf27p-20,
                     0x1.b524dd158b5a2p-24, 0x1.e4cf8995baad9p-28, 0x1.ea0189a67f6fdp-32, 0x1.c3f9085029366p-36);
  return math::scale_twice(math::madd(r, q, 1.0), math::bits(sum));
}

DAMO_MATH double expm1(double x) {
  const double half = math::expm1_half(math::at_least(math::at_most(x, 710.0), -40.0));
  return math::magnitude(x) < 0x1p-54 ? x : math::with_sign(half + half, x);
}

// See tanh(float).
DAMO_MATH double tanh(double x) {
  constexpr double kFactor = 1.25;
  const double a = math::at_most(math::magnitude(x), 20.0);
  const double sum = math::madd(a, 0x1.71547652b82fep+1, math::kRounderDouble + 1023.0);
  const double n = sum - (math::kRounderDouble + 1023.0);
  const double high = math::madd(n, -0x1.62e42fefa2p-2, a), low = n * 0x1.9ef35793c7673p-42, r = high - low;
  const double t = math::tanh_reduced(r, (high - r) - low);
  const double s = math::as_double(math::bits(sum) << 52);
  const double less = math::madd(s, kFactor, -kFactor), more = math::madd(s, kFactor, kFactor);
  const bool far = n > 2.0;
  const double top = far ? math::madd(t, 2.0 * kFactor, -2.0 * kFactor) : math::madd(more, t, less);
  const double q = top / math::madd(less, t, more);
  return math::with_sign(far ? 1.0 + q : q, x);
}

// See sigmoid(float).
DAMO_MATH double sigmoid(double x) {
  const double e = exp(-math::magnitude(x)), w = e / (1.0 + e);
  return x < 0.0 ? math::madd(-e, w, e) : 1.0 - w;
}

DAMO_MATH double sinh(double x) {
  const double a = math::magnitude(x);
  const double h = math::expm1_half(math::at_most(a, 709.0));
  // h = (e^a - 1) / 2: sinh a = h + h / (2 h + 1).
  const double far = (h + 0.5 * (h / (h + 0.5))) * math::overflow_factor(a);
  const double u = a * a;
  const double near = math::madd(a * u, math::horner(u, 0x1.5555555555555p-3, 0x1.1111111111156p-7, 0x1.a01a019ffe14fp-13,
                                                     0x1.71de3aa8b9635p-19, 0x1.ae635b64a3cddp-26, 0x1.629878d2d96a4p-33), a);
  return math::with_sign(a < 0.5 ? near : far, x);
}

DAMO_MATH double cosh(double x) {
  const double a = math::magnitude(x);
  const double h = 0.5 * exp(math::at_most(a, 709.0));
  return (h + 0.25 / h) * math::overflow_factor(a);
}

DAMO_MATH double log(double x) {
  const math::LogSplit<double> s = math::log_split(x);
  const math::LogTail t = math::log_tail(s.f);
  const double rest = t.h - (t.sum + s.e * 0x1.9ef35793c7673p-41);
  return math::log_ends(x, math::madd(s.e, 0x1.62e42fefa2p-1, s.f - rest));
}

DAMO_MATH double log2(double x) { return math::log_ends(x, math::log_in_base(x, 1.0, 0.0, 0x1.7154768p+0, -0x1.6a3e80f444178p-27)); }

DAMO_MATH double log10(double x) {
  return math::log_ends(x, math::log_in_base(x, 0x1.34413509f8p-2, -0x1.80433b83b532ap-44, 0x1.bcb7b18p-2, -0x1.6c8d78e6acaa4p-29));
}

DAMO_MATH double log1p(double x) {
  return math::log1p_ends(x, math::log1p_of_sum(x, 0.0), 0x1p-54);
}

DAMO_MATH double softplus(double x) { return (x < 0.0 ? 0.0 : x) + log1p(exp(-math::magnitude(x))); }

}  // namespace damo
DAMO_EXACT_END
