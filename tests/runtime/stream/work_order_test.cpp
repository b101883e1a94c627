// Which items of a log wait for which: what the touched bytes say, no less and no more.
#include "runtime/stream/work_order.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <random>
#include <vector>

#include <gmock/gmock.h>

#include "runtime/stream/work_log.hpp"
#include "support/host_backend.hpp"

namespace damo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A log whose steps touch parts of one array and ask for fills.
class WorkOrderOf : public ::testing::Test {
 protected:
  WorkOrderOf() { log_.begin(); }
  ~WorkOrderOf() override { log_.clear(), log_.end(); }

  struct Part {
    int first, last;
    bool writes;
  };
  void step(std::initializer_list<Part> parts, int items = 1) {
    log_.begin_step(true);
    for (int i = 0; i < items; ++i) item();
    for (const Part& part : parts) log_.touch(&bytes_[static_cast<std::size_t>(part.first)], static_cast<std::size_t>(part.last - part.first), part.writes);
    log_.end_step();
  }
  void unknown_step() {
    log_.begin_step(false);
    item();
    log_.end_step();
  }
  void item() {
    const char zero = 0;
    log_.fill(bytes_.data(), &zero, 1, 1);
  }
  std::vector<std::vector<std::uint32_t>> waits() const { return WorkOrder(log_).waits; }
  static constexpr bool kReads = false, kWrites = true;

  testing::HostBackend backend_;
  std::array<char, 4096> bytes_{};
  WorkLog log_{backend_};
};

TEST_F(WorkOrderOf, ReadersWaitForTheWriterAndNotForEachOther) {
  step({{0, 16, kWrites}});
  step({{0, 8, kReads}, {32, 40, kWrites}});
  step({{8, 16, kReads}, {40, 48, kWrites}});
  step({{32, 48, kReads}, {64, 80, kWrites}});
  EXPECT_THAT(waits(), ElementsAre(IsEmpty(), ElementsAre(0u), ElementsAre(0u), ElementsAre(2u, 1u)));
  EXPECT_EQ(WorkOrder(log_).depth(), 3u);
}

TEST_F(WorkOrderOf, AWriterWaitsForReadersOfWhatWasThere) {
  step({{0, 16, kReads}, {32, 48, kWrites}});
  step({{15, 17, kWrites}});
  step({{47, 50, kWrites}});
  EXPECT_THAT(waits(), ElementsAre(IsEmpty(), ElementsAre(0u), ElementsAre(0u)));
}

TEST_F(WorkOrderOf, WhatLaterOnesWaitForAnywayIsLeftOut) {
  step({{0, 4, kWrites}});
  step({{0, 4, kReads}, {4, 8, kWrites}});
  step({{0, 8, kReads}, {8, 12, kWrites}});
  EXPECT_THAT(waits(), ElementsAre(IsEmpty(), ElementsAre(0u), ElementsAre(1u)));
}

TEST_F(WorkOrderOf, ItemsOfOneStepStayInOrder) {
  step({{0, 4, kWrites}}, 3);
  step({{100, 104, kWrites}}, 2);
  step({{0, 4, kReads}});
  EXPECT_THAT(waits(), ElementsAre(IsEmpty(), ElementsAre(0u), ElementsAre(1u), IsEmpty(), ElementsAre(3u), ElementsAre(2u)));
}

TEST_F(WorkOrderOf, ItemsThatAreApartWaitForWhatTheirStepWaitsFor) {
  step({{0, 4, kWrites}});
  log_.begin_step(true);
  log_.note_apart();
  item(), item(), item();
  log_.touch(&bytes_[0], 4, kReads), log_.touch(&bytes_[8], 8, kWrites);
  log_.end_step();
  step({{8, 12, kReads}});
  EXPECT_THAT(waits(), ElementsAre(IsEmpty(), ElementsAre(0u), ElementsAre(0u), ElementsAre(0u), ElementsAre(1u, 2u, 3u)));
}

TEST_F(WorkOrderOf, WhatPreparedTheMemoryOfItemsThatAreApartComesFirst) {
  log_.begin_step(true);
  item();
  log_.note_apart();
  item(), item();
  log_.end_step();
  EXPECT_THAT(waits(), ElementsAre(IsEmpty(), ElementsAre(0u), ElementsAre(1u)));
}

