#include "runtime/cpu/cooperative.hpp"

#include <algorithm>

#include "runtime/cpu/block_barriers.hpp"
#include "runtime/cpu/check_calls.hpp"
#include "runtime/cpu/check_lanes.hpp"
#include "runtime/cpu/coroutine_threads.hpp"
#include "runtime/cpu/fiber_threads.hpp"
#include "runtime/cpu/kernel_guard.hpp"
#include "runtime/cpu/launch_report.hpp"
#include "runtime/cpu/warp.hpp"

namespace damo::cpu_backend {
namespace {

thread_local ThreadState* current_thread = nullptr;

std::string place_text(const std::uint32_t (&v)[3]) {
  return "(" + std::to_string(v[0]) + ", " + std::to_string(v[1]) + ", " + std::to_string(v[2]) + ")";
}

/// One block at a time. Threads: CoroutineThreads or FiberThreads.
template <class Threads>
class Block {
 public:
  Block(Threads& threads, std::vector<ThreadState>& states, const LaunchFrame& frame) : threads_(threads), states_(states), frame_(frame) {
    states_.resize(std::size_t{frame.block[0]} * frame.block[1] * frame.block[2]);
    std::size_t at = 0;
    for (std::uint32_t z = 0; z < frame.block[2]; ++z) {
      for (std::uint32_t y = 0; y < frame.block[1]; ++y) {
        for (std::uint32_t x = 0; x < frame.block[0]; ++x) {
          ThreadState& state = states_[at++];
          state = ThreadState{{x, y, z}, {}, {}, {}, &frame, Wait::kNothing, 0, 0, 0, 0};
          for (int axis = 0; axis < 3; ++axis) {
            state.block_size[axis] = frame.block[axis];
            state.grid_size[axis] = frame.grid[axis];
          }
        }
      }
    }
  }

  /// False: its threads can't go on, as report() says.
  bool run(std::int64_t block) {
    const std::uint32_t place[3] = {static_cast<std::uint32_t>(block % frame_.grid[0]),
                                    static_cast<std::uint32_t>(block / frame_.grid[0] % frame_.grid[1]),
                                    static_cast<std::uint32_t>(block / frame_.grid[0] / frame_.grid[1])};
    for (ThreadState& state : states_) std::copy(place, place + 3, state.block);
    begin_checked_block(frame_);
    threads_.begin(states_.size());
    for (std::size_t i = 0; i < states_.size(); ++i) {
      current_thread = &states_[i];
      states_[i].kind = Wait::kNothing;
      threads_.start(i, states_[i]);
    }
    for (;;) {
      bool any = false;
      for (std::size_t i = 0; i < states_.size(); i += kWarpSize) any |= run_warp(i);
      any |= finish_barriers(BlockWaits(states_));
      if (any) continue;
      const bool done = std::all_of(states_.begin(), states_.end(), [](const ThreadState& s) { return s.kind == Wait::kExited; });
      if (!done) report();
      return done;
    }
  }

 private:
  /// Runs the warp's threads until all of them wait for the block or have exited, or for so long that they may be waiting
  /// in a loop for what another warp does. True if any ran.
  bool run_warp(std::size_t first) {
    constexpr int kRounds = 1024;
    const std::span<ThreadState> lanes = std::span(states_).subspan(first, std::min<std::size_t>(kWarpSize, states_.size() - first));
    bool any = false;
    for (int round = 0;; ++round) {
      bool in_warp = false;
      for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
        if (lanes[lane].kind == Wait::kNothing) {
          current_thread = &lanes[lane];
          threads_.resume(first + lane);
          any = true;
        }
        in_warp |= is_warp_operation(lanes[lane].kind);
      }
      if (is_checked_ && !are_lanes_there(lanes, *static_cast<LaunchReport*>(frame_.report))) KernelGuard::leave();
      if (!in_warp || !finish_warp_operations(lanes)) return any;
      if (round == kRounds) return true;
      any = true;
    }
  }

  void report() const {
    if (frame_.report) report_stuck(states_, *static_cast<LaunchReport*>(frame_.report));
  }

  Threads& threads_;
  std::vector<ThreadState>& states_;
  const LaunchFrame& frame_;
  const bool is_checked_ = frame_.report && static_cast<const LaunchReport*>(frame_.report)->check;
};

/// Threads that never wait, one after the other: of checked kernels, where each must be known by its number.
struct SerialThreads {
  ThreadFunction function;
  void* const* arguments;
  void begin(std::size_t) {}
  void start(std::size_t, ThreadState& state) {
    function(arguments, &state);
    state.kind = Wait::kExited;
  }
  void resume(std::size_t) {}
};

template <class Threads>
void run_blocks(Threads threads, const LaunchFrame& frame, std::int64_t first, std::int64_t last) {
  thread_local std::vector<ThreadState> states;
  Block<Threads> block(threads, states, frame);
  for (std::int64_t i = first; i < last; ++i) {
    if (!block.run(i)) break;
  }
  current_thread = nullptr;
}

}  // namespace

std::string running_thread_text() {
  if (!current_thread) return {};
  return ", block " + place_text(current_thread->block) + ", thread " + place_text(current_thread->thread);
}

}  // namespace damo::cpu_backend

using namespace damo::cpu_backend;

void damo_run_coroutines(CoroutineStart start, void* const* arguments, const LaunchFrame* frame, std::int64_t first, std::int64_t last) {
  run_blocks(CoroutineThreads(start, arguments), *frame, first, last);
}

void damo_run_threads(ThreadFunction thread, void* const* arguments, const LaunchFrame* frame, std::int64_t first, std::int64_t last) {
  run_blocks(SerialThreads{thread, arguments}, *frame, first, last);
}

void damo_run_fibers(ThreadFunction thread, void* const* arguments, const LaunchFrame* frame, std::int64_t first, std::int64_t last) {
  run_blocks(FiberThreads(thread, arguments), *frame, first, last);
}

void* damo_coroutine_memory(std::size_t bytes) { return CoroutineThreads::memory(bytes); }

std::uint64_t damo_wait_on_fiber(std::int32_t kind, std::uint32_t mask, std::uint64_t value, std::int32_t operand) {
  ThreadState* const state = current_thread;
  state->kind = static_cast<Wait>(kind);
  state->mask = mask;
  state->value = value;
  state->operand = operand;
  state->place = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)));
  FiberThreads::wait();
  return state->value;
}

ThreadState* damo_current_thread() { return current_thread; }
void damo_enter_thread(ThreadState* state) { current_thread = state; }
