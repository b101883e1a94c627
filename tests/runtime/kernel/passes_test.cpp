#include "runtime/kernel/passes.hpp"

#include <algorithm>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/kernel/reducing_specs.hpp"

namespace damo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

bool keep_all(int, const Passes&) { return true; }
bool keep_none(int, const Passes&) { return false; }

TEST(Passes, JoinInOneWhatNeedsNoOtherJoin) {
  const KernelSpec spec = moments();  // 1 = 2 x, 2 = sum of 1, 3 = x^2, 4 = mean of 3
  const Passes passes(spec, keep_all);
  ASSERT_EQ(passes.all().size(), 1u);
  EXPECT_THAT(passes.all()[0].inputs, ElementsAre(0));
  EXPECT_THAT(passes.all()[0].steps, ElementsAre(1, 3));
  EXPECT_THAT(passes.all()[0].joins, ElementsAre(2, 4));
  EXPECT_THAT(passes.row_stores(), ElementsAre(0, 1));
}

TEST(Passes, GoThroughARowAgainForWhatNeedsAJoin) {
  const KernelSpec spec = softmax();  // 1 = max of x, 2 = exp(x - 1), 3 = sum of 2, 4 = 2 / 3
  const Passes passes(spec, keep_none);
  ASSERT_EQ(passes.all().size(), 3u);
  EXPECT_THAT(passes.all()[0].joins, ElementsAre(1));
  EXPECT_THAT(passes.all()[0].steps, IsEmpty());
  EXPECT_THAT(passes.all()[1].steps, ElementsAre(2));
  EXPECT_THAT(passes.all()[1].joins, ElementsAre(3));
  EXPECT_THAT(passes.all()[2].steps, ElementsAre(2, 4)) << "exp is made again";
  EXPECT_THAT(passes.all()[2].inputs, ElementsAre(0));
  EXPECT_THAT(passes.all()[2].stores, ElementsAre(0));
}

TEST(Passes, KeepWhatIsDearWhereTheTargetMay) {
  const KernelSpec spec = softmax();
  const Passes passes(spec, keep_all);
  EXPECT_THAT(passes.all()[1].keeps, ElementsAre(2));
  EXPECT_THAT(passes.all()[2].kept, ElementsAre(2));
  EXPECT_THAT(passes.all()[2].steps, ElementsAre(4));
  EXPECT_THAT(passes.all()[2].inputs, IsEmpty()) << "exp is all that the last pass needs";
}

TEST(Passes, AskTheTargetOnlyForWhatIsDearAndWantedAgain) {
  const KernelSpec spec = softmax();
  std::vector<int> asked;
  const Passes passes(spec, [&](int value, const Passes& known) {
    EXPECT_THAT(known.all()[2].stores, ElementsAre(0)) << "stores are known";
    asked.push_back(value);
    return true;
  });
  EXPECT_THAT(asked, ElementsAre(2));
}

TEST(Passes, MakeCheapValuesAgain) {
  const KernelSpec spec = spec_of("cheap", {map("x0 * T(2)", {0}, 2), max_of(1), map("x0 - x1", {1, 2})}, {3});
  EXPECT_THAT(Passes(spec, keep_all).all()[1].steps, ElementsAre(1, 3));
}

TEST(Passes, CountWhatAValueCostsFromTheArrays) {
  // Nine steps of one instruction: the last of them, made again, costs all nine.
  std::vector<Step> steps = {map("x0 + T(1)", {0})};
  for (int i = 1; i < 9; ++i) steps.push_back(map("x0 + T(1)", {i}));
  steps.push_back(max_of(9));
  steps.push_back(map("x0 - x1", {9, 10}));
  const Passes passes(spec_of("chain", std::move(steps), {11}), keep_all);
  EXPECT_THAT(passes.all()[1].kept, ElementsAre(9));
  EXPECT_THAT(passes.all()[1].steps, ElementsAre(11));
}

