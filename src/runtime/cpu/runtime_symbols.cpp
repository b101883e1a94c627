// The fixed table of what compiled code may call: what a code generator calls by itself, and the scalar C library
// functions that the prelude does not have in vector form.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "runtime/cpu/block_regions.hpp"
#include "runtime/cpu/check_calls.hpp"
#include "runtime/cpu/cooperative.hpp"
#include "runtime/cpu/directed_rounding.hpp"
#include "runtime/cpu/elf_loader.hpp"
#include "runtime/cpu/kernel_calls.hpp"
#include "runtime/cpu/kernel_guard.hpp"
#include "runtime/cpu/random_skip.hpp"
#include "runtime/cpu/special_functions.hpp"

// What the compiler calls for 128-bit integers, and for half from double where the CPU has no instruction: libgcc's. Only
// their addresses are taken here.
extern "C" {
void __divti3();
void __modti3();
void __udivti3();
void __umodti3();
void __truncdfhf2();
void __truncsfhf2();
void __extendhfsf2();
}

namespace damo::cpu_backend {
namespace {

using Entry = std::pair<std::string_view, void*>;

/// Function for a kernel to call: what it throws is carried around the kernel's frames, which nobody can unwind.
template <auto Function>
struct Carried;
template <class Result, class... Arguments, Result (*Function)(Arguments...)>
struct Carried<Function> {
  static Result call(Arguments... arguments) {
    return KernelGuard::without_exceptions([&] { return Function(arguments...); });
  }
};
template <auto Function>
void* carried() {
  return reinterpret_cast<void*>(Carried<Function>::call);
}

#define DAMO_UNARY(name)                                                         \
  Entry{#name, reinterpret_cast<void*>(static_cast<double (*)(double)>(::name))},   \
  Entry{#name "f", reinterpret_cast<void*>(static_cast<float (*)(float)>(::name##f))}
#define DAMO_BINARY(name)                                                                \
  Entry{#name, reinterpret_cast<void*>(static_cast<double (*)(double, double)>(::name))},   \
  Entry{#name "f", reinterpret_cast<void*>(static_cast<float (*)(float, float)>(::name##f))}

const Entry kTable[] = {
    {"memcpy", reinterpret_cast<void*>(static_cast<void* (*)(void*, const void*, size_t)>(std::memcpy))},
    {"memmove", reinterpret_cast<void*>(static_cast<void* (*)(void*, const void*, size_t)>(std::memmove))},
    {"memset", reinterpret_cast<void*>(static_cast<void* (*)(void*, int, size_t)>(std::memset))},
    {"memcmp", reinterpret_cast<void*>(static_cast<int (*)(const void*, const void*, size_t)>(std::memcmp))},
    {"bcmp", reinterpret_cast<void*>(static_cast<int (*)(const void*, const void*, size_t)>(std::memcmp))},
    DAMO_UNARY(exp), DAMO_UNARY(exp2), DAMO_UNARY(expm1), DAMO_UNARY(log), DAMO_UNARY(log2), DAMO_UNARY(log10),
    DAMO_UNARY(log1p), DAMO_UNARY(sqrt), DAMO_UNARY(cbrt), DAMO_UNARY(sin), DAMO_UNARY(cos), DAMO_UNARY(tan),
    DAMO_UNARY(asin), DAMO_UNARY(acos), DAMO_UNARY(atan), DAMO_UNARY(sinh), DAMO_UNARY(cosh), DAMO_UNARY(tanh),
    DAMO_UNARY(asinh), DAMO_UNARY(acosh), DAMO_UNARY(atanh), DAMO_UNARY(erf), DAMO_UNARY(erfc), DAMO_UNARY(tgamma),
    DAMO_UNARY(lgamma), DAMO_UNARY(floor), DAMO_UNARY(ceil), DAMO_UNARY(trunc), DAMO_UNARY(round), DAMO_UNARY(rint),
    DAMO_UNARY(nearbyint), DAMO_UNARY(fabs),
    DAMO_BINARY(pow), DAMO_BINARY(atan2), DAMO_BINARY(fmod), DAMO_BINARY(hypot), DAMO_BINARY(fmin), DAMO_BINARY(fmax),
    DAMO_BINARY(copysign), DAMO_BINARY(fdim), DAMO_BINARY(remainder), DAMO_BINARY(nextafter),
    {"fma", reinterpret_cast<void*>(static_cast<double (*)(double, double, double)>(::fma))},
    {"fmaf", reinterpret_cast<void*>(static_cast<float (*)(float, float, float)>(::fmaf))},
    {"ldexp", reinterpret_cast<void*>(static_cast<double (*)(double, int)>(::ldexp))},
    {"ldexpf", reinterpret_cast<void*>(static_cast<float (*)(float, int)>(::ldexpf))},
    {"sincos", reinterpret_cast<void*>(static_cast<void (*)(double, double*, double*)>(::sincos))},
    {"damo_run_coroutines", carried<damo_run_coroutines>()},
    {"damo_run_fibers", carried<damo_run_fibers>()},
    {"damo_coroutine_memory", carried<damo_coroutine_memory>()},
    {"damo_block_memory", carried<damo_block_memory>()},
    {"damo_warp_operation", reinterpret_cast<void*>(damo_warp_operation)},
    {"damo_next_region", carried<damo_next_region>()},
    {"damo_wait_on_fiber", reinterpret_cast<void*>(damo_wait_on_fiber)},
    {"damo_current_thread", reinterpret_cast<void*>(damo_current_thread)},
    {"damo_enter_thread", reinterpret_cast<void*>(damo_enter_thread)},
    {"damo_kernel_clock", reinterpret_cast<void*>(damo_kernel_clock)},
    {"damo_kernel_trap", carried<damo_kernel_trap>()},
    {"damo_wait_for", carried<damo_wait_for>()},
    {"damo_kernel_assert", carried<damo_kernel_assert>()},
    {"damo_run_threads", carried<damo_run_threads>()},
    {"damo_check_object", carried<damo_check_object>()},
    {"damo_check_memory", carried<damo_check_memory>()},
    {"damo_check_local", carried<damo_check_local>()},
    {"printf", reinterpret_cast<void*>(damo_kernel_printf)},
    {"puts", reinterpret_cast<void*>(static_cast<int (*)(const char*)>(std::puts))},
    {"putchar", reinterpret_cast<void*>(static_cast<int (*)(int)>(std::putchar))},
    {"malloc", reinterpret_cast<void*>(damo_kernel_malloc)},
    {"free", carried<damo_kernel_free>()},
    {"__divti3", reinterpret_cast<void*>(__divti3)},
    {"__modti3", reinterpret_cast<void*>(__modti3)},
    {"__udivti3", reinterpret_cast<void*>(__udivti3)},
    {"__umodti3", reinterpret_cast<void*>(__umodti3)},
    {"__truncdfhf2", reinterpret_cast<void*>(__truncdfhf2)},
    {"__truncsfhf2", reinterpret_cast<void*>(__truncsfhf2)},
    {"__extendhfsf2", reinterpret_cast<void*>(__extendhfsf2)},
    DAMO_UNARY(j0), DAMO_UNARY(j1), DAMO_UNARY(y0), DAMO_UNARY(y1), DAMO_UNARY(logb), DAMO_UNARY(exp10),
    {"jn", reinterpret_cast<void*>(static_cast<double (*)(int, double)>(::jn))},
    {"jnf", reinterpret_cast<void*>(static_cast<float (*)(int, float)>(::jnf))},
    {"yn", reinterpret_cast<void*>(static_cast<double (*)(int, double)>(::yn))},
    {"ynf", reinterpret_cast<void*>(static_cast<float (*)(int, float)>(::ynf))},
    {"remquo", reinterpret_cast<void*>(static_cast<double (*)(double, double, int*)>(::remquo))},
    {"remquof", reinterpret_cast<void*>(static_cast<float (*)(float, float, int*)>(::remquof))},
    {"frexp", reinterpret_cast<void*>(static_cast<double (*)(double, int*)>(::frexp))},
    {"frexpf", reinterpret_cast<void*>(static_cast<float (*)(float, int*)>(::frexpf))},
    {"scalbn", reinterpret_cast<void*>(static_cast<double (*)(double, int)>(::scalbn))},
    {"scalbnf", reinterpret_cast<void*>(static_cast<float (*)(float, int)>(::scalbnf))},
    {"scalbln", reinterpret_cast<void*>(static_cast<double (*)(double, long)>(::scalbln))},
    {"scalblnf", reinterpret_cast<void*>(static_cast<float (*)(float, long)>(::scalblnf))},
    {"ilogb", reinterpret_cast<void*>(static_cast<int (*)(double)>(::ilogb))},
    {"ilogbf", reinterpret_cast<void*>(static_cast<int (*)(float)>(::ilogbf))},
    {"__damo_xorwow_skip", reinterpret_cast<void*>(xorwow_skip)},
    {"__damo_erfinv", reinterpret_cast<void*>(erfinv)},
    {"__damo_erfcinv", reinterpret_cast<void*>(erfcinv)},
    {"__damo_cyl_bessel_i0", reinterpret_cast<void*>(cyl_bessel_i0)},
    {"__damo_cyl_bessel_i1", reinterpret_cast<void*>(cyl_bessel_i1)},
    {"__damo_rounded_float", reinterpret_cast<void*>(rounded_float)},
    {"__damo_rounded_double", reinterpret_cast<void*>(rounded_double)},
    {"__damo_narrow", reinterpret_cast<void*>(double_to_float)},
    {"__damo_signed_to_float", reinterpret_cast<void*>(signed_to_float)},
    {"__damo_unsigned_to_float", reinterpret_cast<void*>(unsigned_to_float)},
    {"__damo_signed_to_double", reinterpret_cast<void*>(signed_to_double)},
    {"__damo_unsigned_to_double", reinterpret_cast<void*>(unsigned_to_double)},
    {"sincosf", reinterpret_cast<void*>(static_cast<void (*)(float, float*, float*)>(::sincosf))},
};

#undef DAMO_UNARY
#undef DAMO_BINARY

}  // namespace

void* runtime_symbol(std::string_view name) {
  const auto* entry = std::find_if(std::begin(kTable), std::end(kTable), [&](const Entry& e) { return e.first == name; });
  return entry == std::end(kTable) ? nullptr : entry->second;
}

}  // namespace damo::cpu_backend
