#include "runtime/kernel/step_forms.hpp"

#include <gtest/gtest.h>

#include "runtime/kernel/reducing_specs.hpp"

namespace damo {
namespace {

TEST(StepForms, AreTheCodeInOneTypeWithoutRounding) {
  Step step = map("x0 - x1", {0, 1});
  EXPECT_TRUE(computes(step, "float", "x0 - x1"));
  EXPECT_FALSE(computes(step, "double", "x0 - x1"));
  EXPECT_FALSE(computes(step, "float", "x0 + x1"));
  step.compute = step.result = bfloat16;
  EXPECT_TRUE(computes(step, "float", "x0 - x1")) << "computed as float32";
  step.rounds = true;
  EXPECT_FALSE(computes(step, "float", "x0 - x1")) << "rounded to 16 bits";
  step.compute = step.result = float32;
  EXPECT_TRUE(computes(step, "float", "x0 - x1")) << "nothing to round";
  step.inputs_as = {float32, float64};
  EXPECT_FALSE(computes(step, "float", "x0 - x1"));
}

TEST(StepForms, AreSumsAndMaximaOfRows) {
  EXPECT_TRUE(is_sum(sum_of(0), "float"));
  EXPECT_TRUE(is_sum(join("0", "a + b", 0, "a / T(n)"), "float")) << "a mean joins likewise";
  EXPECT_FALSE(is_sum(across(sum_of(0)), "float"));
  EXPECT_FALSE(is_sum(max_of(0), "float"));
  EXPECT_TRUE(is_maximum(log_softmax().steps[0], "float"));
  EXPECT_FALSE(is_maximum(log_softmax().steps[0], "double"));
  EXPECT_FALSE(is_maximum(join("0", "maximum(a, b)", 0), "float")) << "from 0";
}

TEST(StepForms, CountHowOftenARowIsGoneThrough) {
  EXPECT_EQ(count_passes(spec_of("sum", {sum_of(0)}, {1})), 1u);
  EXPECT_EQ(count_passes(softmax()), 3u);
}

}  // namespace
}  // namespace damo
