#include "runtime/cpu/block_barriers.hpp"

#include <algorithm>
#include <string>

namespace damo::cpu_backend {
namespace {

bool is_block_barrier(Wait kind) { return kind >= Wait::kBarrier && kind <= Wait::kBarrierOr; }

bool finish_named_barriers(std::span<ThreadState> threads, std::size_t live) {
  bool any = false;
  for (std::int32_t number = 0; number < 16; ++number) {
    const auto stands_here = [&](const ThreadState& s) { return s.kind == Wait::kNamedBarrier && s.operand == number; };
    const auto first = std::find_if(threads.begin(), threads.end(), stands_here);
    if (first == threads.end()) continue;
    const std::size_t wanted = first->value ? first->value : live;
    if (static_cast<std::size_t>(std::count_if(first, threads.end(), stands_here)) < wanted) continue;
    for (ThreadState& state : threads) {
      if (stands_here(state)) state.kind = Wait::kNothing;
    }
    any = true;
  }
  return any;
}

const char* name_of(Wait kind) {
  if (is_block_barrier(kind)) return "at __syncthreads()";
  if (kind == Wait::kNamedBarrier) return "at a named barrier";
  if (kind == Wait::kShuffle) return "in a shuffle (__shfl_*_sync)";
  if (kind == Wait::kWarp) return "at __syncwarp()";
  return "in a vote, match or reduction of its warp";
}

std::string text_of(const std::uint32_t (&place)[3]) {
  return "(" + std::to_string(place[0]) + ", " + std::to_string(place[1]) + ", " + std::to_string(place[2]) + ")";
}

}  // namespace

bool finish_barriers(std::span<ThreadState> threads) {
  std::size_t waiting = 0, live = 0, named = 0, count = 0, set = 0;
  for (const ThreadState& state : threads) {
    live += state.kind != Wait::kExited;
    named += state.kind == Wait::kNamedBarrier;
    if (!is_block_barrier(state.kind)) continue;
    ++waiting;
    if (state.kind == Wait::kBarrier) continue;
    ++count;
    set += state.value != 0;
  }
  if (waiting == 0 || waiting != live) return named > 0 && finish_named_barriers(threads, live);
  for (ThreadState& state : threads) {
    if (state.kind == Wait::kExited) continue;
    state.value = state.kind == Wait::kBarrierCount ? set : state.kind == Wait::kBarrierAnd ? set == count : set > 0;
    state.kind = Wait::kNothing;
  }
  return true;
}

void report_stuck(std::span<const ThreadState> threads, LaunchReport& report) {
  std::string text;
  const ThreadState* shown = nullptr;
  for (const ThreadState& state : threads) {
    if (state.kind == Wait::kExited || state.kind == Wait::kNothing) continue;
    if (shown && shown->kind == state.kind && shown->mask == state.mask) continue;
    if (!shown) text = "block " + text_of(state.block) + ": its threads wait for each other for ever: ";
    text += (shown ? "; thread " : "thread ") + text_of(state.thread) + " waits " + name_of(state.kind);
    if (shown) break;
    shown = &state;
  }
  report.fail(text, "every thread of the block, or every lane of the mask, must reach the same call");
}

}  // namespace damo::cpu_backend
