#include "runtime/cpu/fiber_threads.hpp"

#include <sys/mman.h>

#include <boost/context/detail/fcontext.hpp>
#include <utility>
#include <vector>

#include "runtime/cpu/fail.hpp"
#include "runtime/cpu/fiber_stack.hpp"

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
  void* bottom(std::size_t index) {
    while (all_.size() <= index) {
      void* const memory = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (memory == MAP_FAILED) fail("no memory for the stacks of a block's threads", "use smaller blocks");
      mprotect(memory, kGuardBytes, PROT_NONE);
      all_.push_back(memory);
    }
    return static_cast<char*>(all_[index]) + kGuardBytes;
  }

 private:
  std::vector<void*> all_;
};

struct Fiber {
  fcontext_t context = nullptr;
  FiberStack stack = {};
};

struct Fibers {
  Stacks stacks;
  std::vector<Fiber> of_threads;
  Fiber scheduler;           // where the running fiber goes back to
  Fiber* running = nullptr;  // none: the thread itself runs

  /// On the scheduler's stack: runs the fiber until it waits or ends.
  void run(Fiber& fiber, void* data) {
    running = &fiber;
    scheduler.stack.leave_for(fiber.stack);
    fiber.context = jump_fcontext(fiber.context, data).fctx;
    scheduler.stack.arrived_from(fiber.stack);
    running = nullptr;
  }
  /// On a fiber's: back to the scheduler. Returns when the fiber is run again.
  void give_way(bool ends) {
    running->stack.leave_for(scheduler.stack, ends);
    arrive(jump_fcontext(scheduler.context, nullptr));
  }
  void arrive(transfer_t from) {
    scheduler.context = from.fctx;
    running->stack.arrived_from(scheduler.stack);
  }
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
  fibers().arrive(from);
  const Start start = *static_cast<const Start*>(from.data);
  start.function(start.arguments, start.state);
  start.state->kind = Wait::kExited;
  fibers().give_way(true);
}

}  // namespace

void FiberThreads::begin(std::size_t count) {
  Fibers& all = fibers();
  all.running = nullptr;  // the last kernel may have been left from a fiber
  all.scheduler.stack.adopt_thread();
  all.of_threads.resize(count);
}

void FiberThreads::start(std::size_t thread, ThreadState& state) {
  Fibers& all = fibers();
  Start start{function_, arguments_, &state};
  Fiber& fiber = all.of_threads[thread];
  char* const bottom = static_cast<char*>(all.stacks.bottom(thread));
  fiber.stack.begin(bottom, kStackBytes);
  fiber.context = make_fcontext(bottom + kStackBytes, kStackBytes, begin_thread);
  all.run(fiber, &start);
}

void FiberThreads::resume(std::size_t thread) {
  Fibers& all = fibers();
  all.run(all.of_threads[thread], nullptr);
}

void FiberThreads::wait() { fibers().give_way(false); }

void FiberThreads::left() {
  Fibers& all = fibers();
  if (!all.running) return;
  Fiber& fiber = *std::exchange(all.running, nullptr);
  fiber.stack.leave_for(all.scheduler.stack, true);
  all.scheduler.stack.arrived_from(fiber.stack);
}

}  // namespace damo::cpu_backend
