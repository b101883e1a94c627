// Exponentials, logarithms and what follows from them, float. See math_support.h for the rules.
#pragma once
#include "math_support.h"
DAMO_EXACT_BEGIN

namespace damo {
namespace math {

// e^r - 1 for |r| <= ln(2)/2: r + r^2 q(r).
DAMO_MATH float expm1_reduced(float r) {
  const float r2 = r * r;
  return madd(r2, in_pairs(r, r2, 0x1p-1f, 0x1.5554bp-3f, 0x1.555488p-5f, 0x1.122828p-7f, 0x1.6d98e2p-10f), r);
}

// x = n ln(2) + r. The high part of ln(2) has 16 bits, so its product with n is exact with or without FMA.
struct ExpSplit {
  float r;
  u32 sum;  // low bits: n + bias
};
DAMO_MATH ExpSplit exp_split(float x, float bias) {
  const float sum = madd(x, 0x1.715476p+0f, kRounder + bias);
  const float n = sum - (kRounder + bias);
  return {madd(n, -0x1.7f7d1cp-20f, madd(n, -0x1.62e4p-1f, x)), bits(sum)};
}

// p * 2^n for n in [-254, 254], where sum holds n + 254 in its low bits. Two factors, since 2^n itself may be
// out of range while p * 2^n is a denormal or just below the largest float.
//
// kNothing takes the place of smaller arguments of e^x: n is then -254, of which both factors are 0, so that e^x is 0 by products with 0. Of an argument that is cut at
// -105, where e^x begins to be 0, the second product would underflow, which takes a processor as long as 10 or 100 others; and masks ask for many e^-inf.
constexpr float kNothing = -176.0f;
DAMO_MATH float scale_twice(float p, u32 sum) {
  const u32 half = sum >> 1;
  return p * as_float(half << 23) * as_float((sum - half) << 23);
}

// e^-|x|, the polynomial one degree longer than exp's: half an ulp and a little.
DAMO_MATH float exp_below_one(float x) {
  const ExpSplit s = exp_split(-at_most(magnitude(x), -kNothing), 254.0f);
  const float p = in_pairs(s.r, s.r * s.r, 1.0f, 0x1.fffffcp-2f, 0x1.555492p-3f, 0x1.5558fp-5f, 0x1.1239e4p-7f, 0x1.6a25dp-10f);
  return scale_twice(madd(s.r, p, 1.0f), s.sum);
}

// log(1 + f) = f + tail(f) for f in [sqrt(1/2) - 1, sqrt(2) - 1].
DAMO_MATH float log_tail(float f) {
  const float f2 = f * f;
  const float low = in_pairs(f, f2, 0x1.555554p-2f, -0x1.000228p-2f, 0x1.99a016p-3f, -0x1.547226p-3f);
  const float high = in_pairs(f, f2, 0x1.22d90ep-3f, -0x1.0d8584p-3f, 0x1.05625ep-3f, -0x1.38c448p-4f);
  return madd(f2 * f, madd(f2 * f2, high, low), -0.5f * f2);
}

// Positive finite x = 2^e (1 + f), f in [sqrt(1/2) - 1, sqrt(2) - 1]; denormals too.
template <class T>
struct LogSplit {
  T e, f;
};
DAMO_MATH LogSplit<float> log_split(float x) {
  const bool small = x < 0x1p-126f;
  const u32 ix = bits(small ? x * 0x1p25f : x) - 0x3f3504f3u;
  const float e = float(i32(ix) >> 23) - (small ? 25.0f : 0.0f);
  return {e, as_float((ix & 0x007fffffu) + 0x3f3504f3u) - 1.0f};
}

// The ends of a logarithm's domain: +inf and NaN pass, 0 gives -inf, negative gives NaN.
template <class T>
DAMO_MATH T log_ends(T x, T value) {
  value = x < infinity(x) ? value : x;
  const T bad = x == T(0) ? -infinity(x) : quiet_nan(x);
  return x <= T(0) ? bad : value;
}
// And those of log(1 + x), which is x where that is tiny.
template <class T>
DAMO_MATH T log1p_ends(T x, T value, T tiny) {
  value = x < infinity(x) ? value : x;
  value = x > T(-1) ? value : (x == T(-1) ? -infinity(x) : (x != x ? x : quiet_nan(x)));
  return magnitude(x) < tiny ? x : value;
}

// log(x) / log(base) = e step + high rate + small, rate being 1 / log(base) to 12 bits and high f to as many: f's rounded product with
// all of 1 / log(base) would cost half an ulp more.
struct LogParts {
  float e, high, small;
};
DAMO_MATH LogParts log_parts(float x, float whole_rate, float rate_low) {
  const LogSplit<float> s = log_split(x);
  const float high = as_float(bits(s.f) & 0xfffff000u), low = s.f - high;
  return {s.e, high, madd(log_tail(s.f) + low, whole_rate, high * rate_low)};
}

}  // namespace math

DAMO_MATH float exp(float x) {
  const math::ExpSplit s = math::exp_split(math::at_least(math::at_most(x, 89.0f), math::kNothing), 254.0f);
  // The shortest polynomial that stays within 2 ulp. The first of the two factors (scale_twice) goes in before the
  // last step, which makes the chain of dependent operations one shorter.
  const float p = math::in_pairs(s.r, s.r * s.r, 0x1.ffffecp-1f, 0x1.fffd9ap-2f, 0x1.555d8ep-3f, 0x1.5746cp-5f, 0x1.0eb744p-7f);
  const math::u32 half = s.sum >> 1;
  const float scale = math::as_float(half << 23);
  return math::madd(scale * s.r, p, scale) * math::as_float((s.sum - half) << 23);
}

namespace math {
DAMO_MATH float exp_below_4(float x) { return exp(x); }  // a GPU has a quicker one
}  // namespace math

DAMO_MATH float exp2(float x) {
  const float y = math::at_least(math::at_most(x, 129.0f), -254.0f);
  const float sum = y + (math::kRounder + 254.0f);
  const float r = y - (sum - (math::kRounder + 254.0f));
  const float p = math::horner(r, 0x1.62e43p-1f, 0x1.ebfbdcp-3f, 0x1.c6aee8p-5f, 0x1.3b2d4ep-7f, 0x1.5f3e8p-10f, 0x1.41fb94p-13f);
  return math::scale_twice(math::madd(r, p, 1.0f), math::bits(sum));
}

DAMO_MATH float expm1(float x) {
  // Half the result, so that n = 128 stays in range.
  const float y = math::at_least(math::at_most(x, 89.0f), -20.0f);
  const math::ExpSplit s = math::exp_split(y, 126.0f);
  const float scale = math::as_float(s.sum << 23);  // 2^(n-1)
  const float half = math::madd(scale, math::expm1_reduced(s.r), scale - 0.5f);
  const float result = half + half;  // 0 where x is too small to count beside 1: -0 and denormals are their own results
  return result == 0.0f ? x : result;
}

// (e - 1) / (e + 1) with e = e^2|x| = s e^2r, where |x| = n ln(2)/2 + r and s = 2^n. What n leaves out of e - 1 near 0 is kept in p = (e^2r - 1) kFactor / 2.
// Both sides carry the factor, which moves the sum below from just above 1, where a rounding weighs most, to where it weighs less: 2.5 ulp without, 1.95 with it.
DAMO_MATH float tanh(float x) {
  constexpr float kFactor = 1.5f;
  const float a = math::at_most(math::magnitude(x), 9.02f);
  const float sum = math::madd(a, 0x1.715476p+1f, math::kRounder + 127.0f);
  const float n = sum - (math::kRounder + 127.0f);
  const float r = math::madd(n, -0x1.62e43p-2f, a);  // n <= 26: one part of ln(2)/2 is enough
  const float r2 = r * r;
  const float q = math::in_pairs(r, r2, kFactor, kFactor * 0x1.5554bp-1f, kFactor * 0x1.555488p-2f, kFactor * 0x1.122828p-3f, kFactor * 0x1.6d98e2p-5f);
  const float most = kFactor * r;  // without FMA: what it lost to rounding is exact
  const float p = DAMO_HAS_FMA ? math::madd(r, kFactor, r2 * q) : most + ((0.5f * r - (most - r)) + r2 * q);
  const float s = math::as_float(math::bits(sum) << 23);
  const float top = math::madd(s, p, math::madd(s, 0.5f * kFactor, -0.5f * kFactor));
  return math::with_sign(top / (top + kFactor), x);
}

// 1 / (1 + e^-x), relative error bounded on both sides. e = e^-|x|, w = e / (1 + e): 1 - w, or w = e - e w,
// which keeps the rounding of 1 + e out of a small result.
DAMO_MATH float sigmoid(float x) {
  const float e = math::exp_below_one(x), w = e / (1.0f + e);
  return x < 0.0f ? math::madd(-e, w, e) : 1.0f - w;
}

DAMO_MATH float log(float x) {
  const math::LogSplit<float> s = math::log_split(x);
  const float tail = math::madd(s.e, 0x1.7f7d1cp-20f, math::log_tail(s.f));
  return math::log_ends(x, math::madd(s.e, 0x1.62e4p-1f, s.f + tail));
}

DAMO_MATH float log2(float x) {
  const math::LogParts p = math::log_parts(x, 0x1.715476p+0f, 0x1.47652cp-12f);
  return math::log_ends(x, p.e + (p.high * 0x1.714p+0f + p.small));
}

DAMO_MATH float log10(float x) {
  const math::LogParts p = math::log_parts(x, 0x1.bcb7b2p-2f, -0x1.09d5b2p-15f);
  return math::log_ends(x, p.e * 0x1.344p-2f + math::madd(p.high, 0x1.bccp-2f, math::madd(p.e, 0x1.3509f8p-18f, p.small)));
}

// log(1 + x) = e ln(2) + log(1 + f), 1 + f = (1 + x) 2^-e with f computed without rounding 1 + x.
DAMO_MATH float log1p(float x) {
  const math::u32 ix = math::bits(1.0f + x) - 0x3f3504f3u;
  const math::i32 k = math::i32(ix) >> 23;
  const float e = float(k);
  const float scale = math::as_float(math::u32(130 - k) << 23);  // 2^(3-e): 2^-e may be a denormal
  const float f = math::madd(x * 0.125f, scale, scale * 0.125f - 1.0f);
  const float tail = math::madd(e, 0x1.7f7d1cp-20f, math::log_tail(f));
  return math::log1p_ends(x, math::madd(e, 0x1.62e4p-1f, f + tail), 0x1p-25f);
}

// log(1 + e^x) = max(x, 0) + log1p(e^-|x|).
DAMO_MATH float softplus(float x) { return (x < 0.0f ? 0.0f : x) + log1p(math::exp_below_one(x)); }

// Functions whose result is rounded to 16 bits, right to 2^-16 of it: a GPU has shorter ones.
namespace to_half {

using damo::exp;
using damo::log;
using damo::log1p;
using damo::sigmoid;
using damo::softplus;

}  // namespace to_half

}  // namespace damo
DAMO_EXACT_END
