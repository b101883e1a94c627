// Lets a worker leave a kernel that can't go on: compiled code has no destructors to run and no frames to unwind, so a
// jump back to where it was called is all it takes. A kernel is left by itself (assert, __trap, a failed check), by the
// processor (a fault) or by the clock (a time limit); the launch's report says why, with the user's line.
// See tests/runtime/cpu/kernel_fault_test.cpp and kernel_time_limit_test.cpp.
#pragma once
#include <exception>
#include <string>

#include "runtime/cpu/fault_catcher.hpp"
#include "runtime/cpu/launch_report.hpp"

namespace damo::cpu_backend {

class KernelGuard {
 public:
  /// Calls run(); comes back also when the kernel is left, or throws what leave_with() was given. Calls may nest: leave() ends the innermost.
  template <class F>
  static void call(LaunchReport& report, const F& run) {
    KernelGuard guard(report);
    if (!guard.catcher_.call(run)) guard.tell();
  }

  /// Reports a failure of the kernel that this thread runs, and leaves it.
  [[noreturn]] static void leave(std::string what, std::string remedy);
  /// Leaves it: what was wrong is in the report.
  [[noreturn]] static void leave();
  /// Leaves it with what a function that it called threw, which can't cross the kernel's frames: call() throws it.
  [[noreturn]] static void leave_with(std::exception_ptr error);
  /// Of the kernel that this thread runs; null outside of one.
  static LaunchReport* report();

 private:
  explicit KernelGuard(LaunchReport& report);
  ~KernelGuard();
  KernelGuard(const KernelGuard&) = delete;
  void tell();

  LaunchReport& report_;
  KernelGuard* outer_;
  FaultCatcher catcher_;
  std::exception_ptr thrown_;
};

}  // namespace damo::cpu_backend