TEST(Passes, ReadAnArrayLateThatOnlyALaterPassNeeds) {
  const KernelSpec spec = center();  // x, weight, bias of a row; 3 = mean, 4 = 3 + bias, 5 = (x - 4) * weight
  const Passes passes(spec, keep_all);
  ASSERT_EQ(passes.all().size(), 2u);
  EXPECT_THAT(passes.all()[0].inputs, ElementsAre(0));
  EXPECT_THAT(passes.all()[0].row_steps, ElementsAre(4));
  EXPECT_THAT(passes.all()[1].inputs, ElementsAre(0, 1));
  EXPECT_THAT(passes.row_stores(), ElementsAre(1));
  EXPECT_FALSE(passes.is_read_late(0));
  EXPECT_TRUE(passes.is_read_late(1));
  EXPECT_FALSE(passes.is_element(2));
  EXPECT_FALSE(passes.is_element(4));
  EXPECT_TRUE(passes.is_element(5));
}

TEST(Passes, TakeRowValuesThatNeedNoJoinFirst) {
  KernelSpec spec = spec_of("biased", {map("x0 * T(2)", {1}), map("x0 + x1", {0, 2}), sum_of(3)}, {4, 2}, 2);
  spec.rows = {false, true};
  const Passes passes(spec, keep_all);
  EXPECT_THAT(passes.first_row_steps(), ElementsAre(2));
  EXPECT_THAT(passes.row_stores(), ElementsAre(0, 1));
  EXPECT_EQ(passes.known(2), 0);
  EXPECT_EQ(passes.known(4), 1);
}

TEST(Passes, TellOfWhatTheFirstJoinsAreMade) {
  const KernelSpec spec = spec_of("beside", {map("x0 * x0", {0}), map("x0 + T(1)", {0}), map("x0 * T(2)", {1}), sum_of(3)}, {2, 4});
  EXPECT_THAT(Passes(spec, keep_none).before_joins(), ElementsAre(1, 3));
  EXPECT_THAT(Passes(softmax(), keep_none).before_joins(), IsEmpty());
}

TEST(Passes, TakeAPlaceForAnElement) {
  const Passes passes(argmax(), keep_all);
  ASSERT_EQ(passes.all().size(), 1u);
  EXPECT_TRUE(passes.is_element(1));
  EXPECT_THAT(passes.all()[0].steps, ElementsAre(1));
}

TEST(Passes, LeaveOutWhatNobodyReads) {
  const KernelSpec spec = spec_of("unread", {map("exp(x0)", {0}, 15), sum_of(0)}, {2});
  EXPECT_THAT(Passes(spec, keep_all).all()[0].steps, IsEmpty());
}

bool contains(const std::vector<int>& values, int value) { return std::find(values.begin(), values.end(), value) != values.end(); }

TEST(Passes, OfRandomSpecsFindWhatTheyReadMadeAndMakeEachJoinAndStoreOnce) {
  std::size_t longest = 0, kept = 0, shared = 0;
  for (unsigned seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const KernelSpec spec = random_spec(random, 12);
    const Passes passes(spec, [&](int, const Passes&) { return random() % 2 == 0; });
    longest = std::max(longest, passes.all().size());
    std::vector<int> joins, stores = passes.row_stores();
    for (int pass = 0; pass < static_cast<int>(passes.all().size()); ++pass) {
      const Passes::Pass& now = passes.all()[static_cast<std::size_t>(pass)];
      const auto there = [&](int value, int reader) {
        if (passes.is_element(value)) return contains(now.inputs, value) || contains(now.kept, value) || (contains(now.steps, value) && value < reader);
        return passes.known(value) <= pass;
      };
      for (int step : now.steps) {
        for (int input : spec.step_of(step).inputs) EXPECT_TRUE(there(input, step)) << "pass " << pass << " step " << step << " reads " << input;
      }
      for (int value : now.kept) {
        const auto keeps = [&](const Passes::Pass& earlier) { return contains(earlier.keeps, value); };
        EXPECT_EQ(std::count_if(passes.all().begin(), passes.all().begin() + pass, keeps), 1) << "pass " << pass << " kept " << value;
      }
      for (int value : now.keeps) EXPECT_TRUE(contains(now.steps, value));
      for (int join : now.joins) EXPECT_TRUE(there(spec.step_of(join).inputs[0], join)) << "pass " << pass << " join " << join;
      for (int store : now.stores) EXPECT_TRUE(there(spec.stores[static_cast<std::size_t>(store)], 1 << 20)) << "pass " << pass << " store " << store;
      for (int join : now.given) EXPECT_TRUE(contains(now.joins, spec.accumulator_of(join))) << "pass " << pass << " join " << join;
      joins.insert(joins.end(), now.given.begin(), now.given.end());
      shared += now.given.size() - now.joins.size();
      stores.insert(stores.end(), now.stores.begin(), now.stores.end());
      kept += now.kept.size();
    }
    std::vector<int> all_joins, all_stores;
    for (int i = 0; i < 12; ++i) {  // a join of a row's value is one too: it sums the same value over and over
      if (spec.steps[static_cast<std::size_t>(i)].join) all_joins.push_back(spec.first_step() + i);
    }
    for (int i = 0; i < static_cast<int>(spec.stores.size()); ++i) all_stores.push_back(i);
    EXPECT_THAT(joins, ::testing::UnorderedElementsAreArray(all_joins));
    EXPECT_THAT(stores, ::testing::UnorderedElementsAreArray(all_stores));
  }
  EXPECT_GE(longest, 4u) << "the specs should give them something to do";
  EXPECT_GE(kept, 100u);
  EXPECT_GE(shared, 100u) << "of accumulators";
}

