// The names CUDA C kernels call: C's, in the global namespace, overloaded and with an f for float, and the
// intrinsics that trade digits for speed on a GPU; here they are the plain functions. For CUDA C on the CPU.
#pragma once
#include "math.h"

// clang-format off
#define DAMO_MATH_NAME1(name) \
  using damo::name; \
  DAMO_MATH float name##f(float x) { return damo::name(x); }
#define DAMO_MATH_NAME2(name) \
  using damo::name; \
  DAMO_MATH float name##f(float x, float y) { return damo::name(x, y); }

DAMO_MATH_NAME1(acos) DAMO_MATH_NAME1(acosh) DAMO_MATH_NAME1(asin) DAMO_MATH_NAME1(asinh)
DAMO_MATH_NAME1(atan) DAMO_MATH_NAME1(atanh) DAMO_MATH_NAME1(cbrt) DAMO_MATH_NAME1(ceil) DAMO_MATH_NAME1(cos)
DAMO_MATH_NAME1(cosh) DAMO_MATH_NAME1(erf) DAMO_MATH_NAME1(erfc) DAMO_MATH_NAME1(exp) DAMO_MATH_NAME1(exp2)
DAMO_MATH_NAME1(expm1) DAMO_MATH_NAME1(fabs) DAMO_MATH_NAME1(floor) DAMO_MATH_NAME1(lgamma)
DAMO_MATH_NAME1(log) DAMO_MATH_NAME1(log10) DAMO_MATH_NAME1(log1p) DAMO_MATH_NAME1(log2)
DAMO_MATH_NAME1(nearbyint) DAMO_MATH_NAME1(rint) DAMO_MATH_NAME1(round) DAMO_MATH_NAME1(rsqrt)
DAMO_MATH_NAME1(sin) DAMO_MATH_NAME1(sinh) DAMO_MATH_NAME1(sqrt) DAMO_MATH_NAME1(tan) DAMO_MATH_NAME1(tanh)
DAMO_MATH_NAME1(tgamma) DAMO_MATH_NAME1(trunc)
DAMO_MATH_NAME2(atan2) DAMO_MATH_NAME2(copysign) DAMO_MATH_NAME2(fmax) DAMO_MATH_NAME2(fmin)
DAMO_MATH_NAME2(fmod) DAMO_MATH_NAME2(hypot) DAMO_MATH_NAME2(pow)
// clang-format on
#undef DAMO_MATH_NAME1
#undef DAMO_MATH_NAME2

using damo::fma;
using damo::isfinite;
using damo::isinf;
using damo::isnan;
using damo::signbit;

DAMO_MATH float fmaf(float a, float b, float c) { return damo::fma(a, b, c); }
DAMO_MATH float __expf(float x) { return damo::exp(x); }
DAMO_MATH float __exp10f(float x) { return damo::pow(10.0f, x); }
DAMO_MATH float __logf(float x) { return damo::log(x); }
DAMO_MATH float __log2f(float x) { return damo::log2(x); }
DAMO_MATH float __log10f(float x) { return damo::log10(x); }
DAMO_MATH float __sinf(float x) { return damo::sin(x); }
DAMO_MATH float __cosf(float x) { return damo::cos(x); }
DAMO_MATH float __tanf(float x) { return damo::tan(x); }
DAMO_MATH float __powf(float x, float y) { return damo::pow(x, y); }
DAMO_MATH float __fdividef(float x, float y) { return x / y; }
DAMO_MATH float __frcp_rn(float x) { return 1.0f / x; }
DAMO_MATH float __fsqrt_rn(float x) { return damo::sqrt(x); }
DAMO_MATH float __frsqrt_rn(float x) { return damo::rsqrt(x); }
DAMO_MATH float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
DAMO_MATH void sincosf(float x, float* s, float* c) { *s = damo::sin(x), *c = damo::cos(x); }
DAMO_MATH void sincos(double x, double* s, double* c) { *s = damo::sin(x), *c = damo::cos(x); }
