// MemoryPlan: places temporaries of known lifetimes in one arena. Greedy by size: the largest first, each at the lowest
// offset that is free during its whole life (Pisarchyk and Lee 2020). In: bytes and first and last node of each; out:
// an offset each, 256-aligned, and the arena's size.
#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace damo {

struct Lifetime {
  std::size_t bytes = 0;
  int first = 0, last = 0;  ///< nodes, both included
};

struct MemoryPlan {
  std::vector<std::size_t> offsets;
  std::size_t bytes = 0;

  /// Whether one, given first, may have bytes of another one whose life ended before its own began.
  using MayFollow = std::function<bool(std::size_t later, std::size_t earlier)>;

  /// may_follow: empty: always. It is not asked where there are more than kMostAsked.
  static constexpr std::size_t kMostAsked = 1024;
  explicit MemoryPlan(std::span<const Lifetime> lifetimes, const MayFollow& may_follow = {});
};

}  // namespace damo
