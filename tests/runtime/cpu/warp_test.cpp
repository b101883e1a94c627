// Operations of a warp, against their definition: for each lane those of the same mask that take part, one after the other.
#include "runtime/cpu/warp.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace damo::cpu_backend {
namespace {

constexpr Wait kOperations[] = {Wait::kShuffle, Wait::kBallot, Wait::kMatchAny, Wait::kMatchAll, Wait::kReduceAdd, Wait::kReduceMin, Wait::kReduceMax,
                                Wait::kReduceSignedMin, Wait::kReduceSignedMax, Wait::kReduceAnd, Wait::kReduceOr, Wait::kReduceXor, Wait::kActiveMask};

struct Lane {
  std::uint64_t value;
  std::int32_t operand;
  std::uint32_t mask;
};

std::uint32_t reduced(Wait kind, std::uint32_t a, std::uint32_t b) {
  const auto x = static_cast<std::int32_t>(a), y = static_cast<std::int32_t>(b);
  if (kind == Wait::kReduceAdd) return a + b;
  if (kind == Wait::kReduceMin) return a < b ? a : b;
  if (kind == Wait::kReduceMax) return a > b ? a : b;
  if (kind == Wait::kReduceSignedMin) return x < y ? a : b;
  if (kind == Wait::kReduceSignedMax) return x > y ? a : b;
  if (kind == Wait::kReduceAnd) return a & b;
  return kind == Wait::kReduceOr ? a | b : a ^ b;
}

std::uint64_t expected(Wait kind, const std::vector<Lane>& warp, std::uint32_t lanes, std::size_t own) {
  std::uint64_t group = 0, equal = 0, set = 0;
  std::uint32_t total = 0;
  for (std::size_t lane = 0; lane < warp.size(); ++lane) {
    if ((lanes >> lane & 1) == 0 || warp[lane].mask != warp[own].mask) continue;
    const auto number = static_cast<std::uint32_t>(warp[lane].value);
    total = group == 0 ? number : reduced(kind, total, number);
    group |= 1ul << lane;
    if (warp[lane].value == warp[own].value) equal |= 1ul << lane;
    if (warp[lane].value != 0) set |= 1ul << lane;
  }
  if (kind == Wait::kActiveMask) return group;
  if (kind == Wait::kBallot) return set;
  if (kind == Wait::kMatchAny) return equal;
  if (kind == Wait::kMatchAll) return equal == group ? group : 0;
  if (kind != Wait::kShuffle) return total;
  const auto source = static_cast<std::size_t>(static_cast<std::uint32_t>(warp[own].operand) % 32);
  return (group >> source & 1) != 0 ? warp[source].value : 0;
}

void expect_operation(Wait kind, const std::vector<Lane>& warp, std::uint32_t lanes, bool is_one) {
  std::uint64_t values[kWarpSize];
  std::int32_t operands[kWarpSize];
  std::uint32_t masks[kWarpSize];
  for (std::size_t lane = 0; lane < warp.size(); ++lane) values[lane] = warp[lane].value, operands[lane] = warp[lane].operand, masks[lane] = warp[lane].mask;
  operate_on_warp(kind, values, operands, is_one ? nullptr : masks, lanes);
  for (std::size_t lane = 0; lane < warp.size(); ++lane) {
    const bool takes_part = (lanes >> lane & 1) != 0;
    ASSERT_EQ(values[lane], takes_part ? expected(kind, warp, lanes, lane) : warp[lane].value)
        << "operation " << static_cast<int>(kind) << ", lane " << lane << " of " << std::hex << lanes;
  }
}

TEST(Warp, GivesEachLaneWhatItsGroupMakes) {
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    const std::uint32_t values = 1 + random() % 40, groups = 1 + random() % (round % 3 == 0 ? 40 : 3);
    const std::uint32_t lanes = round % 2 == 0 ? ~0u : static_cast<std::uint32_t>(random()) | 1u << random() % 32;
    const unsigned moved = round % 5 == 0 ? 32 : 0;  // values that their upper halves alone tell apart
    std::vector<Lane> warp(kWarpSize);
    for (Lane& lane : warp) lane = {static_cast<std::uint64_t>(random() % values * (round % 7 == 0 ? 0x01234567u : 1u)) << moved, static_cast<std::int32_t>(random()), 0x80000000u + static_cast<std::uint32_t>(random() % groups)};
    const bool is_one = random() % 4 == 0;
    if (is_one) std::for_each(warp.begin(), warp.end(), [](Lane& lane) { lane.mask = ~0u; });
    for (const Wait kind : kOperations) ASSERT_NO_FATAL_FAILURE(expect_operation(kind, warp, lanes, is_one)) << "round " << round;
  }
}

/// Lanes that have arrived at various operations, some of which wait for a lane that has not.
TEST(Warp, FinishesTheOperationsAllOfWhoseLanesHaveArrived) {
  std::mt19937 random(11);
  for (int round = 0; round < 3000; ++round) {
    std::vector<ThreadState> states(1 + random() % 32);
    const std::size_t kinds = 1 + random() % 3;
    for (ThreadState& state : states) {
      state = {};
      state.value = random() % 3;
      state.operand = static_cast<std::int32_t>(random() % 32);
    }
    std::uint32_t present = 0;
    std::vector<std::uint32_t> number(states.size());
    for (std::size_t lane = 0; lane < states.size(); ++lane) {
      number[lane] = static_cast<std::uint32_t>(random() % kinds);
      const bool is_gone = random() % 16 == 0, goes_on = random() % 24 == 0;
      states[lane].kind = is_gone ? Wait::kExited : goes_on ? Wait::kNothing
                                                            : kOperations[number[lane] * 4 % 12];
      present |= (is_gone ? 0u : 1u) << lane;
    }
    for (std::size_t lane = 0; lane < states.size(); ++lane) {
      for (std::size_t other = 0; other < states.size(); ++other) states[lane].mask |= (number[other] == number[lane] ? 1u : 0u) << other;
    }
    const std::vector<ThreadState> before = states;
    const bool any = finish_warp_operations(states);
    bool any_expected = false;
    for (std::size_t lane = 0; lane < states.size(); ++lane) {
      const ThreadState& state = before[lane];
      bool is_complete = state.kind != Wait::kExited && state.kind != Wait::kNothing;
      for (std::size_t other = 0; other < states.size(); ++other) is_complete &= (state.mask & present & 1u << other) == 0 || before[other].kind == state.kind;
      any_expected |= is_complete;
      std::vector<Lane> warp;
      for (const ThreadState& one : before) warp.push_back({one.value, one.operand, one.mask});
      EXPECT_EQ(states[lane].kind == Wait::kNothing, is_complete || state.kind == Wait::kNothing) << round << " " << lane;
      EXPECT_EQ(states[lane].value, is_complete ? expected(state.kind, warp, present & state.mask, lane) : state.value) << round << " " << lane;
    }
    ASSERT_EQ(any, any_expected) << round;
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
}

}  // namespace
}  // namespace damo::cpu_backend
