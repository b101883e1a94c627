#include "runtime/exec/memory_plan.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace damo {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr std::size_t kExactLimit = 512;  // beyond it the quadratic search gives way to reuse in order of time

std::size_t rounded(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

void place_by_size(std::span<const Lifetime> lives, MemoryPlan& plan) {
  std::vector<std::size_t> order(lives.size()), placed;
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return lives[a].bytes > lives[b].bytes; });
  for (std::size_t i : order) {
    std::size_t offset = 0;
    for (std::size_t other : placed) {  // sorted by offset
      if (lives[other].first > lives[i].last || lives[other].last < lives[i].first) continue;
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

MemoryPlan::MemoryPlan(std::span<const Lifetime> lifetimes) : offsets(lifetimes.size(), 0) {
  if (lifetimes.size() <= kExactLimit) place_by_size(lifetimes, *this);
  else place_by_time(lifetimes, *this);
}

}  // namespace damo
