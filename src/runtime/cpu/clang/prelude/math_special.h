// Error functions, gamma and its kin, float and double. See math_support.h for the rules.
#pragma once
#include "math_trig.h"
#include "math_double_power.h"
#include "math_float.h"
#include "math_float_wide.h"
DAMO_EXACT_BEGIN

namespace damo {
namespace math {

// erf(a) / a - 1 for |a| <= 1, u = a^2.
DAMO_MATH double erf_ratio(double u) {
  return horner(u, 0x1.06eba8214db68p-3, -0x1.812746b0379bdp-2, 0x1.ce2f21a040d16p-4, -0x1.b82ce311fa94ap-6,
                     0x1.565bccf92b46fp-8, -0x1.c02db03ddc086p-11, 0x1.f9a2baa99fdc8p-14, -0x1.f4ca4d7b638fp-17,
                     0x1.b97fd4665e678p-20, -0x1.5c072ab5443ap-23, 0x1.d71b2b4898148p-27, -0x1.abaea1b28d497p-31);
}

// erfc(a) for a >= 0.45: e^(-a^2) / (1 + 2 a) times a polynomial in (a - 3) / (a + 3), in two parts each.
DAMO_MATH double erfc_far(double a) {
  const double t = (a - 3.0) / (a + 3.0);
  const double slope = horner(
      t, -0x1.15c084bb9e8f8p-3, -0x1.85a15c58aa4abp-5, 0x1.098366a5b494ep-3, -0x1.e88b803a4b9e8p-4,
         0x1.17ca2877e470ep-4, -0x1.8574c40aca397p-6, 0x1.4b884e608266cp-9, 0x1.ef1bdc65264f5p-10,
         -0x1.98db55730e011p-11, -0x1.b91200518d55p-14, 0x1.065a9e434e77ep-13, 0x1.4bff493131423p-18,
         -0x1.51471ee5cca5dp-16, -0x1.8466a20e6b0aap-21, 0x1.d2dfa83a4ce8ap-19, 0x1.6bcfc01c2961fp-22,
         -0x1.4f399bc3bdce6p-21, -0x1.f2f3863db8228p-24, 0x1.c997938b4c032p-24, 0x1.64be5089821f3p-26,
         -0x1.c8fd0f735bd8fp-27);
  const Pair<double> shape = fast_two_sum(0x1.40c522d7e4987p+0, t * slope);
  const Pair<double> square = two_product(a, a);
  const ExpSplitDouble s = exp_split(-square.hi, -square.lo, 2046.0);
  const double tail = madd(s.r * s.r, exp_tail(s.r), s.rest);
  const Pair<double> head = fast_two_sum(1.0, s.r);
  const Pair<double> power = fast_two_sum(head.hi, head.lo + tail);
  const Pair<double> q = divide(multiply(shape, power), fast_two_sum(a + a, 1.0));
  return scale_twice(q.hi + q.lo, s.sum);
}

}  // namespace math

// |x| < 1: x + x P(x^2). Above: 1 - 2^-R(|x|).
DAMO_MATH float erf(float x) {
  const float a = math::at_most(math::magnitude(x), 3.95f);
  const float u = a * a;
  const float near = math::madd(
      a, math::horner(u, 0x1.06eba8p-3f, -0x1.81273ep-2f, 0x1.ce2cf8p-4f, -0x1.b7f90ep-6f, 0x1.54058p-8f, -0x1.a3f6eep-11f, 0x1.4969eap-14f), a);
  const float y = math::horner(a, 0x1.00b8a2p-11f, 0x1.a04554p+0f, 0x1.d75cbcp-1f, 0x1.30acfp-3f, -0x1.02274p-5f, 0x1.16cefep-8f, -0x1.1a1f8p-12f);
  const float sum = math::kRounder - y;
  const float r = (math::kRounder - sum) - y;
  const float p = math::horner(r, 0x1p+0f, 0x1.62e42cp-1f, 0x1.ebfa1p-3f, 0x1.c6b452p-5f, 0x1.3ccdap-7f, 0x1.5c9f0cp-10f);
  const float far = 1.0f - math::as_float(math::bits(p) + (math::bits(sum) << 23));
  return math::with_sign(a >= 1.0f ? far : near, x);
}

// e^(-x^2) times a polynomial in (x - 3) / (x + 3) for x >= 0; 2 - erfc(-x) below.
DAMO_MATH float erfc(float x) {
  const float a = math::at_most(math::magnitude(x), 10.2f);
  const double d = a;
  const double t = (d - 3.0) / (d + 3.0);
  const double scaled = math::horner(t, 0x1.6e9827d508f06p-3, -0x1.4e102bde0d4bfp-2, 0x1.f6ff1fb27147p-3, -0x1.336fe7298205bp-3,
                                     0x1.258b1aeee9521p-4, -0x1.8facd32898a51p-6, 0x1.17c3db02e25e3p-8, 0x1.773fec6d9ff43p-11,
                                     -0x1.37b9b7602688dp-11, 0x1.e484514013c61p-16, 0x1.d50d44bbf2d1ep-15);
  const double y = scaled * math::wide_exp(-d * d);
  return float(x < 0.0f ? 2.0 - y : y);
}

namespace to_half {

using damo::erf;

// As the GPU's, cuda/prelude/math.h: in floats, where the one above takes doubles.
DAMO_MATH float erfc(float x) {
  const float a = math::at_most(math::magnitude(x), 10.2f), t = 1.0f / math::madd(a, 0.5f, 1.0f);
  const float p = math::horner(t, 0x1.211a7ep-2f, 0x1.1c4a5ap-2f, 0x1.200ed2p-2f, 0x1.398deap-5f, 0x1.8e3e64p-2f, -0x1.6d4210p-2f, 0x1.69790ap-4f);
  const float far = t * p * damo::exp(-a * a);
  return x < 0.0f ? 2.0f - far : far;
}

}  // namespace to_half

DAMO_MATH double erf(double x) {
  const double a = math::at_most(math::magnitude(x), 6.0);
  const double near = math::madd(a, math::erf_ratio(a * a), a), far = 1.0 - math::erfc_far(a);
  return math::with_sign(a >= 1.0 ? far : near, x);
}

DAMO_MATH double erfc(double x) {
  const double a = math::at_most(math::magnitude(x), 27.3);
  const double near = math::madd(a, math::erf_ratio(a * a), a);  // erf(a)
  const double far = math::erfc_far(a < 0.45 ? 0.45 : a);
  const double positive = a >= 0.5 ? far : 1.0 - near;
  const double negative = a >= 0.5 ? 2.0 - far : 1.0 + near;
  return x != x ? x : (x < 0.0 ? negative : positive);
}

// e^(x^2) erfc(x): the square in two parts, where erfc underflows the asymptotic series.
DAMO_MATH double erfcx(double x) {
  const math::Pair<double> square = math::two_product(x, x);
  const double near = exp(square.hi) * (1.0 + square.lo) * erfc(x);
  const double step = -0.5 / (x * x);
  double term = 1.0, sum = 1.0;
  for (int k = 1; k < 24; k += 2) term *= step * k, sum += term;
  return x < -27.0 ? __builtin_inf() : x < 25.0 ? near : 0.56418958354775628695 / x * sum;
}
DAMO_EXACT_END

// By the host's libraries (src/runtime/cpu/special_functions.cpp), the C library and gamma.h: calls and loops, which do not vectorise.
}  // namespace damo
extern "C" __attribute__((const, nothrow)) double __damo_erfinv(double);
extern "C" __attribute__((const, nothrow)) double __damo_erfcinv(double);
#include "gamma.h"
namespace damo {
DAMO_MATH double erfinv(double x) { return __damo_erfinv(x); }
DAMO_MATH double erfcinv(double x) { return __damo_erfcinv(x); }
DAMO_MATH double digamma(double x) { return math::digamma_of(x); }
DAMO_MATH double trigamma(double x) { return math::trigamma_of(x); }
DAMO_MATH double polygamma(double n, double x) { return math::polygamma_of(n, x); }
DAMO_MATH float polygamma(float n, float x) { return float(math::polygamma_of(n, x)); }
DAMO_MATH double tgamma(double x) { return __builtin_tgamma(x); }
DAMO_MATH double lgamma(double x) { return __builtin_lgamma(x); }
#define DAMO_BY_DOUBLE(name) DAMO_MATH float name(float x) { return float(name(double(x))); }
DAMO_BY_DOUBLE(erfcx) DAMO_BY_DOUBLE(erfinv) DAMO_BY_DOUBLE(erfcinv)
DAMO_BY_DOUBLE(digamma) DAMO_BY_DOUBLE(trigamma) DAMO_BY_DOUBLE(tgamma) DAMO_BY_DOUBLE(lgamma)
#undef DAMO_BY_DOUBLE

}  // namespace damo