TEST_F(WorkOrderOf, WhatANodeFinishesLaterNobodyElseWaitsFor) {
  const std::uint32_t node = log_.begin_step(true);
  log_.touch(&bytes_[64], 8, kWrites);  // scratch
  item();
  log_.split_step();
  log_.touch(&bytes_[64], 8, kReads), log_.touch(&bytes_[32], 4, kWrites);
  item();
  log_.touch(node, &bytes_[0], 4, kWrites), log_.touch(node, &bytes_[32], 4, kWrites);
  log_.end_step();
  step({{0, 4, kReads}});
  step({{32, 36, kReads}});
  EXPECT_THAT(waits(), ElementsAre(IsEmpty(), ElementsAre(0u), ElementsAre(0u), ElementsAre(1u)));
}

TEST_F(WorkOrderOf, MoreThanOneItemBehindASplitTouchesWhatNobodySays) {
  const std::uint32_t node = log_.begin_step(true);
  item();
  log_.split_step();
  item(), item();
  log_.touch(node, &bytes_[0], 4, kWrites);
  log_.end_step();
  step({{100, 104, kReads}});
  EXPECT_THAT(waits(), ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(1u, 0u), ElementsAre(2u)));
}

TEST_F(WorkOrderOf, AStepThatDoesNotSayWhatItTouchesWaitsForAllAndAllForIt) {
  step({{0, 4, kWrites}});
  step({{8, 12, kWrites}});
  unknown_step();
  step({{16, 20, kWrites}});
  step({{0, 4, kReads}});
  unknown_step();
  EXPECT_THAT(waits(), ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(1u, 0u), ElementsAre(2u), ElementsAre(2u), ElementsAre(4u, 3u)));
}

TEST_F(WorkOrderOf, WorkBetweenStepsIsSuchAStep) {
  step({{0, 4, kWrites}});
  item();
  step({{8, 12, kWrites}});
  EXPECT_THAT(waits(), ElementsAre(IsEmpty(), ElementsAre(0u), ElementsAre(1u)));
}

TEST_F(WorkOrderOf, MemoryThatTwoStepsAskForInTurnOrdersThem) {
  const auto ask = [&](bool again) {
    log_.begin_step(true);
    void* memory = again ? log_.take(64) : static_cast<void*>(bytes_.data());
    if (!again) log_.note_allocated(memory, 64);
    item();
    log_.end_step();
  };
  ask(false);
  ask(false);
  EXPECT_THAT(waits(), ElementsAre(IsEmpty(), ElementsAre(0u)));
}

TEST_F(WorkOrderOf, OtherAddressesKeepTheOrderIfWhatTouchedStillDoes) {
  step({{0, 4, kWrites}});
  step({{0, 4, kReads}, {8, 12, kWrites}});
  const std::unique_ptr<WorkLog> before = log_.clone();
  log_.clear();
  step({{100, 104, kWrites}});
  step({{100, 104, kReads}, {8, 12, kWrites}});
  EXPECT_TRUE(keeps_order(log_, *before));
  log_.clear();
  step({{100, 104, kWrites}});
  step({{0, 4, kReads}, {8, 12, kWrites}});
  EXPECT_FALSE(keeps_order(log_, *before)) << "the second does not read what the first writes any more";
  log_.clear();
  step({{0, 4, kWrites}});
  step({{0, 4, kReads}, {2, 6, kWrites}});
  EXPECT_FALSE(keeps_order(log_, *before));
}

TEST_F(WorkOrderOf, NarrowedIndependentItemsAreSoManyChains) {
  for (int i = 0; i < 10; ++i) step({{i, i + 1, kWrites}});
  WorkOrder order(log_);
  EXPECT_EQ(order.depth(), 1u);
  order.narrow(2);
  EXPECT_EQ(order.depth(), 5u);
  order.narrow(1);
  EXPECT_EQ(order.depth(), 10u);
}

