#include "runtime/exec/memory_plan.hpp"

#include <algorithm>
#include <random>

#include <gmock/gmock.h>

namespace damo {
namespace {

/// Two that live at once must not share a byte.
void expect_disjoint(const std::vector<Lifetime>& lives, const MemoryPlan& plan) {
  ASSERT_EQ(plan.offsets.size(), lives.size());
  for (std::size_t i = 0; i < lives.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % 256, 0u);
    EXPECT_LE(plan.offsets[i] + lives[i].bytes, plan.bytes);
    for (std::size_t j = 0; j < i; ++j) {
      const bool together = lives[i].first <= lives[j].last && lives[j].first <= lives[i].last;
      const bool overlap = plan.offsets[i] < plan.offsets[j] + lives[j].bytes && plan.offsets[j] < plan.offsets[i] + lives[i].bytes;
      ASSERT_FALSE(together && overlap) << i << " and " << j;
    }
  }
}

/// The most bytes that live at one node: no plan can need fewer.
std::size_t lower_bound(const std::vector<Lifetime>& lives, int nodes) {
  std::size_t most = 0;
  for (int node = 0; node < nodes; ++node) {
    std::size_t now = 0;
    for (const Lifetime& life : lives) now += life.first <= node && node <= life.last ? life.bytes : 0;
    most = std::max(most, now);
  }
  return most;
}

std::vector<Lifetime> random_lives(std::mt19937& random, std::size_t count, int nodes) {
  std::vector<Lifetime> lives;
  for (std::size_t i = 0; i < count; ++i) {
    const int first = static_cast<int>(random() % static_cast<unsigned>(nodes));
    lives.push_back({random() % 5 == 0 ? 0 : 1 + random() % 100000, first, std::min(nodes - 1, first + static_cast<int>(random() % 8))});
  }
  return lives;
}

TEST(MemoryPlan, NeverOverlapsInTimeAndSpace) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    const auto lives = random_lives(random, 1 + random() % 60, 30);
    SCOPED_TRACE(seed);
    expect_disjoint(lives, MemoryPlan(lives));
  }
}

TEST(MemoryPlan, NeverOverlapsInALargeProgram) {
  std::mt19937 random(1);
  const auto lives = random_lives(random, 1500, 1000);  // beyond the exact search
  const MemoryPlan plan(lives);
  expect_disjoint(lives, plan);
  EXPECT_LE(plan.bytes, 4 * lower_bound(lives, 1000));
}

TEST(MemoryPlan, StaysNearTheLeastPossible) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const auto lives = random_lives(random, 40, 30);
    EXPECT_LE(MemoryPlan(lives).bytes, lower_bound(lives, 30) * 3 / 2 + 40 * 256) << seed;
  }
}

TEST(MemoryPlan, ReusesTheBytesOfTheDead) {
  // A chain: each value is read by the next node only.
  std::vector<Lifetime> chain;
  for (int i = 0; i < 100; ++i) chain.push_back({1024, i, i + 1});
  EXPECT_EQ(MemoryPlan(chain).bytes, 2048u);
  std::vector<Lifetime> at_once;
  for (int i = 0; i < 10; ++i) at_once.push_back({1000, 0, 5});
  EXPECT_EQ(MemoryPlan(at_once).bytes, 10240u);
}

TEST(MemoryPlan, KeepsApartWhatMayNotFollow) {
  std::vector<Lifetime> chain;
  for (int i = 0; i < 10; ++i) chain.push_back({1024, i, i + 1});
  EXPECT_EQ(MemoryPlan(chain, [](std::size_t, std::size_t) { return false; }).bytes, 10240u);
  const MemoryPlan evens(chain, [](std::size_t later, std::size_t earlier) {
    EXPECT_GT(later, earlier + 1);
    return later % 2 == earlier % 2;
  });
  EXPECT_EQ(evens.bytes, 2048u);
}

TEST(MemoryPlan, KeepsANodesInputApartFromItsOutput) {
  const Lifetime lives[] = {{256, 0, 1}, {256, 1, 1}};
  const MemoryPlan plan(lives);
  EXPECT_NE(plan.offsets[0], plan.offsets[1]);
}

TEST(MemoryPlan, NeedsNothingForNothing) {
  EXPECT_EQ(MemoryPlan({}).bytes, 0u);
  const Lifetime empty[] = {{0, 0, 3}, {0, 1, 2}};
  EXPECT_EQ(MemoryPlan(empty).bytes, 0u);
}

}  // namespace
}  // namespace damo
