#include "runtime/cpu/fiber_threads.hpp"

#include <sys/mman.h>

#include <boost/context/detail/fcontext.hpp>
#include <vector>

#include "runtime/cpu/fail.hpp"

namespace damo::cpu_backend {
namespace {

// The bare switch and not boost::context::fiber: that one unwinds the stack of a fiber that is given up, and compiled
// code can't be unwound.
using boost::context::detail::fcontext_t;
using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

constexpr std::size_t kStackBytes = 512 << 10, kGuardBytes = 4 << 10;

/// A worker's stacks, kept from block to block. Below each lies a page that can't be touched, while the system gives
/// such pages: a process has some 65000 at most, and beyond that an overflow goes unseen.
class Stacks {
 public:
  ~Stacks() {
    for (void* stack : all_) munmap(stack, kGuardBytes + kStackBytes);
  }
  void* top(std::size_t index) {
    while (all_.size() <= index) {
      void* const memory = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (memory == MAP_FAILED) fail("no memory for the stacks of a block's threads", "use smaller blocks");
      mprotect(memory, kGuardBytes, PROT_NONE);
      all_.push_back(memory);
    }
    return static_cast<char*>(all_[index]) + kGuardBytes + kStackBytes;
  }

 private:
  std::vector<void*> all_;
};

struct Fibers {
  Stacks stacks;
  std::vector<fcontext_t> of_threads;
  fcontext_t scheduler = nullptr;  // where the running fiber goes back to
};

Fibers& fibers() {
  thread_local Fibers fibers;
  return fibers;
}

struct Start {
  ThreadFunction function;
  void* const* arguments;
  ThreadState* state;
};

void begin_thread(transfer_t from) {
  fibers().scheduler = from.fctx;
  const Start start = *static_cast<const Start*>(from.data);
  start.function(start.arguments, start.state);
  start.state->kind = Wait::kExited;
  jump_fcontext(fibers().scheduler, nullptr);
}

}  // namespace

void FiberThreads::begin(std::size_t count) { fibers().of_threads.assign(count, nullptr); }

void FiberThreads::start(std::size_t thread, ThreadState& state) {
  Fibers& all = fibers();
  Start start{function_, arguments_, &state};
  const fcontext_t fiber = make_fcontext(all.stacks.top(thread), kStackBytes, begin_thread);
  all.of_threads[thread] = jump_fcontext(fiber, &start).fctx;
}

void FiberThreads::resume(std::size_t thread) {
  Fibers& all = fibers();
  all.of_threads[thread] = jump_fcontext(all.of_threads[thread], nullptr).fctx;
}

void FiberThreads::wait() {
  const fcontext_t scheduler = fibers().scheduler;
  fibers().scheduler = jump_fcontext(scheduler, nullptr).fctx;
}

}  // namespace damo::cpu_backend
