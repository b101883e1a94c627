#include "runtime/cpu/block_regions.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <span>

#include "runtime/cpu/block_barriers.hpp"
#include "runtime/cpu/kernel_guard.hpp"
#include "runtime/cpu/launch_report.hpp"
#include "runtime/cpu/warp.hpp"

namespace damo::cpu_backend {
namespace {

bool is_waiting(std::int32_t next) { return next >= kWaitingRegion && next != kReturned; }

struct Standing {
  std::int32_t lowest = kReturned, highest = -1;  ///< of the threads that could go on
  bool any_waits = false;
};

/// Of each thread once a region: without branches, so that it vectorises.
Standing standing(std::span<const std::int32_t> next) {
  Standing found;
  for (const std::int32_t region : next) {
    const bool could_go = region < kWaitingRegion;
    found.any_waits |= !could_go && region != kReturned;
    found.lowest = std::min(found.lowest, could_go ? region : kReturned);
    found.highest = std::max(found.highest, could_go ? region : -1);
  }
  return found;
}

/// Ends every wait that can end. False if there is none.
bool release(std::span<std::int32_t> next, std::span<ThreadState> states) {
  bool any = false;
  const auto go_on = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (is_waiting(next[i]) && states[i].kind == Wait::kNothing) next[i] -= kWaitingRegion;
    }
  };
  for (std::size_t i = 0; i < next.size(); i += kWarpSize) {
    const std::size_t end = std::min(next.size(), i + kWarpSize);
    for (std::size_t lane = i; lane < end; ++lane) {
      if (!is_waiting(next[lane])) states[lane].kind = next[lane] == kReturned ? Wait::kExited : Wait::kNothing;
    }
    if (std::none_of(next.begin() + static_cast<std::ptrdiff_t>(i), next.begin() + static_cast<std::ptrdiff_t>(end), is_waiting)) continue;
    if (!finish_warp_operations(states.subspan(i, end - i))) continue;
    go_on(i, end);
    any = true;
  }
  if (any || !finish_barriers(states)) return any;
  go_on(0, next.size());
  return true;
}

void report(const ThreadState& block, std::span<ThreadState> states) {
  std::uint32_t at[3] = {0, 0, 0};
  for (ThreadState& state : states) {
    std::copy(at, at + 3, state.thread);
    std::copy(block.block, block.block + 3, state.block);
    for (int axis = 0; axis < 3 && ++at[axis] == block.block_size[axis]; ++axis) at[axis] = 0;
  }
  if (block.frame->report) report_stuck(states, *static_cast<LaunchReport*>(block.frame->report));
}

}  // namespace
}  // namespace damo::cpu_backend

using namespace damo::cpu_backend;

void* damo_block_memory(std::size_t bytes) {
  constexpr std::size_t kAlignment = 64;
  thread_local std::unique_ptr<std::byte[]> memory;
  thread_local std::size_t capacity = 0;
  if (capacity < bytes) {
    memory = std::make_unique_for_overwrite<std::byte[]>(bytes + kAlignment);
    capacity = bytes;
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.get());
  return reinterpret_cast<void*>((begin + kAlignment - 1) / kAlignment * kAlignment);
}

void damo_warp_operation(std::int32_t kind, std::uint64_t* values, const std::int32_t* operands, const std::uint32_t* masks, const std::int32_t* next,
                         std::int64_t threads) {
  for (std::int64_t first = 0; first < threads; first += kWarpSize) {
    const auto lanes = static_cast<std::uint32_t>(std::min<std::int64_t>(kWarpSize, threads - first));
    std::uint32_t present = lanes == kWarpSize ? ~0u : (1u << lanes) - 1u;
    for (std::uint32_t lane = 0; next && lane < lanes; ++lane) {
      if (next[first + lane] == kReturned) present &= ~(1u << lane);
    }
    operate_on_warp(static_cast<Wait>(kind), values + first, operands + first, masks ? masks + first : nullptr, present);
  }
}

std::int32_t damo_next_region(const ThreadState* block, std::int32_t* next, ThreadState* states, std::int64_t threads, std::int32_t first_whole) {
  const std::span all(next, static_cast<std::size_t>(threads));
  for (;;) {
    const Standing now = standing(all);
    if (now.lowest < first_whole || (!now.any_waits && now.lowest == now.highest)) return now.lowest;
    if (now.lowest == kReturned && !now.any_waits) return -1;
    const std::span of_all(states, states ? all.size() : 0);
    if (states && release(all, of_all)) continue;
    if (states) report(*block, of_all);
    return -1;
  }
}
