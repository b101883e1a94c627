// Sums of one element of a row: which specs have them, and what is left of their passes. What they compute: tests/function/sought_elements_test.cpp.
#include "runtime/kernel/sought_elements.hpp"

#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/kernel/body.hpp"
#include "runtime/kernel/own_maximum.hpp"
#include "runtime/kernel/passes.hpp"
#include "runtime/kernel/reducing_specs.hpp"

namespace damo {
namespace {

using ::testing::ElementsAre;

constexpr int kX = 0, kLabel = 1, kZero = 2, kIsSought = 4, kMaximum = 5, kApart = 6, kExponential = 7, kAll = 8, kChosen = 9, kOne = 10;

/// Of logits and one label a row: the sum of exponentials, and the label's logit apart from the greatest.
KernelSpec cross_entropy() {
  KernelSpec spec;
  spec.name = "cross_entropy";
  spec.inputs = {float32, int64};
  spec.rows = {false, true};
  spec.constants = {Scalar(0.0f)};
  Step is_sought = map("x0 == x1", {3, kLabel}), chosen = map("x0 ? x1 : x2", {kIsSought, kApart, kZero});
  is_sought.compute = int64;
  is_sought.result = bool_;
  chosen.condition_first = true;
  spec.steps = {place_in_row(), is_sought, join(literal(Scalar(-std::numeric_limits<float>::infinity())), "maximum(a, b)", kX), map("x0 - x1", {kX, kMaximum}), map("exp(x0)", {kApart}, 15), sum_of(kExponential), chosen, sum_of(kChosen)};
  spec.stores = {kAll, kOne};
  spec.outputs = {float32, float32};
  return spec;
}
Step& step(KernelSpec& spec, int value) { return spec.steps[static_cast<std::size_t>(value - spec.first_step())]; }
/// cross_entropy() after a change.
template <class Change>
KernelSpec after(Change change) {
  KernelSpec spec = cross_entropy();
  change(spec);
  return spec;
}
std::vector<int> joins_of(const KernelSpec& spec, std::size_t pass) { return Passes(spec, [](int, const Passes&) { return true; }).all().at(pass).joins; }

TEST(SoughtElementsOfSpecs, AreNoJoins) {
  const KernelSpec spec = cross_entropy();
  ASSERT_THAT(joins_of(spec, 1), ElementsAre(kAll, kOne));
  const std::optional<KernelSpec> form = with_sought_elements(spec);
  ASSERT_TRUE(form);
  EXPECT_THAT(joins_of(*form, 1), ElementsAre(kAll));
  EXPECT_TRUE(form->step_of(kOne).is_at_place);
  EXPECT_THAT(form->step_of(kOne).inputs, ElementsAre(kChosen, kLabel));
  EXPECT_TRUE(form->uses_place()) << "places are numbers in C order";
  const Passes passes(*form, [](int, const Passes&) { return true; });
  EXPECT_FALSE(passes.is_element(kOne));
  EXPECT_THAT(passes.all()[0].row_steps, ElementsAre(kOne)) << "known with the maximum";
  EXPECT_THAT(passes.all()[1].steps, ElementsAre(kApart, kExponential)) << "no element is compared";
}

TEST(SoughtElementsOfSpecs, LeaveExponentialsTheirOwnMaximum) {
  const auto has_own = [](const KernelSpec& spec) { return own_maximum(spec, Passes(spec, [](int, const Passes&) { return true; })).has_value(); };
  EXPECT_FALSE(has_own(cross_entropy()));
  EXPECT_TRUE(has_own(*with_sought_elements(cross_entropy())));
}

TEST(SoughtElementsOfSpecs, MayBeCastAndComparedTheOtherWayRound) {
  EXPECT_TRUE(with_sought_elements(after([](KernelSpec& spec) { std::swap(step(spec, kIsSought).inputs[0], step(spec, kIsSought).inputs[1]); })));
  EXPECT_TRUE(with_sought_elements(after([](KernelSpec& spec) { spec.constants[0] = Scalar(-0.0f); })));
  EXPECT_TRUE(with_sought_elements(after([](KernelSpec& spec) {
    spec.steps.push_back(map("x0", {kChosen}));
    spec.steps.push_back(sum_of(kOne + 1));
    spec.stores[1] = kOne + 2;
    step(spec, kOne) = max_of(kX);
  })));
}

TEST(SoughtElementsOfSpecs, AreNoOthers) {
  const auto refused = [](auto change) { return !with_sought_elements(after(change)); };
  EXPECT_TRUE(refused([](KernelSpec& spec) { spec.constants[0] = Scalar(0.5f); })) << "elsewhere no zero";
  EXPECT_TRUE(refused([](KernelSpec& spec) { step(spec, kChosen).inputs = {kIsSought, kZero, kApart}; })) << "all elements but one";
  EXPECT_TRUE(refused([](KernelSpec& spec) { step(spec, kChosen) = map("x0 * x1", {kIsSought, kApart}); })) << "infinity times 0 is NaN";
  EXPECT_TRUE(refused([](KernelSpec& spec) { step(spec, kIsSought).code = "x0 <= x1"; })) << "several elements";
  EXPECT_TRUE(refused([](KernelSpec& spec) { spec.rows = {false, false}; })) << "each element is compared with another value";
  EXPECT_TRUE(refused([](KernelSpec& spec) { step(spec, kOne) = join("0", "a + b", kChosen, "a / T(n)"); })) << "a mean";
  EXPECT_TRUE(refused([](KernelSpec& spec) { step(spec, kOne) = max_of(kChosen); }));
  EXPECT_TRUE(refused([](KernelSpec& spec) { step(spec, kOne) = across(sum_of(kChosen)); })) << "of a column";
  EXPECT_TRUE(refused([](KernelSpec& spec) { step(spec, kMaximum).result = int64, std::swap(step(spec, kIsSought), step(spec, kMaximum)), step(spec, kMaximum).inputs = {3, kIsSought}, step(spec, kChosen).inputs[0] = kMaximum, step(spec, kApart).inputs[1] = kIsSought; })) << "a label that follows from a join";
  EXPECT_TRUE(refused([](KernelSpec& spec) { spec.stores.push_back(kX), spec.outputs.push_back(float32); })) << "a row that is written over at once";
  EXPECT_TRUE(refused([](KernelSpec& spec) { step(spec, kAll).join->prefix = Prefix::kInclusive; })) << "prefix sums";
  EXPECT_TRUE(refused([](KernelSpec& spec) { step(spec, kExponential).row = RowPlace{"a row", 1}; })) << "a user's code";
  EXPECT_FALSE(with_sought_elements(softmax()));
}

/// What waited for the sum would be stored at once: over elements that other threads of the row have not asked for yet.
TEST(SoughtElementsOfSpecs, LeaveNoStoresBeforeTheFirstJoins) {
  constexpr int kSum = 6, kRest = 7;
  KernelSpec spec = after([](KernelSpec& one) { step(one, kMaximum) = step(one, kChosen), step(one, kMaximum).inputs[1] = kX, step(one, kSum) = sum_of(kMaximum), one.steps.resize(kSum - 3 + 1); });
  spec.steps.insert(spec.steps.end(), {map("x0 - x1", {kX, kSum}), sum_of(kRest)});
  spec.stores = {kRest + 1, kSum};
  EXPECT_TRUE(with_sought_elements(spec));
  spec.stores = {kRest, kRest + 1};
  EXPECT_FALSE(with_sought_elements(spec));
}

TEST(SoughtElementsOfSpecs, NeedOtherJoins) {
  KernelSpec spec = cross_entropy();
  step(spec, kMaximum) = map("x0 * T(2)", {kX});
  step(spec, kAll) = map("x0 + x1", {kExponential, kX});
  spec.stores = {kOne};
  spec.outputs = {float32};
  EXPECT_FALSE(with_sought_elements(spec)) << "nobody would go through the rows";
}

}  // namespace
}  // namespace damo
