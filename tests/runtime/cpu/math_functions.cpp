// Compiled with -ffp-contract=off -fno-math-errno, once with -mfma -mavx2 -DDAMO_MATH_BUILD=build_with_fma and once
// without any of them.
#include "math_functions.hpp"

#include "runtime/cpu/clang/prelude/math_double.h"
#include "runtime/cpu/clang/prelude/math_double_power.h"
#include "runtime/cpu/clang/prelude/math_float.h"
#include "runtime/cpu/clang/prelude/math_float_wide.h"
#include "runtime/cpu/clang/prelude/math_inverse_trig.h"
#include "runtime/cpu/clang/prelude/math_rounding.h"
#include "runtime/cpu/clang/prelude/math_special.h"
#include "runtime/cpu/clang/prelude/math_trig.h"

#ifndef DAMO_MATH_BUILD
#define DAMO_MATH_BUILD build_without_fma
#endif
#define DAMO_TEXT_OF(x) #x
#define DAMO_TEXT(x) DAMO_TEXT_OF(x)

namespace damo::math_test {
namespace {

// clang-format off
#define DAMO_LOOP(f, ...) {#f, [](const T* x, [[maybe_unused]] const T* y, T* out, long n) { for (long i = 0; i < n; ++i) out[i] = damo::f(__VA_ARGS__); }}
#define DAMO_ONE(f) DAMO_LOOP(f, x[i])
#define DAMO_TWO(f) DAMO_LOOP(f, x[i], y[i])

template <class T>
const Loop<T> kLoops[] = {
    DAMO_ONE(exp), DAMO_ONE(exp2), DAMO_ONE(expm1), DAMO_ONE(log), DAMO_ONE(log2), DAMO_ONE(log10), DAMO_ONE(log1p),
    DAMO_ONE(sqrt), DAMO_ONE(rsqrt), DAMO_ONE(cbrt), DAMO_ONE(sin), DAMO_ONE(cos), DAMO_ONE(tan), DAMO_ONE(asin),
    DAMO_ONE(acos), DAMO_ONE(atan), DAMO_ONE(sinh), DAMO_ONE(cosh), DAMO_ONE(tanh), DAMO_ONE(asinh), DAMO_ONE(acosh),
    DAMO_ONE(atanh), DAMO_ONE(erf), DAMO_ONE(erfc), DAMO_ONE(sigmoid), DAMO_ONE(softplus), DAMO_ONE(floor),
    DAMO_ONE(ceil), DAMO_ONE(trunc), DAMO_ONE(rint), DAMO_ONE(round), DAMO_ONE(fabs), DAMO_TWO(pow), DAMO_TWO(atan2),
    DAMO_TWO(hypot), DAMO_TWO(fmod), DAMO_TWO(fmin), DAMO_TWO(fmax), DAMO_TWO(copysign), {nullptr, nullptr}};
// clang-format on

}  // namespace

Build DAMO_MATH_BUILD() { return {DAMO_TEXT(DAMO_MATH_BUILD), kLoops<float>, kLoops<double>}; }

}  // namespace damo::math_test
