#include "runtime/cpu/kernel_calls.hpp"

#include <chrono>
#include <string>

#include "runtime/cpu/cooperative.hpp"
#include "runtime/cpu/kernel_guard.hpp"

using damo::cpu_backend::KernelGuard;

long long damo_kernel_clock() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void damo_kernel_trap() { KernelGuard::leave("__trap() was called", "look for the condition under which the kernel calls it"); }

void damo_kernel_assert(const char* condition, const char* file, const char* function, unsigned line) {
  KernelGuard::leave(std::string(file) + ":" + std::to_string(line) + ": " + function + ": assertion '" + condition + "' failed", {});
}
