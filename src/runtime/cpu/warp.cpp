#include "runtime/cpu/warp.hpp"

#include <algorithm>
#include <bit>

namespace damo::cpu_backend {
namespace {

template <class F>
void for_each_lane(std::uint32_t lanes, const F& f) {
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

void shuffle(std::span<ThreadState> lanes, std::uint32_t group) {
  std::uint64_t values[kWarpSize] = {};
  for_each_lane(group, [&](std::size_t lane) { values[lane] = lanes[lane].value; });
  for_each_lane(group, [&](std::size_t lane) {
    const auto source = static_cast<std::uint32_t>(lanes[lane].operand) % kWarpSize;
    // CUDA leaves a read of a lane that takes no part undefined; the own value is what hardware tends to give.
    if (group >> source & 1u) lanes[lane].value = values[source];
  });
}

void give(std::span<ThreadState> lanes, std::uint32_t group, std::uint64_t value) {
  for_each_lane(group, [&](std::size_t lane) { lanes[lane].value = value; });
}

void match(std::span<ThreadState> lanes, std::uint32_t group, bool all) {
  std::uint64_t masks[kWarpSize] = {};
  for_each_lane(group, [&](std::size_t lane) {
    for_each_lane(group, [&](std::size_t other) {
      if (lanes[other].value == lanes[lane].value) masks[lane] |= std::uint64_t{1} << other;
    });
  });
  for_each_lane(group, [&](std::size_t lane) { lanes[lane].value = all && masks[lane] != group ? 0 : masks[lane]; });
}

void finish(Wait kind, std::span<ThreadState> lanes, std::uint32_t group) {
  switch (kind) {
    case Wait::kWarp: break;
    case Wait::kShuffle: shuffle(lanes, group); break;
    case Wait::kMatchAny: match(lanes, group, false); break;
    case Wait::kMatchAll: match(lanes, group, true); break;
    case Wait::kActiveMask: give(lanes, group, group); break;
    case Wait::kBallot: {
      std::uint32_t set = 0;
      for_each_lane(group, [&](std::size_t lane) { set |= (lanes[lane].value != 0 ? 1u : 0u) << lane; });
      give(lanes, group, set);
      break;
    }
    default: {
      auto total = static_cast<std::uint32_t>(lanes[static_cast<std::size_t>(std::countr_zero(group))].value);
      for_each_lane(group & (group - 1), [&](std::size_t lane) { total = combine(kind, total, static_cast<std::uint32_t>(lanes[lane].value)); });
      give(lanes, group, total);
    }
  }
  for_each_lane(group, [&](std::size_t lane) { lanes[lane].kind = Wait::kNothing; });
}

}  // namespace

bool finish_warp_operations(std::span<ThreadState> lanes) {
  std::uint32_t present = 0, arrived = 0;
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    present |= (lanes[lane].kind != Wait::kExited ? 1u : 0u) << lane;
    arrived |= (is_warp_operation(lanes[lane].kind) ? 1u : 0u) << lane;
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
  return any;
}

}  // namespace damo::cpu_backend
