// What a CUDA C kernel calls of the host while it runs on the CPU: its clock, and the ends of a kernel that gives up.
#pragma once

extern "C" {
/// Nanoseconds of the machine's steady clock.
long long damo_kernel_clock();
/// __trap(). Ends the launch, not the process.
[[noreturn]] void damo_kernel_trap();
/// A condition of assert() was false. Ends the launch, not the process.
[[noreturn]] void damo_kernel_assert(const char* condition, const char* file, const char* function, unsigned line);
}
