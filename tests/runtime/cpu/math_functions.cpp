#include "math_functions.hpp"

#include "runtime/cpu/clang/prelude/math.h"

#ifndef DAMO_MATH_BUILD
#define DAMO_MATH_BUILD build_with_fma
#define DAMO_MATH_BUILD_NAME "fma"
#endif

namespace damo::math_test {
namespace {

#define DAMO_LOOP1(T, f) {#f, [](const T* x, const T*, T* out, std::size_t n) { for (std::size_t i = 0; i < n; ++i) out[i] = damo::f(x[i]); }}
#define DAMO_LOOP2(T, f) {#f, [](const T* x, const T* y, T* out, std::size_t n) { for (std::size_t i = 0; i < n; ++i) out[i] = damo::f(x[i], y[i]); }}

#define DAMO_LOOPS(T)                                                                                                  \
  {DAMO_LOOP1(T, exp), DAMO_LOOP1(T, exp2), DAMO_LOOP1(T, expm1), DAMO_LOOP1(T, log), DAMO_LOOP1(T, log2),             \
   DAMO_LOOP1(T, log10), DAMO_LOOP1(T, log1p), DAMO_LOOP1(T, sqrt), DAMO_LOOP1(T, rsqrt), DAMO_LOOP1(T, cbrt),         \
   DAMO_LOOP1(T, sin), DAMO_LOOP1(T, cos), DAMO_LOOP1(T, tan), DAMO_LOOP1(T, asin), DAMO_LOOP1(T, acos),               \
   DAMO_LOOP1(T, atan), DAMO_LOOP1(T, sinh), DAMO_LOOP1(T, cosh), DAMO_LOOP1(T, tanh), DAMO_LOOP1(T, asinh),           \
   DAMO_LOOP1(T, acosh), DAMO_LOOP1(T, atanh), DAMO_LOOP1(T, erf), DAMO_LOOP1(T, erfc), DAMO_LOOP1(T, sigmoid),        \
   DAMO_LOOP1(T, softplus), DAMO_LOOP1(T, tgamma), DAMO_LOOP1(T, lgamma), DAMO_LOOP1(T, floor), DAMO_LOOP1(T, ceil),   \
   DAMO_LOOP1(T, trunc), DAMO_LOOP1(T, rint), DAMO_LOOP1(T, round), DAMO_LOOP1(T, fabs), DAMO_LOOP2(T, pow),           \
   DAMO_LOOP2(T, atan2), DAMO_LOOP2(T, hypot), DAMO_LOOP2(T, fmod), DAMO_LOOP2(T, fmin), DAMO_LOOP2(T, fmax),          \
   DAMO_LOOP2(T, copysign)}

}  // namespace

Build DAMO_MATH_BUILD() { return {DAMO_MATH_BUILD_NAME, DAMO_LOOPS(float), DAMO_LOOPS(double)}; }

}  // namespace damo::math_test
