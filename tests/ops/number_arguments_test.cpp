#include "ops/number_arguments.hpp"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>

#include <damo/graph.hpp>
#include <damo/ops/cast.hpp>
#include <damo/ops/math.hpp>
#include "ops/lower.hpp"
#include "ops/rows.hpp"
#include "runtime/kernel/body.hpp"

namespace damo {
namespace {

bool is_argument(const char* op, int position, const Scalar& number) {
  return may_be_argument(number_rule(static_cast<const ElementwiseOp&>(*elementwise_op(*find_elementwise(op)))), position, number);
}

KernelSpec lowered(const Variable& x, const Variable& y) {
  const Variable inputs[] = {x}, outputs[] = {y};
  return lower(FunctionGraph(inputs, outputs));
}

TEST(NumberArguments, AreFactorsAndSummandsOfAnyValue) {
  for (const float value : {1.5f, -3.0f, 2.0f, 1e-20f}) {
    EXPECT_TRUE(is_argument("mul", 1, value)) << value;
    EXPECT_TRUE(is_argument("add", 0, value)) << value;
  }
  EXPECT_TRUE(is_argument("add", 1, 0.0f)) << "x + 0.0 is not x where x is -0.0";
  EXPECT_TRUE(is_argument("true_div", 1, 3.0f));
  EXPECT_TRUE(is_argument("lt", 1, 0.5));
}

TEST(NumberArguments, AreNotWhereTheValueMakesBetterCode) {
  EXPECT_FALSE(is_argument("mul", 1, 1.0f));
  EXPECT_FALSE(is_argument("mul", 0, -1.0f));
  EXPECT_FALSE(is_argument("add", 1, -0.0f));
  EXPECT_FALSE(is_argument("sub", 1, 0.0f));
  EXPECT_FALSE(is_argument("sub", 0, -0.0f)) << "a negation";
  EXPECT_FALSE(is_argument("true_div", 1, 4.0f)) << "a product";
  EXPECT_FALSE(is_argument("true_div", 0, 1.0f)) << "a reciprocal";
  EXPECT_FALSE(is_argument("pow", 1, 3.0f));
  EXPECT_FALSE(is_argument("int_div", 1, 7)) << "a product and a shift";
  EXPECT_FALSE(is_argument("mul", 1, 8)) << "a shift";
  EXPECT_FALSE(is_argument("maximum", 1, 0.0f));
  EXPECT_FALSE(is_argument("mul", 1, std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(is_argument("add", 1, std::nan("")));
}

TEST(NumberArguments, AreNotInAUsersCode) {
  const auto row = std::make_shared<ElementwiseRow>(ElementwiseRow{.name = "mul", .code = "x0 * x1"});
  EXPECT_FALSE(may_be_argument(number_rule(ElementwiseOp(row)), 1, 1.5f));
}

TEST(NumberArguments, LeaveKernelsThatDifferInThemOneText) {
  const Variable x = matrix("x");
  const KernelSpec a = lowered(x, x * 1.5 + 0.25), b = lowered(x, x * 2.5 + 2.5), c = lowered(x, x * 1.0 + 0.25);
  EXPECT_EQ(step_functions(a), step_functions(b)) << "also where two of them are equal";
  EXPECT_NE(step_functions(a), step_functions(c));
  ASSERT_EQ(a.numbers.size(), 2u);
  EXPECT_EQ(a.numbers[0].as_double(), 1.5);
  EXPECT_EQ(a.numbers[1].as_double(), 0.25);
  EXPECT_EQ(b.numbers[0].as_double(), 2.5);
}

TEST(NumberArguments, AreLiteralsOnceArgumentsHaveNoMoreRoom) {
  const Variable x = matrix("x", float64);
  Variable y = x;
  for (int i = 0; i < 700; ++i) y = y * (1.5 + i);
  const KernelSpec spec = lowered(x, y);
  EXPECT_LE(8 * spec.numbers.size(), 4000u);
  EXPECT_EQ(spec.numbers.size() + spec.constants.size(), 700u);
}

TEST(NumberArguments, KeepTheirDtypes) {
  const Variable x = matrix("x", float16);
  EXPECT_EQ(lowered(x, x * 1.5).numbers[0].dtype(), float16);
  EXPECT_EQ(lowered(x, cast(x, int32) + 5).numbers[0].dtype(), int32);
}

}  // namespace
}  // namespace damo
