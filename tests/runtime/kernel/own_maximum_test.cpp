#include "runtime/kernel/own_maximum.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/kernel/reducing_specs.hpp"

namespace damo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::optional<OwnMaximum> own(const KernelSpec& spec) {
  return own_maximum(spec, Passes(spec, [](int, const Passes&) { return true; }));
}

/// log_softmax() with one step otherwise.
KernelSpec with(int value, const Step& step) {
  KernelSpec spec = log_softmax();
  spec.steps[static_cast<std::size_t>(value - spec.first_step())] = step;
  return spec;
}
Step of(int value) { return log_softmax().step_of(value); }

TEST(OwnMaximum, ServesASoftmaxWhoseExponentialsAreKept) {
  const auto found = own(log_softmax());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->maximum, 1);
  EXPECT_THAT(found->kept, ElementsAre(3));
}

TEST(OwnMaximum, ServesASumAloneOfWhichNothingIsKept) {
  KernelSpec spec = log_softmax();
  spec.stores = {8};
  spec.outputs = {float32};
  const auto found = own(spec);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->kept, IsEmpty());
}

TEST(OwnMaximum, ServesNoSumOfWhatMayOverflow) {
  KernelSpec spec = spec_of("weighted", {of(1), of(2), of(3), map("x0 * x1", {4, 1}), sum_of(5), map("x0 / x1", {4, 6}, 4)}, {7}, 2);
  spec.steps[0].inputs = {0}, spec.steps[1].inputs = {0, 2}, spec.steps[2].inputs = {3};
  EXPECT_FALSE(own(spec)) << "exponentials times an array";
  spec.steps[4] = sum_of(4);
  EXPECT_TRUE(own(spec));
}

TEST(OwnMaximum, ServesNothingElseThatIsMadeOfTheMaximum) {
  EXPECT_FALSE(own(with(2, map("x1 - x0", {0, 1}))));
  EXPECT_FALSE(own(with(2, map("x0 - x1", {1, 0})))) << "the difference from another value";
  EXPECT_FALSE(own(with(3, map("exp(x0) + T(1)", {2}, 15))));
  EXPECT_FALSE(own(with(4, sum_of(2)))) << "a sum of differences";
  EXPECT_FALSE(own(with(4, max_of(3)))) << "a maximum of exponentials";
  EXPECT_FALSE(own(with(1, join("0", "a + b", 0)))) << "a sum in place of the maximum";
  EXPECT_FALSE(own(with(1, join("0", "maximum(a, b)", 0)))) << "the maximum with 0";
  KernelSpec moved = log_softmax();
  moved.steps.push_back(sum_of(2));
  moved.stores.push_back(9);
  moved.outputs.push_back(float32);
  EXPECT_FALSE(own(moved)) << "a sum of differences beside that of exponentials";
}

TEST(OwnMaximum, ServesWhatIsComputedInFloat32) {
  for (DType dtype : {float16, bfloat16}) {
    KernelSpec spec = log_softmax();
    spec.inputs = {dtype};
    for (Step& step : spec.steps) step.compute = step.result = dtype;
    EXPECT_TRUE(own(spec)) << name(dtype);
  }
  for (int value : {1, 2, 3, 4}) {
    Step step = of(value);
    step.compute = step.result = float64;
    EXPECT_FALSE(own(with(value, step))) << value;
  }
  Step rounded = of(3);
  rounded.result = bfloat16;
  rounded.rounds = true;
  EXPECT_FALSE(own(with(3, rounded)));
}

TEST(OwnMaximum, ServesNoElementsThatAreStoredBeforeTheMaximumIsKnown) {
  KernelSpec spec = log_softmax();
  spec.stores[0] = 3;  // the exponentials, by the pass that sums them
  EXPECT_FALSE(own(spec));
}

}  // namespace
}  // namespace damo
