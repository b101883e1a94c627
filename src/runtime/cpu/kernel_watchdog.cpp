#include "runtime/cpu/kernel_watchdog.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

namespace damo::cpu_backend {

class Watchdog {
 public:
  /// Never destroyed: launches may run while the process ends. A child of fork() gets one of its own, as the thread is its
  /// parent's.
  static Watchdog& instance() {
    static std::once_flag once;
    std::call_once(once, [] {
      current_ = new Watchdog;
      pthread_atfork(nullptr, nullptr, [] { current_ = new Watchdog; });
    });
    return *current_;
  }

  void add(LaunchDeadline& launch) {
    {
      const std::lock_guard lock(mutex_);
      launches_.push_back(&launch);
      if (!is_started_) std::thread([this] { watch(); }).detach();
      is_started_ = true;
    }
    changed_.notify_one();
  }

  void remove(LaunchDeadline& launch) {
    const std::lock_guard lock(mutex_);
    std::erase(launches_, &launch);
  }

  void enter(LaunchDeadline& launch, FaultCatcher& catcher) {
    FaultCatcher::allow_stops();
    const std::lock_guard lock(mutex_);
    launch.workers_.emplace_back(pthread_self(), &catcher);
  }

  void leave(LaunchDeadline& launch, FaultCatcher& catcher) {
    const std::lock_guard lock(mutex_);
    std::erase_if(launch.workers_, [&](const auto& worker) { return worker.second == &catcher; });
  }

 private:
  using Clock = std::chrono::steady_clock;

  [[noreturn]] void watch() {
    std::unique_lock lock(mutex_);
    for (;;) {
      Clock::time_point next = Clock::time_point::max();
      const Clock::time_point now = Clock::now();
      for (LaunchDeadline* launch : launches_) {
        if (launch->end_ <= now) stop(*launch);
        next = std::min(next, std::max(launch->end_, now + std::chrono::milliseconds(1)));
      }
      if (launches_.empty()) changed_.wait(lock);
      else changed_.wait_until(lock, next);
    }
  }

  /// A worker in the list is alive, as it takes itself off.
  static void stop(LaunchDeadline& launch) {
    for (auto& [thread, catcher] : launch.workers_) {
      if (catcher->ask_to_stop()) pthread_kill(thread, FaultCatcher::stop_signal());
    }
  }

  inline static Watchdog* current_ = nullptr;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<LaunchDeadline*> launches_;
  bool is_started_ = false;
};

LaunchDeadline::LaunchDeadline(double seconds)
    : seconds_(seconds), end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(seconds, 1e9)))) {
  Watchdog::instance().add(*this);
}

LaunchDeadline::~LaunchDeadline() { Watchdog::instance().remove(*this); }
void LaunchDeadline::enter(FaultCatcher& catcher) { Watchdog::instance().enter(*this, catcher); }
void LaunchDeadline::leave(FaultCatcher& catcher) { Watchdog::instance().leave(*this, catcher); }

std::string LaunchDeadline::limit_text() const {
  char text[32];
  std::snprintf(text, sizeof text, "%g s", seconds_);
  return text;
}

}  // namespace damo::cpu_backend
