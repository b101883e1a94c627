#include "runtime/cpu/warp.hpp"

#include <algorithm>
#include <bit>

namespace damo::cpu_backend {
namespace {

template <class F>
void for_each_lane(std::uint32_t lanes, const F& f) {
  if (lanes == ~0u) {  // most warps, four times as fast
    for (std::size_t lane = 0; lane < kWarpSize; ++lane) f(lane);
    return;
  }
  for (; lanes != 0; lanes &= lanes - 1) f(static_cast<std::size_t>(std::countr_zero(lanes)));
}

std::uint32_t combine(Wait kind, std::uint32_t a, std::uint32_t b) {
  const auto as_signed = [](std::uint32_t x) { return static_cast<std::int32_t>(x); };
  switch (kind) {
    case Wait::kReduceAdd: return a + b;
    case Wait::kReduceMin: return std::min(a, b);
    case Wait::kReduceMax: return std::max(a, b);
    case Wait::kReduceSignedMin: return as_signed(b) < as_signed(a) ? b : a;
    case Wait::kReduceSignedMax: return as_signed(a) < as_signed(b) ? b : a;
    case Wait::kReduceAnd: return a & b;
    case Wait::kReduceOr: return a | b;
    default: return a ^ b;
  }
}

void shuffle(std::uint64_t* values, const std::int32_t* operands, std::uint32_t lanes) {
  std::uint64_t brought[kWarpSize] = {};
  for_each_lane(lanes, [&](std::size_t lane) { brought[lane] = values[lane]; });
  for_each_lane(lanes, [&](std::size_t lane) {
    const auto source = static_cast<std::uint32_t>(operands[lane]) % kWarpSize;
    // CUDA leaves a read of a lane that takes no part undefined. Hardware gives 0 (seen on an H200), and public sums over
    // fewer lanes than the shuffles span, the CUDA samples' among them, are right only so.
    values[lane] = brought[source];
  });
}

void give(std::uint64_t* values, std::uint32_t lanes, std::uint64_t value) {
  for_each_lane(lanes, [&](std::size_t lane) { values[lane] = value; });
}

void match(std::uint64_t* values, std::uint32_t lanes, bool all) {
  std::uint64_t masks[kWarpSize] = {};
  for_each_lane(lanes, [&](std::size_t lane) {
    for_each_lane(lanes, [&](std::size_t other) {
      if (values[other] == values[lane]) masks[lane] |= std::uint64_t{1} << other;
    });
  });
  for_each_lane(lanes, [&](std::size_t lane) { values[lane] = all && masks[lane] != lanes ? 0 : masks[lane]; });
}

std::uint32_t ballot(const std::uint64_t* values, std::uint32_t lanes) {
  std::uint32_t set = 0;
  for_each_lane(lanes, [&](std::size_t lane) { set |= (values[lane] != 0 ? 1u : 0u) << lane; });
  return set;
}

void finish(Wait kind, std::span<ThreadState> states, std::uint32_t group) {
  std::uint64_t values[kWarpSize] = {};
  std::int32_t operands[kWarpSize] = {};
  for_each_lane(group, [&](std::size_t lane) { values[lane] = states[lane].value, operands[lane] = states[lane].operand; });
  operate_on_warp(kind, values, operands, group);
  for_each_lane(group, [&](std::size_t lane) { states[lane].value = values[lane], states[lane].kind = Wait::kNothing; });
}

/// Lanes that have parted meet again where their ways do if those that are behind go on first, as hardware has it. Unless
/// they wait, in a loop, for one of the others: none is passed over for ever.
bool go_on_in_step(std::span<ThreadState> lanes) {
  constexpr std::int32_t kPatience = 256;  // times; counted in operand
  const ThreadState* next = nullptr;
  for (const ThreadState& lane : lanes) {
    if (lane.kind != Wait::kLockstep) continue;
    if (!next || (next->operand < kPatience && (lane.mask < next->mask || lane.operand >= kPatience))) next = &lane;
  }
  if (!next) return false;
  const std::uint32_t place = next->mask;
  for (ThreadState& lane : lanes) {
    if (lane.kind != Wait::kLockstep) continue;
    lane.operand = lane.mask == place ? 0 : lane.operand + 1;
    if (lane.mask == place) lane.kind = Wait::kNothing;
  }
  return true;
}

}  // namespace

void operate_on_warp(Wait kind, std::uint64_t* values, const std::int32_t* operands, std::uint32_t lanes) {
  switch (kind) {
    case Wait::kWarp: return;
    case Wait::kShuffle: return shuffle(values, operands, lanes);
    case Wait::kMatchAny: return match(values, lanes, false);
    case Wait::kMatchAll: return match(values, lanes, true);
    case Wait::kActiveMask: return give(values, lanes, lanes);
    case Wait::kBallot: return give(values, lanes, ballot(values, lanes));
    default: break;
  }
  auto total = static_cast<std::uint32_t>(values[std::countr_zero(lanes)]);
  for_each_lane(lanes & (lanes - 1), [&](std::size_t lane) { total = combine(kind, total, static_cast<std::uint32_t>(values[lane])); });
  give(values, lanes, total);
}

bool finish_warp_operations(std::span<ThreadState> lanes) {
  std::uint32_t present = 0, arrived = 0;
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    present |= (lanes[lane].kind != Wait::kExited ? 1u : 0u) << lane;
    arrived |= (is_warp_operation(lanes[lane].kind) && lanes[lane].kind != Wait::kLockstep ? 1u : 0u) << lane;
  }
  bool any = false;
  while (arrived != 0) {
    const ThreadState& first = lanes[static_cast<std::size_t>(std::countr_zero(arrived))];
    const Wait kind = first.kind;
    const std::uint32_t mask = first.mask;
    std::uint32_t group = 0;
    for_each_lane(arrived, [&](std::size_t lane) {
      if (lanes[lane].kind == kind && lanes[lane].mask == mask) group |= 1u << lane;
    });
    arrived &= ~group;
    const std::uint32_t wanted = kind == Wait::kActiveMask ? group : (mask & present);
    if ((group & wanted) != wanted || wanted == 0) continue;
    finish(kind, lanes, group);
    any = true;
  }
  return any || go_on_in_step(lanes);
}

}  // namespace damo::cpu_backend
