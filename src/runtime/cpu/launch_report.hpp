// What went wrong while a kernel ran on the CPU. Threads of the pool write it, the launcher throws it.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace damo::cpu_backend {

class LoadedObject;
class LaunchDeadline;  // kernel_watchdog.hpp
class LaunchCheck;     // launch_check.hpp

class LaunchReport {
 public:
  LaunchReport() = default;
  explicit LaunchReport(const LoadedObject* object) : object(object) {}

  /// The first failure of a launch is kept. remedy may be empty.
  void fail(std::string what, std::string remedy) {
    const std::lock_guard lock(mutex_);
    if (failed_) return;
    what_ = std::move(what);
    remedy_ = std::move(remedy);
    failed_ = true;
  }
  bool failed() const { return failed_; }
  const std::string& what() const { return what_; }
  const std::string& remedy() const { return remedy_; }

  const LoadedObject* object = nullptr;  ///< whose code runs: for the lines of faults; may be null
  LaunchDeadline* deadline = nullptr;    ///< of a launch with a time limit
  LaunchCheck* check = nullptr;          ///< of a checked kernel
  std::atomic<std::uint64_t> heap_number = 0;  ///< of what its kernels allocated (kernel_calls.cpp); 0: nothing

 private:
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::string what_, remedy_;
};

}  // namespace damo::cpu_backend
