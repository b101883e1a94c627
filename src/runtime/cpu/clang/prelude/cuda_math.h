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
// form: f in the name of a float's function, or nothing; of: f for floats, of the functions that it calls.
#define __DAMO_FLOATING(T, form, of)                                                                          \
  inline T fma##form(T a, T b, T c) { return __builtin_fma##of(a, b, c); }                                    \
  inline T rsqrt##form(T x) { return T(1) / sqrt##of(x); }                                                    \
  inline T exp10##form(T x) { return pow##of(T(10), x); }                                                     \
  inline void sincos##form(T x, T* s, T* c) { *s = sin##of(x), *c = cos##of(x); }                             \
  inline long lrint##form(T x) { return (long)rint##of(x); }                                                  \
  inline long long llrint##form(T x) { return (long long)rint##of(x); }                                       \
  inline long lround##form(T x) { return (long)round##of(x); }                                                \
  inline long long llround##form(T x) { return (long long)round##of(x); }                                     \
  inline T ldexp##form(T x, int n) { return __builtin_ldexp##of(x, n); }                                      \
  inline T scalbn##form(T x, int n) { return __builtin_scalbn##of(x, n); }                                    \
  inline T scalbln##form(T x, long n) { return __builtin_scalbln##of(x, n); }                                 \
  inline T frexp##form(T x, int* e) { return __builtin_frexp##of(x, e); }                                     \
  inline T modf##form(T x, T* whole) {                                                                        \
    *whole = trunc##of(x);                                                                                    \
    return __builtin_isinf(x) ? copysign##of(T(0), x) : copysign##of(x - *whole, x);                          \
  }
__DAMO_FLOATING(float, f, f) __DAMO_FLOATING(float, , f) __DAMO_FLOATING(double, , )
#undef __DAMO_FLOATING
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
__DAMO_INTEGER(int, unsigned) __DAMO_INTEGER(long, unsigned long) __DAMO_INTEGER(long long, unsigned long long)
#undef __DAMO_LEAST_GREATEST
#define __DAMO_LEAST_GREATEST(T, A, B)                             \
  inline T min(A a, B b) { return fmin(a, b); }                    \
  inline T max(A a, B b) { return fmax(a, b); }
__DAMO_LEAST_GREATEST(float, float, float) __DAMO_LEAST_GREATEST(double, double, double)
__DAMO_LEAST_GREATEST(double, float, double) __DAMO_LEAST_GREATEST(double, double, float)
#undef __DAMO_LEAST_GREATEST
#define __DAMO_NAMED(T, prefix)                                     \
  inline T prefix##min(T a, T b) { return b < a ? b : a; }          \
  inline T prefix##max(T a, T b) { return a < b ? b : a; }
__DAMO_NAMED(unsigned, u) __DAMO_NAMED(long long, ll) __DAMO_NAMED(unsigned long long, ull)

// The quick forms: as exact here as the others.
#define __DAMO_QUICK(name) inline float __##name(float x) { return name(x); }
__DAMO_QUICK(expf) __DAMO_QUICK(exp10f) __DAMO_QUICK(logf) __DAMO_QUICK(log2f) __DAMO_QUICK(log10f)
__DAMO_QUICK(sinf) __DAMO_QUICK(cosf) __DAMO_QUICK(tanf) __DAMO_QUICK(tanhf)
inline void __sincosf(float x, float* s, float* c) { *s = sinf(x), *c = cosf(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __saturatef(float x) { return fminf(fmaxf(x, 0.0f), 1.0f); }
#pragma clang force_cuda_host_device end
