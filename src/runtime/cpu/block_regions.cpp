#include "runtime/cpu/block_regions.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "runtime/cpu/block_barriers.hpp"
#include "runtime/cpu/kernel_guard.hpp"
#include "runtime/cpu/launch_report.hpp"
#include "runtime/cpu/warp.hpp"

namespace damo::cpu_backend {
namespace {

// Which threads wait, and where, is anybody's guess: asked by branches it costs a misprediction a thread. So it is asked by masks,
// all bits or none, which compilers make no branches of.
constexpr std::int32_t mask_if(bool is) { return -static_cast<std::int32_t>(is); }

std::int32_t is_waiting(std::int32_t next) { return mask_if(static_cast<std::uint32_t>(next - kWaitingRegion) < static_cast<std::uint32_t>(kReturned - kWaitingRegion)); }

struct Standing {
  std::int32_t lowest = kReturned, highest = -1;  ///< of the threads that could go on
  bool any_waits = false;
};

/// Of each thread once a region.
Standing standing(std::span<const std::int32_t> next) {
  using Four = std::int32_t __attribute__((vector_size(16)));
  const Four returned = Four{} + kReturned;
  Four lowest = returned, highest = Four{} - 1, waits = {};
  const auto look_at = [&](Four region) {
    const Four could_go = region < kWaitingRegion, low = (region & could_go) | (returned & ~could_go), high = region | ~could_go;
    waits |= ~could_go & (region != kReturned);
    lowest = low < lowest ? low : lowest;
    highest = high > highest ? high : highest;
  };
  Four region = returned;
  for (std::size_t rest = next.size() / 4 * 4; rest < next.size(); ++rest) region[rest % 4] = next[rest];
  look_at(region);
  for (std::size_t i = 0; i + 4 <= next.size(); i += 4) {
    std::memcpy(&region, next.data() + i, sizeof region);
    look_at(region);
  }
  return {std::min({lowest[0], lowest[1], lowest[2], lowest[3]}), std::max({highest[0], highest[1], highest[2], highest[3]}),
          (waits[0] | waits[1] | waits[2] | waits[3]) != 0};
}

/// Threads that do not wait have nothing to wait for, or have exited. True if any waits.
bool settle_kinds(const std::int32_t* next, Wait* kinds) {
  constexpr auto kNothing = static_cast<std::int32_t>(Wait::kNothing), kExited = static_cast<std::int32_t>(Wait::kExited);
  std::int32_t any_waits = 0;
  for (std::size_t lane = 0; lane < kWarpSize; ++lane) {
    const std::int32_t waits = is_waiting(next[lane]), idle = kNothing ^ ((kNothing ^ kExited) & mask_if(next[lane] == kReturned));
    kinds[lane] = static_cast<Wait>((static_cast<std::int32_t>(kinds[lane]) & waits) | (idle & ~waits));
    any_waits |= waits;
  }
  return any_waits != 0;
}

/// Those whose wait has ended may go on.
void go_on(std::int32_t* next, const Wait* kinds) {
  for (std::size_t lane = 0; lane < kWarpSize; ++lane) next[lane] -= kWaitingRegion & is_waiting(next[lane]) & mask_if(kinds[lane] == Wait::kNothing);
}

/// Ends every wait that can end. False if there is none. waits: of all the block's threads.
bool release(std::span<std::int32_t> next, const WarpWaits& waits) {
  bool any = false;
  for (std::size_t i = 0; i < next.size(); i += kWarpSize) {
    for (std::size_t missing = next.size(); missing < i + kWarpSize; ++missing) next.data()[missing] = kReturned;  // of the last warp
    if (!settle_kinds(next.data() + i, waits.kinds + i) || !finish_warp_operations({waits.kinds + i, waits.masks + i, waits.values + i, waits.operands + i})) continue;
    go_on(next.data() + i, waits.kinds + i);
    any = true;
  }
  if (any || !finish_barriers(BlockWaits(waits.kinds, waits.values, waits.operands, next.size()))) return any;
  for (std::size_t i = 0; i < next.size(); i += kWarpSize) go_on(next.data() + i, waits.kinds + i);
  return true;
}

void report(const ThreadState& block, const WarpWaits& waits, std::size_t threads) {
  if (!block.frame->report) return;
  std::vector<ThreadState> states(threads, block);
  std::uint32_t at[3] = {0, 0, 0};
  for (std::size_t i = 0; i < threads; ++i) {
    std::copy(at, at + 3, states[i].thread);
    states[i].kind = waits.kinds[i], states[i].mask = waits.masks[i], states[i].value = waits.values[i], states[i].operand = waits.operands[i];
    for (int axis = 0; axis < 3 && ++at[axis] == block.block_size[axis]; ++axis) at[axis] = 0;
  }
  report_stuck(states, *static_cast<LaunchReport*>(block.frame->report));
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
      if (next[first + lane] == kReturned) present &= ~(1u << lane);  // few have, so the branch is foreseen
    }
    operate_on_warp(static_cast<Wait>(kind), values + first, operands + first, masks ? masks + first : nullptr, present);
  }
}

std::int32_t damo_next_region(const ThreadState* block, std::int32_t* next, Wait* kinds, const std::uint32_t* masks, std::uint64_t* values, std::int32_t* operands,
                              std::int64_t threads, std::int32_t first_whole) {
  const std::span all(next, static_cast<std::size_t>(threads));
  for (;;) {
    const Standing now = standing(all);
    if (now.lowest < first_whole || (!now.any_waits && now.lowest == now.highest)) return now.lowest;
    if ((now.lowest == kReturned && !now.any_waits) || !kinds) return -1;
    const WarpWaits waits{kinds, masks, values, operands};
    if (release(all, waits)) continue;
    report(*block, waits, all.size());
    return -1;
  }
}
