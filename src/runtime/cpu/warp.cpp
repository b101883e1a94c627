#include "runtime/cpu/warp.hpp"

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "runtime/cpu/isa_level.hpp"

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

/// Of a lane among lanes the one, of another the other: compilers make no branch of it, which nobody could foresee.
template <class Number>
Number chosen(std::uint32_t lanes, std::size_t lane, Number among, Number other) {
  const Number mask = Number{0} - (lanes >> lane & 1);
  return (among & mask) | (other & ~mask);
}

/// use(both, neutral): with what a reduction makes of two numbers, and the number that changes none.
template <class Use>
void with_reduction(Wait kind, const Use& use) {
  using Number = std::uint32_t;
  const auto as_signed = [](Number x) { return static_cast<std::int32_t>(x); };
  switch (kind) {
    case Wait::kReduceAdd: return use([](Number a, Number b) { return a + b; }, Number{0});
    case Wait::kReduceMin: return use([](Number a, Number b) { return std::min(a, b); }, ~Number{0});
    case Wait::kReduceMax: return use([](Number a, Number b) { return std::max(a, b); }, Number{0});
    case Wait::kReduceSignedMin: return use([=](Number a, Number b) { return as_signed(b) < as_signed(a) ? b : a; }, Number{0x7fffffff});
    case Wait::kReduceSignedMax: return use([=](Number a, Number b) { return as_signed(a) < as_signed(b) ? b : a; }, Number{0x80000000});
    case Wait::kReduceAnd: return use([](Number a, Number b) { return a & b; }, ~Number{0});
    case Wait::kReduceOr: return use([](Number a, Number b) { return a | b; }, Number{0});
    default: return use([](Number a, Number b) { return a ^ b; }, Number{0});
  }
}

/// Lanes of whose numbers is(four numbers) is true: a GCC vector's comparison.
template <class Is>
std::uint32_t lanes_where(const void* numbers, const Is& is) {
  using Four = std::uint32_t __attribute__((vector_size(16)));
  const auto four = [&](int i) {
    Four own;
    std::memcpy(&own, static_cast<const Four*>(numbers) + i, sizeof own);
    return reinterpret_cast<__m128i>(is(own));
  };
  const auto half = [&](int i) { return _mm_movemask_epi8(_mm_packs_epi16(_mm_packs_epi32(four(i), four(i + 1)), _mm_packs_epi32(four(i + 2), four(i + 3)))); };
  return static_cast<std::uint32_t>(half(0) | half(4) << 16);
}

std::uint32_t lanes_with(const std::uint32_t* numbers, std::uint32_t number) {
  return lanes_where(numbers, [=](auto own) { return own == number; });
}

std::uint32_t number_of(Wait kind) { return static_cast<std::uint32_t>(kind); }

using Rows = void (*)(const std::uint32_t* numbers, std::uint32_t* rows);

// Of each lane the lanes whose number is the same. Each is compared with all: how many unlike numbers there are would cost a misprediction
// each. 48, 28 and 20 ns on an AMD EPYC of 2024.
void rows_of_sse2(const std::uint32_t* numbers, std::uint32_t* rows) {
  for (std::size_t lane = 0; lane < kWarpSize; ++lane) rows[lane] = lanes_with(numbers, numbers[lane]);
}

__attribute__((target("avx2"))) void rows_of_avx2(const std::uint32_t* numbers, std::uint32_t* rows) {
  __m256i own[4];  // in each half of the warp's, as packing takes them
  const auto* const fours = reinterpret_cast<const __m128i*>(numbers);
  for (int i = 0; i < 4; ++i) own[i] = _mm256_loadu2_m128i(fours + i + 4, fours + i);
  for (std::size_t lane = 0; lane < kWarpSize; ++lane) {
    const __m256i number = _mm256_set1_epi32(static_cast<int>(numbers[lane]));
    const __m256i low = _mm256_packs_epi32(_mm256_cmpeq_epi32(own[0], number), _mm256_cmpeq_epi32(own[1], number));
    const __m256i high = _mm256_packs_epi32(_mm256_cmpeq_epi32(own[2], number), _mm256_cmpeq_epi32(own[3], number));
    rows[lane] = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_packs_epi16(low, high)));
  }
}

__attribute__((target("avx512f,avx512bw"))) void rows_of_avx512(const std::uint32_t* numbers, std::uint32_t* rows) {
  const __m512i low = _mm512_loadu_si512(numbers), high = _mm512_loadu_si512(numbers + 16);
  for (std::size_t lane = 0; lane < kWarpSize; ++lane) {
    const __m512i number = _mm512_set1_epi32(static_cast<int>(numbers[lane]));
    rows[lane] = _mm512_kunpackw(_mm512_cmpeq_epi32_mask(high, number), _mm512_cmpeq_epi32_mask(low, number));
  }
}

