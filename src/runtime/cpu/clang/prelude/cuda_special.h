// The CUDA Math API's rarer functions: error functions and their inverses, Bessel functions, norms, functions of pi x.
// Read when a source names one of them: see prelude.cpp. Float forms are computed in double and rounded once.
#pragma once
#include "cuda_math.h"
#pragma clang force_cuda_host_device begin

#include "special_values.h"

// By the C library.
extern "C" {
#define __DAMO_BESSEL(name) __device__ __attribute__((const, nothrow, host)) float name##f(float);
__DAMO_BESSEL(j0) __DAMO_BESSEL(j1) __DAMO_BESSEL(y0) __DAMO_BESSEL(y1)
__device__ __attribute__((const, nothrow, host)) float jnf(int, float);
__device__ __attribute__((const, nothrow, host)) float ynf(int, float);
__device__ __attribute__((nothrow, host)) double remquo(double, double, int*);
__device__ __attribute__((nothrow, host)) float remquof(float, float, int*);
}

#define __DAMO_SPECIAL(name, call)                                 \
  inline double name(double x) { return call(x); }                 \
  inline float name##f(float x) { return float(call(double(x))); } \
  inline float name(float x) { return name##f(x); }
__DAMO_SPECIAL(erfinv, __damo_erfinv) __DAMO_SPECIAL(erfcinv, __damo_erfcinv) __DAMO_SPECIAL(erfcx, damo::erfcx)
__DAMO_SPECIAL(normcdf, damo::math::normcdf) __DAMO_SPECIAL(normcdfinv, damo::math::normcdfinv)
__DAMO_SPECIAL(sinpi, damo::math::sinpi) __DAMO_SPECIAL(cospi, damo::math::cospi) __DAMO_SPECIAL(logb, damo::math::logb)
__DAMO_SPECIAL(cyl_bessel_i0, __damo_cyl_bessel_i0) __DAMO_SPECIAL(cyl_bessel_i1, __damo_cyl_bessel_i1)
#define __DAMO_FLOATING(T, form, of)                                                                   \
  inline T rcbrt##form(T x) { return T(1) / cbrt##of(x); }                                             \
  inline void sincospi##form(T x, T* s, T* c) { *s = sinpi##of(x), *c = cospi##of(x); }                \
  inline int ilogb##form(T x) { return __builtin_ilogb##of(x); }                                       \
  inline T rhypot##form(T a, T b) { return T(1) / hypot##of(a, b); }
__DAMO_FLOATING(float, f, f) __DAMO_FLOATING(float, , f) __DAMO_FLOATING(double, , )
#undef __DAMO_FLOATING
inline float nanf(const char*) { return __builtin_nanf(""); }
inline double nan(const char*) { return __builtin_nan(""); }

#define __DAMO_NORMS(T, suffix)                                                                        \
  inline T norm##suffix(int n, const T* x) { return damo::math::norm(x, n); }                          \
  inline T rnorm##suffix(int n, const T* x) { return T(1) / damo::math::norm(x, n); }                  \
  inline T norm3d##suffix(T a, T b, T c) { const T x[] = {a, b, c}; return damo::math::norm(x, 3); }   \
  inline T norm4d##suffix(T a, T b, T c, T d) { const T x[] = {a, b, c, d}; return damo::math::norm(x, 4); } \
  inline T rnorm3d##suffix(T a, T b, T c) { return T(1) / norm3d##suffix(a, b, c); }                   \
  inline T rnorm4d##suffix(T a, T b, T c, T d) { return T(1) / norm4d##suffix(a, b, c, d); }
__DAMO_NORMS(float, f) __DAMO_NORMS(double, )
inline float norm3d(float a, float b, float c) { return norm3df(a, b, c); }
#pragma clang force_cuda_host_device end
