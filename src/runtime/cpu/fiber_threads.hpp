// The threads of a block as fibers of Boost.Context, with a stack of 512 KiB each (address space: pages come as
// they are used), which is what CUDA gives a thread of local memory at most. Fibers that have not returned can be given
// up at any time: nothing is unwound.
#pragma once
#include <cstddef>

#include "runtime/cpu/cooperative.hpp"

namespace damo::cpu_backend {

class FiberThreads {
 public:
  FiberThreads(ThreadFunction function, void* const* arguments) : function_(function), arguments_(arguments) {}

  void begin(std::size_t count);
  void start(std::size_t thread, ThreadState& state);
  void resume(std::size_t thread);
  /// Called by the running fiber: back to the scheduler.
  static void wait();
  /// On the thread's own stack: a kernel was left by a jump, and the fiber that ran it, if one did, is not gone back to.
  static void left();

 private:
  ThreadFunction function_;
  void* const* arguments_;
};

}  // namespace damo::cpu_backend
