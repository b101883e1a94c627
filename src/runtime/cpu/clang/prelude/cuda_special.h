// The CUDA Math API's rarer functions: error functions and their inverses, Bessel functions, norms, functions of pi x.
// Read when a source names one of them: see prelude.cpp. Float forms are computed in double and rounded once.
#pragma once
#include "cuda_math.h"
#include "math_special.h"
#pragma clang force_cuda_host_device begin

// By the host's libraries (src/runtime/cpu/special_functions.cpp and the C library).
extern "C" {
#define __DAMO_HOST __device__ __attribute__((const, nothrow, host))
__DAMO_HOST double __damo_cyl_bessel_i0(double);
__DAMO_HOST double __damo_cyl_bessel_i1(double);
#define __DAMO_BESSEL(name) __DAMO_HOST double name(double); __DAMO_HOST float name##f(float);
__DAMO_BESSEL(j0) __DAMO_BESSEL(j1) __DAMO_BESSEL(y0) __DAMO_BESSEL(y1)
__DAMO_HOST double jn(int, double);
__DAMO_HOST float jnf(int, float);
__DAMO_HOST double yn(int, double);
__DAMO_HOST float ynf(int, float);
#undef __DAMO_HOST
__device__ __attribute__((nothrow, host)) double remquo(double, double, int*);
__device__ __attribute__((nothrow, host)) float remquof(float, float, int*);
}

namespace damo::cuda {

// erfc(-x / sqrt(2)) / 2; the second part of 1 / sqrt(2) keeps the far tail right.
inline double normcdf(double x) {
  const double a = 0.70710678118654757, b = -4.8336466567264567e-17;
  const double t = -x * a, rest = ::fma(-x, a, -t) - x * b;
  const double value = ::erfc(t);
  return ::isfinite(rest) ? 0.5 * (value - 1.1283791670955126 * ::exp(-t * t) * rest) : 0.5 * value;
}
// sin(pi x) and cos(pi x): exact at multiples of a half.
inline double quarter_turns(double x, int shift) {
  const double whole = x - 2.0 * ::rint(0.5 * x);
  const double n = ::rint(2.0 * whole);
  const double angle = 3.14159265358979323846 * (whole - 0.5 * n);
  const int quarter = (int(n) + shift) & 3;
  const double value = quarter & 1 ? ::cos(angle) : ::sin(angle);
  return quarter & 2 ? 0.0 - value : value;
}
inline double sinpi(double x) {
  if (x == ::trunc(x)) return 0.0 * x;  // of infinity NaN
  return quarter_turns(x, 0);
}
inline double cospi(double x) { return quarter_turns(x, 1); }
inline double normcdfinv(double p) { return -1.4142135623730951 * __damo_erfcinv(2.0 * p); }
inline double logb(double x) { return x == 0 ? -__builtin_inf() : ::isfinite(x) ? double(__builtin_ilogb(x)) : x * x; }

// Square root of a sum of squares, without overflow on the way.
template <class T>
inline T norm(const T* values, int count) {
  T largest = 0, sum_of_zeros = 0;  // or NaN
  for (int i = 0; i < count; ++i) largest = ::fmax(largest, ::fabs(values[i])), sum_of_zeros += values[i];
  for (int i = 0; i < count; ++i) if (::isinf(values[i])) return T(__builtin_inf());
  if (largest == 0) return sum_of_zeros;
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += double(values[i] / largest) * double(values[i] / largest);
  return largest * T(::sqrt(sum));
}

}  // namespace damo::cuda

#define __DAMO_SPECIAL(name, call)                                 \
  inline double name(double x) { return call(x); }                 \
  inline float name##f(float x) { return float(call(double(x))); } \
  inline float name(float x) { return name##f(x); }
__DAMO_SPECIAL(erfinv, __damo_erfinv) __DAMO_SPECIAL(erfcinv, __damo_erfcinv) __DAMO_SPECIAL(erfcx, damo::erfcx)
__DAMO_SPECIAL(normcdf, damo::cuda::normcdf) __DAMO_SPECIAL(normcdfinv, damo::cuda::normcdfinv)
__DAMO_SPECIAL(sinpi, damo::cuda::sinpi) __DAMO_SPECIAL(cospi, damo::cuda::cospi) __DAMO_SPECIAL(logb, damo::cuda::logb)
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
  inline T norm##suffix(int n, const T* x) { return damo::cuda::norm(x, n); }                          \
  inline T rnorm##suffix(int n, const T* x) { return T(1) / damo::cuda::norm(x, n); }                  \
  inline T norm3d##suffix(T a, T b, T c) { const T x[] = {a, b, c}; return damo::cuda::norm(x, 3); }   \
  inline T norm4d##suffix(T a, T b, T c, T d) { const T x[] = {a, b, c, d}; return damo::cuda::norm(x, 4); } \
  inline T rnorm3d##suffix(T a, T b, T c) { return T(1) / norm3d##suffix(a, b, c); }                   \
  inline T rnorm4d##suffix(T a, T b, T c, T d) { return T(1) / norm4d##suffix(a, b, c, d); }
__DAMO_NORMS(float, f) __DAMO_NORMS(double, )
inline float norm3d(float a, float b, float c) { return norm3df(a, b, c); }
#pragma clang force_cuda_host_device end
