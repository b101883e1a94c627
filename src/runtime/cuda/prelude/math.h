// The scalar functions of generated CUDA kernels: CUDA's own, under C's names in namespace damo, but for those
// where a shorter sequence stays within 2 ulp. For NVRTC (-minimal -default-device), so it includes nothing.
// Error bounds: exhaustive on a GPU, tests/runtime/cuda/math_sweep_test.cpp.
#pragma once

#define DAMO_MATH __device__ __forceinline__
#define DAMO_CALLED static __device__ __noinline__
#define DAMO_MEMBER __device__ __forceinline__

namespace damo {

using ::exp;
using ::exp2;
using ::expm1;
using ::log;
using ::log10;
using ::log1p;
using ::log2;
using ::pow;
using ::cbrt;
using ::hypot;
using ::rsqrt;
using ::sqrt;
using ::acos;
using ::asin;
using ::atan;
using ::atan2;
using ::cos;
using ::sin;
using ::tan;
using ::acosh;
using ::asinh;
using ::atanh;
using ::cosh;
using ::sinh;
using ::erfc;
using ::erfcinv;
using ::erfcx;
using ::erfinv;
using ::lgamma;
using ::tgamma;
using ::ceil;
using ::copysign;
using ::fabs;
using ::floor;
using ::fma;
using ::fmax;
using ::fmin;
using ::fmod;
using ::isfinite;
using ::isinf;
using ::isnan;
using ::nearbyint;
using ::rint;
using ::round;
using ::signbit;
using ::trunc;

#if __CUDA_ARCH__ >= 800
// One instruction; elementwise.h has them of other types.
DAMO_MATH float maximum(float x, float y) {
  float z;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
}
DAMO_MATH float minimum(float x, float y) {
  float z;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
}
#endif

namespace math {

// What convert.h needs.
DAMO_MATH unsigned long long bits(double x) { return (unsigned long long)__double_as_longlong(x); }
DAMO_MATH double as_double(unsigned long long x) { return __longlong_as_double((long long)x); }
// What table.h needs: x, of which the compiler knows nothing.
DAMO_MATH int opaque(int x) {
  asm("" : "+r"(x));
  return x;
}
DAMO_MATH long long opaque(long long x) {
  asm("" : "+l"(x));
  return x;
}
// What random.h needs.
DAMO_MATH u32 bits(float x) { return __float_as_uint(x); }
DAMO_MATH float as_float(u32 x) { return __uint_as_float(x); }
template <class T>
DAMO_MATH double wide(T x) {
  return static_cast<double>(x);
}
template <class To, class From>
DAMO_MATH To whole(From x) {
  return static_cast<To>(x);
}

// What elementwise.h needs: a word's low bytes as an integer. In 16 bits nothing is negated: NVIDIA's assembler (13.0 at
// least) takes neg.s16 and abs.s16 of -32768 for 32768 where the result is compared or widened. The empty asm keeps the compiler
// from making the word's arithmetic 16 bits wide.
template <class To, class Word>
DAMO_MATH To low_bytes(Word word) {
  if constexpr (sizeof(To) == 2) asm("" : "+r"(word));
  return To(word);
}

// x, of integers of 8 and 16 bits in 32 that the compiler knows nothing of. Before CUDA 13.4 ptxas takes "m = max.s16(x, y), m == x" (min,
// u16 alike; sm_90 on) for one instruction of two halves, whose answer is the empty upper half's: no greater or smaller one of two may be
// found in 16 bits.
template <class T>
DAMO_MATH auto in_words(T x) {
  if constexpr (sizeof(T) < 4 && T(0.5) == T(0)) {
    int word = x;
    asm("" : "+r"(word));
    return word;
  } else {
    return x;
  }
}

// x, of which the compiler knows nothing. ptxas (12.4 to 13.5) takes a float that it knows to be no less than 0 (an abs, a square, an
// exponential, a sum of such) for a number: of NaN it makes "abs(x) >= 0" and "exp(x) > -1" true. -0 added to any float changes nothing.
DAMO_MATH float of_any_sign(float x) { return __fadd_rn(x, -0.0f); }

// The special function unit: 2^x and 1/x, at most 2 and 1 ulp from the truth; denormals count as 0.
DAMO_MATH float fast_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
DAMO_MATH float fast_reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// log2(x): within 2^-22.6 between 1/2 and 2, else within that part of it. Denormals count.
DAMO_MATH float fast_log2(float x) {
  float y;
  asm("lg2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// 1 / n within a few ulp, of a number from 1 to 2^126.
DAMO_MATH float reciprocal_of_count(float n) { return fast_reciprocal(n); }
DAMO_MATH double reciprocal_of_count(double n) {
  double r = fast_reciprocal(float(n));
  r = fma(fma(-n, r, 1.0), r, r);
  return fma(fma(-n, r, 1.0), r, r);
}

// e^x where x is 4 at most, within 2 ulp and 2^-24 |x|; 0 below 2^-126.
DAMO_MATH float exp_below_4(float x) { return fast_exp2(x * 0x1.715476p+0f); }
DAMO_MATH double exp_below_4(double x) { return ::exp(x); }

#if __CUDA_ARCH__ >= 800
// x rounded to bfloat16: the pair of that and 0 is the float. A conversion of one number is an instruction of a quarter of the rate, with a shift behind it.
#define DAMO_ROUNDS_BRAIN
DAMO_MATH float as_brain(float x) {
  u32 pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(x), "f"(0.0f));
  return __uint_as_float(pair);
}
#endif

// x + x u where x < limit in magnitude; else far with the sign of x. Written out so that the last step of the near side
// is one predicated instruction instead of a sum and a select. u must be positive at 0: -0 - 0 u stays -0 then.
DAMO_MATH float near_or_far(float x, float u, float far, float limit) {
  float y = copysignf(far, x);
  asm("{ .reg .pred near; setp.ltu.f32 near, %1, %3; @near fma.rn.f32 %0, %2, %4, %2; }"
      : "+f"(y)
      : "f"(fabsf(x)), "f"(x), "f"(limit), "f"(u));
  return y;
}

}  // namespace math

// Near 0: x + x^3 P(x^2). Far: 1 - 2 / (e^(2|x|) + 1), where e^(2|x|) = inf gives 1. 13 instructions, two of them
// on the special function unit. CUDA's tanh has the same two sides and 15.
// Forms that lost on an H200, in the chain of ten tanh and ten exp: a longer near side up to 0.8 (1,163 us against
// 1,143), and a polynomial in e^(-2|x|) in place of the reciprocal (1,278 us).
DAMO_MATH float tanh(float x) {
  constexpr float kLimit = 0.6f;
  const float x2 = x * x;
  float p = fmaf(x2, 0x1.ff98a8p-7f, -0x1.abb834p-5f);
  p = fmaf(x2, p, 0x1.10a714p-3f);
  p = fmaf(x2, p, -0x1.555368p-2f);
  const float e = math::fast_exp2(fabsf(x) * 0x1.715476p+1f);
  const float far = fmaf(-2.0f, math::fast_reciprocal(e + 1.0f), 1.0f);
  return math::near_or_far(x, fmaf(x2, p, 1e-37f), far, kLimit);
}
DAMO_MATH double tanh(double x) { return ::tanh(x); }

// Near 0: x + x P(x^2). Far: 1 - 2^Q(|x|), which is 1 from where the power is lost beside it. 16 instructions; CUDA's, which chooses between the two sides' coefficients, takes 32.
DAMO_MATH float erf(float x) {
  const float a = fabsf(x), x2 = x * x;
  float p = fmaf(x2, -0x1.273fa4p-11f, 0x1.4246d0p-8f);
  p = fmaf(x2, p, -0x1.b5a35cp-6f);
  p = fmaf(x2, p, 0x1.ce0942p-4f);
  p = fmaf(x2, p, -0x1.812674p-2f);
  p = fmaf(x2, p, 0x1.06eba2p-3f);
  float q = fmaf(a, -0x1.b5a828p-10f, 0x1.5e9564p-6f);
  q = fmaf(a, q, -0x1.065f2cp-3f);
  q = fmaf(a, q, -0x1.e342b8p-1f);
  q = fmaf(a, q, -0x1.9cc566p+0f);
  q = fmaf(a, q, -0x1.ef4380p-9f);
  return math::near_or_far(x, p, 1.0f - math::fast_exp2(q), 1.0f);
}
DAMO_MATH double erf(double x) { return ::erf(x); }

// 1 / (1 + e^-x) with e = e^-|x| and w = e / (1 + e): 1 - w, or w written as e - e w, which keeps the roundings of
// w out of a small result: its error is that of e and half an ulp more. Denormal results are right.
DAMO_MATH float sigmoid(float x) {
  const float e = ::exp(-fabsf(x));
  const float d = 1.0f + e;
  float r = math::fast_reciprocal(d);
  r = fmaf(r, fmaf(-d, r, 1.0f), r);
  return x < 0.0f ? fmaf(-e, e * r, e) : fmaf(-e, r, 1.0f);
}
DAMO_MATH double sigmoid(double x) {
  const double e = ::exp(-::fabs(x));
  return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

// log(1 + e^x) = max(x, 0) + log1p(e) with e = e^-|x|; a NaN passes through the exponential. As e is between 0 and 1, log1p(e) is e + e^2 P(e), 10 instructions where
// CUDA's log1p, which knows nothing of e, takes 30 and a branch: binary cross entropy of 16-bit floats waited for them. softplus(x) and softplus(-x) share all but the maximum.
DAMO_MATH float softplus(float x) {
  const float e = ::exp(-fabsf(x));
  float p = fmaf(e, -0x1.e20338p-9f, 0x1.666822p-6f);
  p = fmaf(e, p, -0x1.f31190p-5f);
  p = fmaf(e, p, 0x1.c396dcp-4f);
  p = fmaf(e, p, -0x1.3edd36p-3f);
  p = fmaf(e, p, 0x1.94fa68p-3f);
  p = fmaf(e, p, -0x1.ff7d72p-3f);
  p = fmaf(e, p, 0x1.55527ep-2f);
  p = fmaf(e, p, -0.5f);
  return fmaxf(x, 0.0f) + fmaf(e * e, p, e);
}
DAMO_MATH double softplus(double x) { return ::fmax(x, 0.0) + ::log1p(::exp(-::fabs(x))); }

// Functions whose result is rounded to 16 bits (half_code.hpp): right to 2^-16 of it, 1/128 of what bfloat16 resolves, where those above are right to 2^-22.
namespace to_half {

// The square of e^(x/2): 3 instructions in place of 8, and denormal results are there. What a product of x loses to rounding is 2^-23 |x| of the result.
DAMO_MATH float exp(float x) {
  const float root = math::fast_exp2(x * 0x1.715476p-1f);
  return root * root;
}
DAMO_MATH float sigmoid(float x) {
  const float e = exp(-fabsf(x)), r = math::fast_reciprocal(1.0f + e);
  return x < 0.0f ? e * r : r;
}
// As damo::softplus, with a polynomial of e that is right to 2^-19.
DAMO_MATH float softplus(float x) {
  const float e = exp(-fabsf(x));
  float p = fmaf(e, 0x1.cf5f72p-7f, -0x1.0ffb50p-4f);
  p = fmaf(e, p, 0x1.319c46p-3f);
  p = fmaf(e, p, -0x1.e15beap-3f);
  p = fmaf(e, p, 0x1.530a6ep-2f);
  p = fmaf(e, p, -0x1.ffddd4p-2f);
  p = fmaf(e, p, 0x1.ffffd6p-1f);
  return fmaf(e, p, fmaxf(x, 0.0f));
}
// x + x P(x^2) and 1 - 2^Q(|x|) as damo::erf, with fewer coefficients.
DAMO_MATH float erf(float x) {
  const float a = fabsf(x), x2 = x * x;
  float p = fmaf(x2, 0x1.c9f926p-9f, -0x1.a0efc4p-6f);
  p = fmaf(x2, p, 0x1.cc26d8p-4f);
  p = fmaf(x2, p, -0x1.8116f6p-2f);
  p = fmaf(x2, p, 0x1.06eafcp-3f);
  const float q = fmaf(a, fmaf(a, fmaf(a, -0x1.4c68dap-5f, -0x1.1a6234p+0f), -0x1.7a726cp+0f), -0x1.7cd39ap-5f);
  return math::near_or_far(x, p, 1.0f - math::fast_exp2(q), 1.0f);
}
// log(1 + t) where 1 + t is known too: of a t near 0, where the logarithm of the sum would lose it, a series that is right to 2^-19.
DAMO_MATH float log_of_sum(float t, float sum) {
  const float near = fmaf(t * t, fmaf(t, fmaf(t, -0.25f, 0x1.555556p-2f), -0.5f), t);
  return fabsf(t) < 0.05f ? near : math::fast_log2(sum) * 0x1.62e430p-1f;
}
DAMO_MATH float log(float x) { return log_of_sum(x - 1.0f, x); }
DAMO_MATH float log1p(float x) { return log_of_sum(x, 1.0f + x); }
// e^(-a^2) t P(t) with t = 1 / (1 + a/2) of a = |x|, P right to 2^-19 and 1 at 1; 2 - erfc(-x) below 0. 19 instructions where CUDA's takes 48.
DAMO_MATH float erfc(float x) {
  const float a = fabsf(x) > 10.2f ? 10.2f : fabsf(x);  // of infinities too; a NaN stays
  const float t = math::fast_reciprocal(fmaf(a, 0.5f, 1.0f)), root = math::fast_exp2(a * a * -0x1.715476p-1f);
  float p = fmaf(t, 0x1.69790ap-4f, -0x1.6d4210p-2f);
  p = fmaf(t, p, 0x1.8e3e64p-2f);
  p = fmaf(t, p, 0x1.398deap-5f);
  p = fmaf(t, p, 0x1.200ed2p-2f);
  p = fmaf(t, p, 0x1.1c4a5ap-2f);
  p = fmaf(t, p, 0x1.211a7ep-2f);
  const float far = t * p * root * root;
  return x < 0.0f ? 2.0f - far : far;
}

}  // namespace to_half

}  // namespace damo
