// What NVRTC is given, as CUDA C that Damo's CPU back end compiles: a user's text without the prelude of the CUDA back end, as the CPU has its own, and a
// generated one with its prelude. PTX becomes calls of functions that do what the instruction does (ptx.cpp).
#pragma once
#include <string>
#include <string_view>

namespace damo::emulated_gpu {

/// architecture: 80 for sm_80.
std::string as_cpu_cuda_c(std::string_view text, int architecture);

/// Each asm statement as a call: asm("max.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y)) becomes ptx::max_nan(z, x, y). One whose PTX the table does
/// not have becomes a call of a function that there is not, so that it does not compile.
std::string without_asm(std::string_view text);

/// The functions that without_asm() names.
extern const char* const kPtx;

}  // namespace damo::emulated_gpu
