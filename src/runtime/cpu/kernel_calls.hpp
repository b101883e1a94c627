// What a CUDA C kernel calls of the host while it runs on the CPU: its clock, and the ends of a kernel that gives up.
#pragma once
#include <cstddef>

extern "C" {
/// Nanoseconds of the machine's steady clock.
long long damo_kernel_clock();
/// __trap(). Ends the launch, not the process.
[[noreturn]] void damo_kernel_trap();
/// A condition of assert() was false. Ends the launch, not the process.
[[noreturn]] void damo_kernel_assert(const char* condition, const char* file, const char* function, unsigned line);
/// Returns when the flag, which another thread of the launch sets behind what it wrote, is not 0. Ends the launch where another thread
/// had to give it up.
void damo_wait_for(const int* flag);
/// printf(), malloc() and free() of a kernel. A format or pointer that faults, or a free() of what malloc() did not give,
/// ends the launch and leaves no lock of the C library held.
int damo_kernel_printf(const char* format, ...);
void* damo_kernel_malloc(std::size_t bytes);
void damo_kernel_free(void* memory);
}

namespace damo::cpu_backend {

class LaunchReport;

/// What malloc() gave kernels of a launch that failed, and that they did not free: on a GPU it goes with the context.
/// Throws std::bad_alloc.
void release_kernel_memory(const LaunchReport& report);

}  // namespace damo::cpu_backend