TEST(Passes, HaveOneAccumulatorForJoinsThatDifferInWhatTheyMakeOfItAlone) {
  const Passes passes(normed(), keep_all);
  ASSERT_EQ(passes.all().size(), 2u);
  EXPECT_THAT(passes.all()[0].joins, ElementsAre(1));
  EXPECT_THAT(passes.all()[0].given, ElementsAre(1, 2));
  EXPECT_EQ(partial_bytes(normed()), 16u);
  EXPECT_THAT(Passes(spread_of_both(), keep_all).all()[0].across, ElementsAre(2));
  EXPECT_EQ(across_bytes(spread_of_both()), 12u);
  const KernelSpec mean_and_sum = spec_of("mean_and_sum", {sum_of(0), join("0", "a + b", 0, "a / T(n)")}, {1, 2});
  EXPECT_THAT(Passes(mean_and_sum, keep_all).all()[0].joins, ElementsAre(1));
  EXPECT_THAT(Passes(moments(), keep_all).all()[0].joins, ElementsAre(2, 4)) << "of other values";
}

TEST(Passes, JoinAcrossRowsAsSoonAsTheElementsAreThere) {
  const KernelSpec spec = norm_gradient();
  const Passes passes(spec, [](int, const Passes&) { return false; });
  ASSERT_EQ(passes.all().size(), 3u);
  EXPECT_THAT(passes.all()[0].across, ElementsAre(6)) << "the greatest g, which no join of rows comes before";
  EXPECT_THAT(passes.all()[0].inputs, ElementsAre(0, 1));
  EXPECT_THAT(passes.all()[1].across, ElementsAre(5));
  EXPECT_THAT(passes.all()[1].joins, ElementsAre(4));
  EXPECT_THAT(passes.across_stores(), ElementsAre(2, 3));
  EXPECT_THAT(passes.row_stores(), ElementsAre(1));
  EXPECT_EQ(across_bytes(spec), 8u);
  EXPECT_EQ(partial_bytes(spec), 16u) << "of the row's own joins";
}

TEST(JoinsInOnePass, AsksForOnePassWhateverItWritesOnItsWay) {
  EXPECT_FALSE(joins_in_one_pass(sums_of_both())) << "a chunk of a row has not all of its places";
  EXPECT_TRUE(joins_in_one_pass(moments()));
  EXPECT_TRUE(joins_in_one_pass(argmax()));
  EXPECT_FALSE(joins_in_one_pass(softmax()));
  EXPECT_FALSE(joins_in_one_pass(center()));
  EXPECT_TRUE(joins_in_one_pass(spec_of("both", {sum_of(0), map("x0 * T(2)", {0})}, {1, 2})));
}

TEST(PartialBytes, AlignsEachAccumulatorToEightBytes) {
  EXPECT_EQ(partial_bytes(moments()), 16u);
  EXPECT_EQ(partial_bytes(argmax()), 16u);
  KernelSpec spec = moments();
  spec.steps[1].join->bytes = 4;
  spec.steps[3].join->bytes = 12;
  EXPECT_EQ(partial_bytes(spec), 24u);
}

}  // namespace
}  // namespace damo
