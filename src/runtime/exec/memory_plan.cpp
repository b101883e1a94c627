#include "runtime/exec/memory_plan.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace damo {
namespace {

constexpr std::size_t kAlignment = 256;

std::size_t rounded(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

void place_by_size(std::span<const Lifetime> lives, const MemoryPlan::MayFollow& may_follow, MemoryPlan& plan) {
  const auto may_share = [&](std::size_t a, std::size_t b) {
    if (lives[a].first > lives[b].last) return !may_follow || may_follow(a, b);
    return lives[b].first > lives[a].last && (!may_follow || may_follow(b, a));
  };
  std::vector<std::size_t> order(lives.size()), placed;
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return lives[a].bytes > lives[b].bytes; });
  for (std::size_t i : order) {
    std::size_t offset = 0;
    for (std::size_t other : placed) {  // sorted by offset
      if (may_share(i, other)) continue;
      if (plan.offsets[other] >= offset + rounded(lives[i].bytes)) break;
      offset = std::max(offset, plan.offsets[other] + rounded(lives[other].bytes));
    }
    plan.offsets[i] = offset;
    plan.bytes = std::max(plan.bytes, offset + rounded(lives[i].bytes));
    placed.insert(std::upper_bound(placed.begin(), placed.end(), i,
                                   [&](std::size_t a, std::size_t b) { return plan.offsets[a] < plan.offsets[b]; }), i);
  }
}

/// In order of time: the smallest free block that is large enough, else new memory at the end.
void place_by_time(std::span<const Lifetime> lives, MemoryPlan& plan) {
  std::vector<std::size_t> order(lives.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return lives[a].first < lives[b].first; });
  std::multimap<std::size_t, std::size_t> free;                       // bytes -> offset
  std::multimap<int, std::pair<std::size_t, std::size_t>> busy;       // last node -> bytes, offset
  for (std::size_t i : order) {
    while (!busy.empty() && busy.begin()->first < lives[i].first) {
      free.insert(busy.begin()->second);
      busy.erase(busy.begin());
    }
    std::size_t bytes = rounded(lives[i].bytes);
    if (const auto found = free.lower_bound(bytes); found != free.end()) {
      bytes = found->first;
      plan.offsets[i] = found->second;
      free.erase(found);
    } else {
      plan.offsets[i] = plan.bytes;
      plan.bytes += bytes;
    }
    busy.emplace(lives[i].last, std::pair(bytes, plan.offsets[i]));
  }
}

}  // namespace

// Beyond the limit the quadratic search gives way to reuse in order of time.
MemoryPlan::MemoryPlan(std::span<const Lifetime> lifetimes, const MayFollow& may_follow) : offsets(lifetimes.size(), 0) {
  if (lifetimes.size() <= kMostAsked) place_by_size(lifetimes, may_follow, *this);
  else place_by_time(lifetimes, *this);
}

}  // namespace damo