TEST_F(WorkOrderOf, NarrowingLeavesWhatIsNarrowEnough) {
  step({{0, 8, kWrites}});
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 3; ++i) step({{0, 8, kReads}, {10 + i, 11 + i, kWrites}});
    step({{10, 13, kReads}, {0, 8, kWrites}});
  }
  WorkOrder order(log_);
  const auto before = order.waits;
  order.narrow(3);
  EXPECT_EQ(order.waits, before);
}

/// Of no more than so many items none comes before another one; what came before another item still does.
TEST_F(WorkOrderOf, NarrowedRandomStepsRunInSoManyChains) {
  std::mt19937 random(8);
  const auto draw = [&](int bound) { return static_cast<int>(random() % static_cast<unsigned>(bound)); };
  for (int round = 0; round < 100; ++round) {
    log_.clear();
    const int count = 2 + draw(9), most = 1 + draw(4);
    for (int i = 0; i < count; ++i) step({{draw(30), 40, draw(4) == 0}, {50 + draw(9), 60, draw(2) == 0}});
    WorkOrder order(log_);
    const auto before = order.waits;
    order.narrow(static_cast<std::size_t>(most));
    std::vector<unsigned> reached(static_cast<std::size_t>(count), 0);  // bits
    for (std::size_t i = 0; i < reached.size(); ++i) {
      for (std::uint32_t other : order.waits[i]) {
        ASSERT_LT(other, i);
        reached[i] |= reached[other] | 1u << other;
      }
      for (std::uint32_t other : before[i]) EXPECT_TRUE(reached[i] >> other & 1);
    }
    for (unsigned set = 0; set < 1u << count; ++set) {
      if (__builtin_popcount(set) <= most) continue;
      bool some_ordered = false;
      for (std::size_t i = 0; i < reached.size(); ++i) some_ordered |= (set >> i & 1) != 0 && (reached[i] & set) != 0;
      ASSERT_TRUE(some_ordered) << "round " << round << ": all of " << set << " may run at once";
    }
  }
}

/// Against all pairs: two steps are ordered if they touch, or if a chain of such pairs leads from one to the other.
TEST_F(WorkOrderOf, RandomStepsAreOrderedAsAllPairsSay) {
  std::mt19937 random(7);
  const auto draw = [&](int bound) { return static_cast<int>(random() % static_cast<unsigned>(bound)); };
  for (int round = 0; round < 300; ++round) {
    log_.clear();
    const int count = 2 + draw(20);
    std::vector<std::vector<Part>> steps;
    for (int i = 0; i < count; ++i) {
      std::vector<Part>& parts = steps.emplace_back();
      const bool is_unknown = draw(12) == 0;
      for (int k = 0; !is_unknown && k < 1 + draw(3); ++k) {
        const int first = draw(60);
        parts.push_back({first, first + 1 + draw(8), draw(3) == 0});
      }
      log_.begin_step(!is_unknown);
      item();
      for (const Part& part : parts) log_.touch(&bytes_[static_cast<std::size_t>(part.first)], static_cast<std::size_t>(part.last - part.first), part.writes);
      log_.end_step();
      if (is_unknown) parts.push_back({0, 4096, true});
    }
    const auto touches = [&](int a, int b) {
      for (const Part& x : steps[static_cast<std::size_t>(a)]) {
        for (const Part& y : steps[static_cast<std::size_t>(b)]) {
          if ((x.writes || y.writes) && x.first < y.last && y.first < x.last) return true;
        }
      }
      return false;
    };
    const std::vector<std::vector<std::uint32_t>> made = waits();
    std::vector<std::vector<char>> expected(static_cast<std::size_t>(count), std::vector<char>(static_cast<std::size_t>(count), 0)), reached = expected;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto add = [&](std::vector<std::vector<char>>& before, std::size_t other) {
        before[i][other] = 1;
        for (std::size_t k = 0; k < other; ++k) before[i][k] = static_cast<char>(before[i][k] | before[other][k]);
      };
      for (std::size_t other = 0; other < i; ++other) {
        if (touches(static_cast<int>(i), static_cast<int>(other))) add(expected, other);
      }
      for (std::uint32_t other : made[i]) {
        EXPECT_FALSE(reached[i][other]) << "waits for it anyway";
        add(reached, other);
      }
    }
    ASSERT_EQ(reached, expected) << "round " << round;
  }
}

}  // namespace
}  // namespace damo
