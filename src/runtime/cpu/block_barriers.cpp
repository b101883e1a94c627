#include "runtime/cpu/block_barriers.hpp"

#include <algorithm>
#include <string>

namespace damo::cpu_backend {
namespace {

bool is_block_barrier(Wait kind) { return kind >= Wait::kBarrier && kind <= Wait::kBarrierOr; }

bool finish_named_barriers(const BlockWaits& waits, std::size_t live) {
  bool any = false;
  for (std::int32_t number = 0; number < 16; ++number) {
    const auto stands_here = [&](std::size_t i) { return waits.kinds[i] == Wait::kNamedBarrier && waits.operands[i] == number; };
    std::size_t first = waits.threads, standing = 0;
    for (std::size_t i = waits.threads; i-- > 0;) {
      if (stands_here(i)) first = i, ++standing;
    }
    if (standing == 0) continue;
    const std::size_t wanted = waits.values[first] ? waits.values[first] : live;
    if (standing < wanted) continue;
    for (std::size_t i = 0; i < waits.threads; ++i) {
      if (stands_here(i)) waits.kinds[i] = Wait::kNothing;
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

bool finish_barriers(const BlockWaits& waits) {
  std::size_t waiting = 0, live = 0, named = 0, count = 0, set = 0;
  for (std::size_t i = 0; i < waits.threads; ++i) {
    const Wait kind = waits.kinds[i];
    live += kind != Wait::kExited;
    named += kind == Wait::kNamedBarrier;
    if (!is_block_barrier(kind)) continue;
    ++waiting;
    if (kind == Wait::kBarrier) continue;
    ++count;
    set += waits.values[i] != 0;
  }
  if (waiting == 0 || waiting != live) return named > 0 && finish_named_barriers(waits, live);
  for (std::size_t i = 0; i < waits.threads; ++i) {
    Wait& kind = waits.kinds[i];
    if (kind == Wait::kExited) continue;
    waits.values[i] = kind == Wait::kBarrierCount ? set : (kind == Wait::kBarrierAnd ? set == count : set > 0);
    kind = Wait::kNothing;
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