/// Of the level that kernels are compiled for.
Rows rows_function() {
  const std::string level = isa_level();
  const auto has = [&](const char* name, bool is_here) { return level == name || (level.empty() && is_here); };
  if (has("x86-64-v4", __builtin_cpu_supports("avx512bw"))) return rows_of_avx512;
  return has("x86-64-v3", __builtin_cpu_supports("avx2")) ? rows_of_avx2 : rows_of_sse2;
}

/// Lanes that take part, in groups: of each of them the members of its own.
class Groups {
 public:
  /// One group.
  explicit Groups(std::uint32_t lanes) : lanes_(lanes) { std::fill_n(members_, kWarpSize, lanes); }

  /// Parts the members whose numbers differ.
  void part_by(const std::uint32_t* numbers) {
    if (are_equal(numbers)) return;
    static const Rows rows_of = rows_function();
    std::uint32_t rows[kWarpSize];
    rows_of(numbers, rows);
    for (std::size_t lane = 0; lane < kWarpSize; ++lane) members_[lane] &= rows[lane];
    are_one_ = false;
  }
  /// All lanes' numbers.
  bool are_equal(const std::uint32_t* numbers) const { return (lanes_ & ~lanes_with(numbers, numbers[std::countr_zero(lanes_)])) == 0; }
  std::uint32_t of(std::size_t lane) const { return members_[lane]; }
  bool are_one() const { return are_one_; }
  /// f(members), of each.
  template <class F>
  void for_each(const F& f) const {
    for (std::uint32_t left = lanes_; left != 0;) {
      const std::uint32_t members = members_[std::countr_zero(left)];
      left &= ~members;
      f(members);
    }
  }

 private:
  std::uint32_t lanes_, members_[kWarpSize];
  bool are_one_ = true;
};

void shuffle(std::uint64_t* values, const std::int32_t* operands, const std::uint32_t* masks, std::uint32_t lanes) {
  // CUDA leaves a read of a lane that takes no part undefined. Hardware gives 0 (seen on an H200), and public sums over
  // fewer lanes than the shuffles span, the CUDA samples' among them, are right only so.
  std::uint64_t brought[kWarpSize];
  std::copy_n(values, kWarpSize, brought);
  const auto source = [&](std::size_t lane) { return static_cast<std::uint32_t>(operands[lane]) % kWarpSize; };
  if (lanes == ~0u && !masks) {
    for (std::size_t lane = 0; lane < kWarpSize; ++lane) values[lane] = brought[source(lane)];
    return;
  }
  for (std::size_t lane = 0; lane < kWarpSize; ++lane) brought[lane] = chosen(lanes, lane, brought[lane], std::uint64_t{0});
  for_each_lane(lanes, [&](std::size_t lane) { values[lane] = !masks || masks[source(lane)] == masks[lane] ? brought[source(lane)] : 0; });
}

std::uint32_t ballot(const std::uint64_t* values, std::uint32_t lanes) {
  std::uint32_t words[kWarpSize];
  for (std::size_t lane = 0; lane < kWarpSize; ++lane) words[lane] = static_cast<std::uint32_t>(values[lane] | values[lane] >> 32);
  return lanes & ~lanes_with(words, 0);
}

/// Each lane gets what the numbers of its group give.
void reduce(Wait kind, std::uint64_t* values, const Groups& groups, std::uint32_t lanes) {
  with_reduction(kind, [&](const auto& both, std::uint32_t neutral) {
    const auto add = [&](std::uint32_t& total, std::size_t lane) { total = both(total, static_cast<std::uint32_t>(values[lane])); };
    if (groups.are_one()) {
      std::uint32_t total = neutral;
      for_each_lane(lanes, [&](std::size_t lane) { add(total, lane); });
      return for_each_lane(lanes, [&](std::size_t lane) { values[lane] = total; });
    }
    // The groups' totals side by side, each at its first lane's place: group after group would cost mispredictions for each.
    std::uint32_t totals[kWarpSize];
    std::fill_n(totals, kWarpSize, neutral);
    const auto total_of = [&](std::size_t lane) -> std::uint32_t& { return totals[std::countr_zero(groups.of(lane))]; };
    for_each_lane(lanes, [&](std::size_t lane) { add(total_of(lane), lane); });
    for_each_lane(lanes, [&](std::size_t lane) { values[lane] = total_of(lane); });
  });
}

std::uint32_t lanes_at(const WarpWaits& waits, Wait kind) {
  return lanes_where(waits.kinds, [number = static_cast<std::uint32_t>(kind)](auto own) { return own == number; });
}

