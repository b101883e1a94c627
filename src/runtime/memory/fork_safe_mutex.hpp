// ForkSafeMutex: a lock that a child of fork() finds open. A child has the one thread that forked, and a plain mutex that another
// thread held at that moment stays closed in it for ever. fork() waits until nobody holds any of these.
//
// For locks that are held shortly, and under which no other lock of Damo's is taken: then fork() may take them all, in any
// order. See tests/runtime/memory/fork_safe_mutex_test.cpp.
#pragma once
#include <mutex>

namespace damo {

class ForkSafeMutex {
 public:
  /// Throws std::bad_alloc.
  ForkSafeMutex();
  ~ForkSafeMutex();
  ForkSafeMutex(const ForkSafeMutex&) = delete;
  ForkSafeMutex& operator=(const ForkSafeMutex&) = delete;

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

}  // namespace damo
