// CUDA's mathematics by the names that it has for floats alone (expf), for the code of rows: a GPU's compiler knows them without an include. Read where a row names
// one of them (prelude.cpp); CUDA C has its own (cuda_math.h, cuda_special.h). Each is what the function without the f is for a float: of math_*.h, in double where a comment says so, or the C library's.
#pragma once
#include "math_float.h"
#include "math_inverse_trig.h"
#include "special_values.h"
DAMO_EXACT_BEGIN
namespace damo {

DAMO_MATH float expf(float x) { return exp(x); }
DAMO_MATH float exp2f(float x) { return exp2(x); }
DAMO_MATH float expm1f(float x) { return expm1(x); }
DAMO_MATH float logf(float x) { return log(x); }
DAMO_MATH float log2f(float x) { return log2(x); }
DAMO_MATH float log10f(float x) { return log10(x); }
DAMO_MATH float log1pf(float x) { return log1p(x); }
DAMO_MATH float sqrtf(float x) { return sqrt(x); }
DAMO_MATH float rsqrtf(float x) { return rsqrt(x); }
DAMO_MATH float cbrtf(float x) { return cbrt(x); }
DAMO_MATH float sinf(float x) { return sin(x); }
DAMO_MATH float cosf(float x) { return cos(x); }
DAMO_MATH float tanf(float x) { return tan(x); }
DAMO_MATH float asinf(float x) { return asin(x); }
DAMO_MATH float acosf(float x) { return acos(x); }
DAMO_MATH float atanf(float x) { return atan(x); }
DAMO_MATH float sinhf(float x) { return sinh(x); }
DAMO_MATH float coshf(float x) { return cosh(x); }
DAMO_MATH float tanhf(float x) { return tanh(x); }
DAMO_MATH float asinhf(float x) { return asinh(x); }
DAMO_MATH float acoshf(float x) { return acosh(x); }
DAMO_MATH float atanhf(float x) { return atanh(x); }
DAMO_MATH float erff(float x) { return erf(x); }
DAMO_MATH float erfcf(float x) { return erfc(x); }
DAMO_MATH float erfcxf(float x) { return erfcx(x); }
DAMO_MATH float erfinvf(float x) { return erfinv(x); }
DAMO_MATH float erfcinvf(float x) { return erfcinv(x); }
DAMO_MATH float tgammaf(float x) { return tgamma(x); }
DAMO_MATH float lgammaf(float x) { return lgamma(x); }
DAMO_MATH float floorf(float x) { return floor(x); }
DAMO_MATH float ceilf(float x) { return ceil(x); }
DAMO_MATH float truncf(float x) { return trunc(x); }
DAMO_MATH float roundf(float x) { return round(x); }
DAMO_MATH float rintf(float x) { return rint(x); }
DAMO_MATH float nearbyintf(float x) { return nearbyint(x); }
DAMO_MATH float fabsf(float x) { return fabs(x); }
DAMO_MATH float exp10f(float x) { return pow(10.0f, x); }
DAMO_MATH float rcbrtf(float x) { return 1.0f / cbrt(x); }

DAMO_MATH float powf(float x, float y) { return pow(x, y); }
DAMO_MATH float atan2f(float x, float y) { return atan2(x, y); }
DAMO_MATH float hypotf(float x, float y) { return hypot(x, y); }
DAMO_MATH float fmodf(float x, float y) { return fmod(x, y); }
DAMO_MATH float fminf(float x, float y) { return fmin(x, y); }
DAMO_MATH float fmaxf(float x, float y) { return fmax(x, y); }
DAMO_MATH float copysignf(float x, float y) { return copysign(x, y); }
DAMO_MATH float fdimf(float x, float y) { return __builtin_fdimf(x, y); }
DAMO_MATH float remainderf(float x, float y) { return __builtin_remainderf(x, y); }
DAMO_MATH float nextafterf(float x, float y) { return __builtin_nextafterf(x, y); }
DAMO_MATH float fdividef(float x, float y) { return x / y; }
DAMO_MATH float rhypotf(float x, float y) { return 1.0f / hypot(x, y); }
DAMO_MATH float fmaf(float x, float y, float z) { return fma(x, y, z); }

// Integers and parts of a number.
DAMO_MATH long lrintf(float x) { return (long)rint(x); }
DAMO_MATH long long llrintf(float x) { return (long long)rint(x); }
DAMO_MATH long lroundf(float x) { return (long)round(x); }
DAMO_MATH long long llroundf(float x) { return (long long)round(x); }
DAMO_MATH int ilogbf(float x) { return __builtin_ilogbf(x); }
DAMO_MATH float logbf(float x) { return float(math::logb(x)); }
DAMO_MATH float ldexpf(float x, int n) { return __builtin_ldexpf(x, n); }
DAMO_MATH float scalbnf(float x, int n) { return __builtin_scalbnf(x, n); }
DAMO_MATH float scalblnf(float x, long n) { return __builtin_scalblnf(x, n); }
DAMO_MATH float frexpf(float x, int* exponent) { return __builtin_frexpf(x, exponent); }
DAMO_MATH float modff(float x, float* whole) {
  *whole = trunc(x);
  return copysign(isinf(x) ? 0.0f : x - *whole, x);
}
DAMO_MATH float remquof(float x, float y, int* quotient) { return __builtin_remquof(x, y, quotient); }
DAMO_MATH float nanf(const char*) { return math::quiet_nan(0.0f); }

// In double, rounded once.
DAMO_MATH float sinpif(float x) { return float(math::sinpi(x)); }
DAMO_MATH float cospif(float x) { return float(math::cospi(x)); }
DAMO_MATH float normcdff(float x) { return float(math::normcdf(x)); }
DAMO_MATH float normcdfinvf(float x) { return float(math::normcdfinv(x)); }
DAMO_MATH float cyl_bessel_i0f(float x) { return float(__damo_cyl_bessel_i0(x)); }
DAMO_MATH float cyl_bessel_i1f(float x) { return float(__damo_cyl_bessel_i1(x)); }
DAMO_MATH float j0f(float x) { return float(::j0(x)); }
DAMO_MATH float j1f(float x) { return float(::j1(x)); }
DAMO_MATH float y0f(float x) { return float(::y0(x)); }
DAMO_MATH float y1f(float x) { return float(::y1(x)); }
DAMO_MATH float jnf(int n, float x) { return float(::jn(n, x)); }
DAMO_MATH float ynf(int n, float x) { return float(::yn(n, x)); }

DAMO_MATH void sincosf(float x, float* sine, float* cosine) { *sine = sin(x), *cosine = cos(x); }
DAMO_MATH void sincospif(float x, float* sine, float* cosine) { *sine = sinpif(x), *cosine = cospif(x); }

DAMO_MATH float normf(int count, const float* x) { return math::norm(x, count); }
DAMO_MATH float rnormf(int count, const float* x) { return 1.0f / math::norm(x, count); }
DAMO_MATH float norm3df(float a, float b, float c) {
  const float x[] = {a, b, c};
  return math::norm(x, 3);
}
DAMO_MATH float norm4df(float a, float b, float c, float d) {
  const float x[] = {a, b, c, d};
  return math::norm(x, 4);
}
DAMO_MATH float rnorm3df(float a, float b, float c) { return 1.0f / norm3df(a, b, c); }
DAMO_MATH float rnorm4df(float a, float b, float c, float d) { return 1.0f / norm4df(a, b, c, d); }

// The quick forms: as exact here as the others.
DAMO_MATH float __expf(float x) { return exp(x); }
DAMO_MATH float __logf(float x) { return log(x); }
DAMO_MATH float __log2f(float x) { return log2(x); }
DAMO_MATH float __log10f(float x) { return log10(x); }
DAMO_MATH float __sinf(float x) { return sin(x); }
DAMO_MATH float __cosf(float x) { return cos(x); }
DAMO_MATH float __tanf(float x) { return tan(x); }
DAMO_MATH float __tanhf(float x) { return tanh(x); }
DAMO_MATH float __exp10f(float x) { return exp10f(x); }
DAMO_MATH float __powf(float x, float y) { return pow(x, y); }
DAMO_MATH float __fdividef(float x, float y) { return x / y; }
DAMO_MATH float __saturatef(float x) { return fmin(fmax(x, 0.0f), 1.0f); }
DAMO_MATH void __sincosf(float x, float* sine, float* cosine) { *sine = sin(x), *cosine = cos(x); }

}  // namespace damo
DAMO_EXACT_END