/// Lanes that have parted meet again where their ways do if those that are behind go on first, as hardware has it. Unless
/// they wait, in a loop, for one of the others: none is passed over for ever.
bool go_on_in_step(const WarpWaits& waits) {
  constexpr std::int32_t kPatience = 256;  // times; counted in operands
  const std::uint32_t in_step = lanes_at(waits, Wait::kLockstep);
  if (in_step == 0) return false;
  auto next = static_cast<std::size_t>(std::countr_zero(in_step));
  for_each_lane(in_step, [&](std::size_t lane) {
    if (waits.operands[next] < kPatience && (waits.masks[lane] < waits.masks[next] || waits.operands[lane] >= kPatience)) next = lane;
  });
  const std::uint32_t place = waits.masks[next];
  for_each_lane(in_step, [&](std::size_t lane) {
    const bool is_there = waits.masks[lane] == place;
    waits.operands[lane] = is_there ? 0 : waits.operands[lane] + 1;
    if (is_there) waits.kinds[lane] = Wait::kNothing;
  });
  return true;
}

}  // namespace

void operate_on_warp(Wait kind, std::uint64_t* values, const std::int32_t* operands, const std::uint32_t* masks, std::uint32_t lanes) {
  if (kind == Wait::kWarp || lanes == 0) return;
  if (kind == Wait::kShuffle) return shuffle(values, operands, masks, lanes);
  Groups groups(lanes);
  if (masks) groups.part_by(masks);
  const auto give = [&](const auto& of) {
    if (lanes == ~0u) return for_each_lane(lanes, [&](std::size_t lane) { values[lane] = of(lane); });
    for (std::size_t lane = 0; lane < kWarpSize; ++lane) values[lane] = chosen(lanes, lane, std::uint64_t{of(lane)}, values[lane]);
  };
  if (kind == Wait::kActiveMask) return give([&](std::size_t lane) { return groups.of(lane); });
  if (kind == Wait::kBallot) return give([&, set = ballot(values, lanes)](std::size_t lane) { return set & groups.of(lane); });
  if (kind != Wait::kMatchAny && kind != Wait::kMatchAll) return reduce(kind, values, groups, lanes);
  std::uint32_t low[kWarpSize], high[kWarpSize];
  for (std::size_t lane = 0; lane < kWarpSize; ++lane) low[lane] = static_cast<std::uint32_t>(values[lane]);
  for (std::size_t lane = 0; lane < kWarpSize; ++lane) high[lane] = static_cast<std::uint32_t>(values[lane] >> 32);
  if (kind == Wait::kMatchAll && groups.are_one()) return give([&, all = groups.are_equal(low) && groups.are_equal(high) ? lanes : 0u](std::size_t) { return all; });
  Groups equal = groups;
  equal.part_by(low);
  equal.part_by(high);
  if (kind == Wait::kMatchAny) return give([&](std::size_t lane) { return equal.of(lane); });
  give([&](std::size_t lane) { return equal.of(lane) == groups.of(lane) ? groups.of(lane) : 0u; });
}

bool finish_warp_operations(const WarpWaits& waits) {
  const std::uint32_t present = ~lanes_at(waits, Wait::kExited);
  const std::uint32_t arrived = lanes_where(waits.kinds, [](auto kinds) {
    return (kinds - number_of(Wait::kWarp) <= number_of(Wait::kActiveMask) - number_of(Wait::kWarp)) | (kinds == number_of(Wait::kReduceXor));
  });
  std::uint32_t complete = 0;
  for (std::uint32_t left = arrived; left != 0;) {
    const Wait kind = waits.kinds[std::countr_zero(left)];
    const std::uint32_t alike = arrived & lanes_at(waits, kind);
    left &= ~alike;
    Groups operations(alike);
    operations.part_by(waits.masks);
    std::uint32_t done = 0;
    operations.for_each([&](std::uint32_t group) {
      const std::uint32_t wanted = kind == Wait::kActiveMask ? group : waits.masks[std::countr_zero(group)] & present;
      if ((group & wanted) == wanted && wanted != 0) done |= group;
    });
    operate_on_warp(kind, waits.values, waits.operands, waits.masks, done);
    complete |= done;
  }
  for (std::size_t lane = 0; lane < kWarpSize; ++lane) {
    waits.kinds[lane] = static_cast<Wait>(chosen(complete, lane, number_of(Wait::kNothing), number_of(waits.kinds[lane])));
  }
  return complete != 0 || go_on_in_step(waits);
}

bool finish_warp_operations(std::span<ThreadState> lanes) {
  Wait kinds[kWarpSize];
  std::uint32_t masks[kWarpSize] = {};
  std::uint64_t values[kWarpSize] = {};
  std::int32_t operands[kWarpSize] = {};
  std::fill_n(kinds, kWarpSize, Wait::kExited);
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    kinds[lane] = lanes[lane].kind, masks[lane] = lanes[lane].mask, values[lane] = lanes[lane].value, operands[lane] = lanes[lane].operand;
  }
  if (!finish_warp_operations({kinds, masks, values, operands})) return false;
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) lanes[lane].kind = kinds[lane], lanes[lane].value = values[lane], lanes[lane].operand = operands[lane];
  return true;
}

}  // namespace damo::cpu_backend
