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

/// Which lanes have the same key: for each lane all of them, for each first of them true in .firsts.
class EqualLanes {
 public:
  /// same(a, b): whether two lanes' keys are equal; hash(lane): of equal keys equal.
  template <class Hash, class Same>
  EqualLanes(std::uint32_t lanes, const Hash& hash, const Same& same) {
    constexpr std::uint8_t kFree = kWarpSize;
    constexpr std::size_t kPlaces = 2 * kWarpSize;
    std::uint8_t table[kPlaces];
    std::fill_n(table, kPlaces, kFree);
    for_each_lane(lanes, [&](std::size_t lane) {
      std::size_t place = (hash(lane) * 0x9e3779b97f4a7c15u) >> 58;  // Fibonacci hashing: the product's upper bits
      while (table[place] != kFree && !same(table[place], lane)) place = (place + 1) % kPlaces;
      if (table[place] == kFree) {
        table[place] = static_cast<std::uint8_t>(lane);
        firsts |= 1u << lane;
        members_[lane] = 0;
      }
      first_[lane] = table[place];
      members_[first_[lane]] |= 1u << lane;
    });
  }
  std::uint32_t of(std::size_t lane) const { return members_[first_[lane]]; }

  std::uint32_t firsts = 0;

 private:
  std::uint8_t first_[kWarpSize];
  std::uint32_t members_[kWarpSize];
};

void shuffle(std::uint64_t* values, const std::int32_t* operands, const std::uint32_t* masks, std::uint32_t lanes) {
  // CUDA leaves a read of a lane that takes no part undefined. Hardware gives 0 (seen on an H200), and public sums over
  // fewer lanes than the shuffles span, the CUDA samples' among them, are right only so.
  std::uint64_t brought[kWarpSize];
  for (std::size_t lane = 0; lane < kWarpSize; ++lane) brought[lane] = (lanes >> lane & 1) != 0 ? values[lane] : 0;
  for_each_lane(lanes, [&](std::size_t lane) {
    const auto source = static_cast<std::uint32_t>(operands[lane]) % kWarpSize;
    values[lane] = !masks || masks[source] == masks[lane] ? brought[source] : 0;
  });
}

void match(std::uint64_t* values, const std::uint32_t* masks, std::uint32_t lanes) {
  const auto mask = [&](std::size_t lane) { return masks ? masks[lane] : 0; };
  const EqualLanes equal(
      lanes, [&](std::size_t lane) { return values[lane] ^ mask(lane); },
      [&](std::size_t a, std::size_t b) { return values[a] == values[b] && mask(a) == mask(b); });
  for_each_lane(lanes, [&](std::size_t lane) { values[lane] = equal.of(lane); });
}

bool match_all(const std::uint64_t* values, std::uint32_t lanes) {
  const std::uint64_t value = values[std::countr_zero(lanes)];
  bool all = true;
  for_each_lane(lanes, [&](std::size_t lane) { all &= values[lane] == value; });
  return all;
}

std::uint32_t ballot(const std::uint64_t* values, std::uint32_t lanes) {
  std::uint32_t set = 0;
  for_each_lane(lanes, [&](std::size_t lane) { set |= (values[lane] != 0 ? 1u : 0u) << lane; });
  return set;
}

/// What all of lanes get.
std::uint64_t common_result(Wait kind, const std::uint64_t* values, std::uint32_t lanes) {
  if (kind == Wait::kActiveMask) return lanes;
  if (kind == Wait::kBallot) return ballot(values, lanes);
  if (kind == Wait::kMatchAll) return match_all(values, lanes) ? lanes : 0;
  auto total = static_cast<std::uint32_t>(values[std::countr_zero(lanes)]);
  for_each_lane(lanes & (lanes - 1), [&](std::size_t lane) { total = combine(kind, total, static_cast<std::uint32_t>(values[lane])); });
  return total;
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

void operate_on_warp(Wait kind, std::uint64_t* values, const std::int32_t* operands, const std::uint32_t* masks, std::uint32_t lanes) {
  if (kind == Wait::kWarp || lanes == 0) return;
  if (kind == Wait::kShuffle) return shuffle(values, operands, masks, lanes);
  if (kind == Wait::kMatchAny) return match(values, masks, lanes);
  const auto give = [&](std::uint32_t group) {
    const std::uint64_t result = common_result(kind, values, group);
    for_each_lane(group, [&](std::size_t lane) { values[lane] = result; });
  };
  if (!masks) return give(lanes);
  const EqualLanes groups(
      lanes, [&](std::size_t lane) { return std::uint64_t{masks[lane]}; }, [&](std::size_t a, std::size_t b) { return masks[a] == masks[b]; });
  for_each_lane(groups.firsts, [&](std::size_t first) { give(groups.of(first)); });
}

bool finish_warp_operations(std::span<ThreadState> lanes) {
  std::uint64_t values[kWarpSize] = {};
  std::int32_t operands[kWarpSize] = {};
  std::uint32_t masks[kWarpSize] = {}, present = 0, arrived = 0;
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {  // without branches: which lanes wait is anybody's guess
    const ThreadState& state = lanes[lane];
    present |= (state.kind != Wait::kExited ? 1u : 0u) << lane;
    arrived |= (is_warp_operation(state.kind) & (state.kind != Wait::kLockstep) ? 1u : 0u) << lane;
    values[lane] = state.value, operands[lane] = state.operand, masks[lane] = state.mask;
  }
  if (arrived == 0) return go_on_in_step(lanes);
  std::uint32_t complete = 0;
  const auto find_complete = [&](std::uint32_t group) {
    const auto first = static_cast<std::size_t>(std::countr_zero(group));
    const std::uint32_t wanted = lanes[first].kind == Wait::kActiveMask ? group : masks[first] & present;
    if ((group & wanted) == wanted && wanted != 0) complete |= group;
  };
  const auto same = [&](std::size_t a, std::size_t b) { return (lanes[a].kind == lanes[b].kind) & (masks[a] == masks[b]); };
  std::uint32_t others = 0;
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) others |= (same(lane, static_cast<std::size_t>(std::countr_zero(arrived))) ? 0u : 1u) << lane;
  if ((others & arrived) == 0) {
    find_complete(arrived);
  } else {
    const EqualLanes operations(arrived, [&](std::size_t lane) { return std::uint64_t{masks[lane]} << 8 ^ static_cast<std::uint64_t>(lanes[lane].kind); }, same);
    for_each_lane(operations.firsts, [&](std::size_t first) { find_complete(operations.of(first)); });
  }
  const bool any = complete != 0;
  while (complete != 0) {
    const Wait kind = lanes[static_cast<std::size_t>(std::countr_zero(complete))].kind;
    std::uint32_t alike = 0;
    for_each_lane(complete, [&](std::size_t lane) { alike |= (lanes[lane].kind == kind ? 1u : 0u) << lane; });
    operate_on_warp(kind, values, operands, masks, alike);
    for_each_lane(alike, [&](std::size_t lane) { lanes[lane].value = values[lane], lanes[lane].kind = Wait::kNothing; });
    complete &= ~alike;
  }
  return any || go_on_in_step(lanes);
}

}  // namespace damo::cpu_backend
