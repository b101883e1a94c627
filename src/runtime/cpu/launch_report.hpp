// What went wrong while a kernel ran on the CPU. Threads of the pool write it, the launcher throws it.
#pragma once
#include <atomic>
#include <mutex>
#include <string>

namespace damo::cpu_backend {

class LaunchReport {
 public:
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

 private:
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::string what_, remedy_;
};

}  // namespace damo::cpu_backend
