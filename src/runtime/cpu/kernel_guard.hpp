// Lets a worker leave a kernel that can't go on: compiled code has no destructors to run and no frames to unwind, so a
// jump back to where it was called is all it takes. A kernel is left by itself (assert, __trap, a failed check), by the
// processor (a fault) or by the clock (a time limit); the launch's report says why, with the user's line.
// See tests/runtime/cpu/kernel_fault_test.cpp and kernel_time_limit_test.cpp.
#pragma once
#include <exception>
#include <string>

#include <damo/error.hpp>

#include "runtime/cpu/fault_catcher.hpp"
#include "runtime/cpu/launch_report.hpp"

namespace damo::cpu_backend {

class KernelGuard {
 public:
  /// Calls run(); comes back also when the kernel is left. Calls may nest: leave() ends the innermost.
  template <class F>
  static void call(LaunchReport& report, const F& run) {
    KernelGuard guard(report);
    if (!guard.catcher_.call(run)) guard.tell();
  }

  /// Reports a failure of the kernel that this thread runs, and leaves it.
  [[noreturn]] static void leave(std::string what, std::string remedy);
  /// Leaves it: what was wrong is in the report.
  [[noreturn]] static void leave();
  /// For what compiled code calls: an exception, which compiled frames can't carry, leaves the kernel and is reported.
  template <class F>
  static auto without_exceptions(const F& work) -> decltype(work()) {
    {
      std::string what, remedy;
      try {
        return work();
      } catch (const Error& error) {
        what = error.parts().message, remedy = error.parts().remedy;
      } catch (const std::exception& error) {
        what = std::string("the runtime could not go on: ") + error.what();
      }
      note(what, remedy);
    }
    leave();
  }
  /// Of the kernel that this thread runs; null outside of one.
  static LaunchReport* report();

 private:
  explicit KernelGuard(LaunchReport& report);
  ~KernelGuard();
  KernelGuard(const KernelGuard&) = delete;
  static void note(const std::string& what, const std::string& remedy);
  void tell();

  LaunchReport& report_;
  KernelGuard* outer_;
  FaultCatcher catcher_;
};

}  // namespace damo::cpu_backend
