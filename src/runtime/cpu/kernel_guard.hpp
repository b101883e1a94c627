// Lets a worker leave a kernel that can't go on: compiled code has no destructors to run and no frames to unwind, so a
// jump back to where it was called is all it takes.
#pragma once
#include <csetjmp>
#include <string>

#include "runtime/cpu/launch_report.hpp"

namespace damo::cpu_backend {

class KernelGuard {
 public:
  /// Calls run(); comes back also when leave() was called in it. Such calls don't nest.
  template <class F>
  static void call(LaunchReport& report, const F& run) {
    KernelGuard guard(report);
    if (sigsetjmp(guard.back_, 0) == 0) run();
  }

  /// Reports a failure of the kernel that this thread runs, and leaves it.
  [[noreturn]] static void leave(std::string what, std::string remedy);

 private:
  explicit KernelGuard(LaunchReport& report) : report_(report), outer_(current_) { current_ = this; }
  ~KernelGuard() { current_ = outer_; }
  KernelGuard(const KernelGuard&) = delete;

  static thread_local KernelGuard* current_;
  LaunchReport& report_;
  KernelGuard* outer_;
  sigjmp_buf back_;
};

}  // namespace damo::cpu_backend
