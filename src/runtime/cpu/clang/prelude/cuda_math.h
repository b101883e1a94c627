// The CUDA Math API's everyday part, for float, double and (as in C++) integers. damo's own functions where math_*.h
// has them; the C library's for the rest (scalar, so a loop with one is slow). Rarer ones: cuda_special.h.
#pragma once
#pragma clang force_cuda_host_device begin

// The C library's functions. damo::name is damo's own where there is one, else the one here.
namespace damo_libm {
#define __DAMO_UNARY(name)                                          \
  inline float name(float x) { return __builtin_##name##f(x); }     \
  inline double name(double x) { return __builtin_##name(x); }
#define __DAMO_BINARY(name)                                                     \
  inline float name(float x, float y) { return __builtin_##name##f(x, y); }     \
  inline double name(double x, double y) { return __builtin_##name(x, y); }
#define __DAMO_UNARY_LIST(X)                                                                                 \
  X(exp) X(exp2) X(expm1) X(log) X(log2) X(log10) X(log1p) X(sqrt) X(cbrt) X(sin) X(cos) X(tan) X(asin)      \
  X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(erf) X(erfc) X(tgamma) X(lgamma)      \
  X(floor) X(ceil) X(trunc) X(round) X(rint) X(nearbyint) X(fabs)
#define __DAMO_BINARY_LIST(X) X(pow) X(atan2) X(fmod) X(hypot) X(fmin) X(fmax) X(copysign) X(fdim) X(remainder) X(nextafter)
__DAMO_UNARY_LIST(__DAMO_UNARY)
__DAMO_BINARY_LIST(__DAMO_BINARY)
#undef __DAMO_UNARY
#undef __DAMO_BINARY
}  // namespace damo_libm

namespace damo {
using namespace ::damo_libm;
}
namespace damo::cuda {
template <class T>
using if_integral = typename If<__is_integral(T), double>::type;
template <class A, class B>
using if_mixed = typename If<__is_arithmetic(A) && __is_arithmetic(B) && (__is_integral(A) || __is_integral(B)), double>::type;
}  // namespace damo::cuda

#define __DAMO_UNARY(name)                                             \
  inline float name##f(float x) { return damo::name(x); } \
  inline float name(float x) { return damo::name(x); }    \
  inline double name(double x) { return damo::name(x); }  \
  template <class T> inline damo::cuda::if_integral<T> name(T x) { return damo::name(double(x)); }
#define __DAMO_BINARY(name)                                                                                        \
  inline float name##f(float x, float y) { return damo::name(x, y); }                                 \
  inline float name(float x, float y) { return damo::name(x, y); }                                    \
  inline double name(double x, double y) { return damo::name(x, y); }                                 \
  inline double name(float x, double y) { return damo::name(double(x), y); }                          \
  inline double name(double x, float y) { return damo::name(x, double(y)); }                          \
  template <class A, class B> inline damo::cuda::if_mixed<A, B> name(A x, B y) {          \
    return damo::name(double(x), double(y));                                                          \
  }
__DAMO_UNARY_LIST(__DAMO_UNARY)
__DAMO_BINARY_LIST(__DAMO_BINARY)
#undef __DAMO_UNARY
#undef __DAMO_BINARY

inline float pow(float x, int n) { return powf(x, float(n)); }
inline double pow(double x, int n) { return pow(x, double(n)); }
inline float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline float rsqrt(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float exp10f(float x) { return powf(10.0f, x); }
inline float exp10(float x) { return powf(10.0f, x); }
inline double exp10(double x) { return pow(10.0, x); }
inline void sincosf(float x, float* s, float* c) { *s = sinf(x), *c = cosf(x); }
inline void sincos(float x, float* s, float* c) { *s = sinf(x), *c = cosf(x); }
inline void sincos(double x, double* s, double* c) { *s = sin(x), *c = cos(x); }
inline float fdividef(float x, float y) { return x / y; }

#define __DAMO_CLASSIFY(name)                                  \
  inline bool name(float x) { return __builtin_##name(x); }    \
  inline bool name(double x) { return __builtin_##name(x); }   \
  template <class T> inline typename damo::If<__is_integral(T), bool>::type name(T x) { return name(double(x)); }
__DAMO_CLASSIFY(isnan) __DAMO_CLASSIFY(isinf) __DAMO_CLASSIFY(isfinite) __DAMO_CLASSIFY(isnormal) __DAMO_CLASSIFY(signbit)

inline int abs(int x) { return x < 0 ? -x : x; }
inline long abs(long x) { return x < 0 ? -x : x; }
inline long long abs(long long x) { return x < 0 ? -x : x; }
inline float abs(float x) { return __builtin_fabsf(x); }
inline double abs(double x) { return __builtin_fabs(x); }
inline long labs(long x) { return x < 0 ? -x : x; }
inline long long llabs(long long x) { return x < 0 ? -x : x; }

#define __DAMO_LEAST_GREATEST(T, A, B)                              \
  inline T min(A a, B b) { return (T)b < (T)a ? (T)b : (T)a; }      \
  inline T max(A a, B b) { return (T)a < (T)b ? (T)b : (T)a; }
#define __DAMO_INTEGER(S, U)                                                    \
  __DAMO_LEAST_GREATEST(S, S, S) __DAMO_LEAST_GREATEST(U, U, U)                 \
  __DAMO_LEAST_GREATEST(U, U, S) __DAMO_LEAST_GREATEST(U, S, U)
__DAMO_INTEGER(int, unsigned)
__DAMO_INTEGER(long, unsigned long)
__DAMO_INTEGER(long long, unsigned long long)
#undef __DAMO_LEAST_GREATEST
#define __DAMO_LEAST_GREATEST(T, A, B, suffix)                     \
  inline T min(A a, B b) { return fmin##suffix(a, b); }            \
  inline T max(A a, B b) { return fmax##suffix(a, b); }
__DAMO_LEAST_GREATEST(float, float, float, f)
__DAMO_LEAST_GREATEST(double, double, double, )
__DAMO_LEAST_GREATEST(double, float, double, )
__DAMO_LEAST_GREATEST(double, double, float, )
#undef __DAMO_LEAST_GREATEST
#define __DAMO_NAMED(T, prefix)                                     \
  inline T prefix##min(T a, T b) { return b < a ? b : a; }          \
  inline T prefix##max(T a, T b) { return a < b ? b : a; }
__DAMO_NAMED(unsigned, u) __DAMO_NAMED(long long, ll) __DAMO_NAMED(unsigned long long, ull)

#define __DAMO_TO_INTEGER(T, name, round)                         \
  inline T name##f(float x) { return (T)round##f(x); }            \
  inline T name(float x) { return (T)round##f(x); }               \
  inline T name(double x) { return (T)round(x); }
__DAMO_TO_INTEGER(long, lrint, rint) __DAMO_TO_INTEGER(long long, llrint, rint)
__DAMO_TO_INTEGER(long, lround, round) __DAMO_TO_INTEGER(long long, llround, round)
#undef __DAMO_TO_INTEGER

#define __DAMO_SCALE(name, integer)                                                    \
  inline float name##f(float x, integer n) { return __builtin_##name##f(x, n); }       \
  inline float name(float x, integer n) { return __builtin_##name##f(x, n); }          \
  inline double name(double x, integer n) { return __builtin_##name(x, n); }
__DAMO_SCALE(ldexp, int) __DAMO_SCALE(scalbn, int) __DAMO_SCALE(scalbln, long)
inline float frexpf(float x, int* e) { return __builtin_frexpf(x, e); }
inline float frexp(float x, int* e) { return __builtin_frexpf(x, e); }
inline double frexp(double x, int* e) { return __builtin_frexp(x, e); }
inline float modff(float x, float* whole) { *whole = truncf(x); return isinf(x) ? copysignf(0.0f, x) : copysignf(x - *whole, x); }
inline float modf(float x, float* whole) { return modff(x, whole); }
inline double modf(double x, double* whole) { *whole = trunc(x); return isinf(x) ? copysign(0.0, x) : copysign(x - *whole, x); }

// The quick forms: as exact here as the others.
#define __DAMO_QUICK(name) inline float __##name(float x) { return name(x); }
__DAMO_QUICK(expf) __DAMO_QUICK(exp10f) __DAMO_QUICK(logf) __DAMO_QUICK(log2f) __DAMO_QUICK(log10f)
__DAMO_QUICK(sinf) __DAMO_QUICK(cosf) __DAMO_QUICK(tanf) __DAMO_QUICK(tanhf)
inline void __sincosf(float x, float* s, float* c) { *s = sinf(x), *c = cosf(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __saturatef(float x) { return fminf(fmaxf(x, 0.0f), 1.0f); }
#pragma clang force_cuda_host_device end
