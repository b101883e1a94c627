#include "runtime/cpu/fiber_threads.hpp"

#include <boost/context/fiber.hpp>
#include <boost/context/pooled_fixedsize_stack.hpp>

#include <utility>
#include <vector>

namespace damo::cpu_backend {
namespace {

using Fiber = boost::context::fiber;
constexpr std::size_t kStackBytes = 64 << 10;

struct Fibers {
  std::vector<Fiber> of_threads;
  Fiber* running = nullptr;  // where a fiber goes back to lies in here while it runs
};

Fibers& fibers() {
  thread_local Fibers fibers;
  return fibers;
}

boost::context::pooled_fixedsize_stack& stacks() {
  thread_local boost::context::pooled_fixedsize_stack stacks(kStackBytes);
  return stacks;
}

/// Until it waits or returns.
void run(Fiber& fiber) {
  Fibers& all = fibers();
  all.running = &fiber;
  Fiber rest = std::move(fiber).resume();
  fiber = std::move(rest);
}

}  // namespace

void FiberThreads::begin(std::size_t count) {
  fibers().of_threads.clear();
  fibers().of_threads.resize(count);
}

void FiberThreads::start(std::size_t thread, ThreadState& state) {
  Fiber& fiber = fibers().of_threads[thread];
  fiber = Fiber(std::allocator_arg, stacks(), [this, &state](Fiber&& scheduler) {
    *fibers().running = std::move(scheduler);
    function_(arguments_, &state);
    state.kind = Wait::kExited;
    return std::move(*fibers().running);
  });
  run(fiber);
}

void FiberThreads::resume(std::size_t thread) { run(fibers().of_threads[thread]); }

void FiberThreads::wait() {
  Fiber scheduler = std::move(*fibers().running);
  Fiber back = std::move(scheduler).resume();
  *fibers().running = std::move(back);
}

}  // namespace damo::cpu_backend
