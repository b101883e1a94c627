#include "runtime/memory/fork_safe_mutex.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>

#include <damo/device.hpp>

#include "runtime/memory/memory_pool.hpp"
#include "support/host_backend.hpp"
#include "support/scratch_directory.hpp"

namespace damo {
namespace {

/// Calls work() again and again on another thread, and meanwhile forks children that call it once.
template <class Work>
void expect_children_that_can(Work work) {
  std::atomic<bool> ends = false;
  std::thread other([&] {
    while (!ends) work();
  });
  for (int i = 0; i < 100; ++i) {
    const int how = damo::testing::in_child([&] {
      alarm(20);  // a child that waits for ever ends here
      work();
      return 0;
    });
    EXPECT_EQ(how, 0) << "child " << i;
    if (how != 0) break;
  }
  ends = true;
  other.join();
}

TEST(ForkSafeMutex, IsOpenInAChildWhateverOtherThreadsHeld) {
  ForkSafeMutex first, second;
  expect_children_that_can([&] {
    for (ForkSafeMutex* const mutex : {&first, &second}) {
      const std::lock_guard lock(*mutex);
      for (std::atomic<int> i = 0; i < 1000; ++i) {
      }
    }
  });
}

TEST(ForkSafeMutex, LetsAChildAllocateWhereAnotherThreadAllocated) {
  testing::HostBackend backend;
  expect_children_that_can([&] { backend.pool().release(backend.pool().allocate(1000), 1000); });
}

TEST(ForkSafeMutex, LetsAChildAskForADeviceWhereAnotherThreadAsked) {
  static_cast<void>(Device("null"));  // it is there
  expect_children_that_can([] {
    for (int i = 0; i < 100; ++i) static_cast<void>(Device("null"));
  });
}

}  // namespace
}  // namespace damo
