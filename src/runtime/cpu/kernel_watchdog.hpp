// Stops kernels, and compiles, that take longer than a limit. A thread that is started by the first launch with a limit waits for the
// earliest deadline, then asks the workers of that launch to stop, again and again until they have: a worker leaves only
// from compiled code (fault_catcher.hpp). A launch without a limit has nothing to do with all this.
// See tests/runtime/cpu/kernel_time_limit_test.cpp.
#pragma once
#include <pthread.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cpu/fault_catcher.hpp"

namespace damo::cpu_backend {

/// One launch's: from its construction on, seconds are counted.
class LaunchDeadline {
 public:
  explicit LaunchDeadline(double seconds);
  LaunchDeadline(const LaunchDeadline&) = delete;
  LaunchDeadline& operator=(const LaunchDeadline&) = delete;
  ~LaunchDeadline();

  /// The calling thread works for the launch, until leave().
  void enter(FaultCatcher& catcher);
  void leave(FaultCatcher& catcher);
  /// "2 s".
  std::string limit_text() const;

 private:
  friend class Watchdog;
  using Clock = std::chrono::steady_clock;
  double seconds_;
  Clock::time_point end_;
  std::vector<std::pair<pthread_t, FaultCatcher*>> workers_;  // guarded by the watchdog's mutex
};

}  // namespace damo::cpu_backend
