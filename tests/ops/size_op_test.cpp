// SizeOp: numbers that follow from extents, on the host.
#include "ops/size_op.hpp"

#include <cmath>
#include <cstring>

#include <gmock/gmock.h>

#include <damo/ops/cast.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/shape.hpp>
#include <damo/rewrite.hpp>
#include "ops/rewrites/match.hpp"
#include "support/formula.hpp"

namespace damo {
namespace {

std::shared_ptr<const SizeOp> counting(std::vector<std::int64_t> axes, std::int64_t factor, DType dtype, int rank = 0) {
  return std::make_shared<const SizeOp>(std::vector{SizeOp::Step{.result = dtype, .axes = std::move(axes), .factor = factor, .op = {}, .terms = {}}}, rank);
}

/// What the rules make of an expression of sizes.
std::shared_ptr<const SizeOp> folded(const Variable& x, const Variable& output, std::string* text = nullptr) {
  const Variable inputs[] = {x};
  const FunctionGraph graph = apply_rules(FunctionGraph(inputs, std::span(&output, 1)), folding_rules());
  if (text) *text = testing::formula(graph);
  return std::dynamic_pointer_cast<const SizeOp>(graph.op_ptr(graph.owner(graph.outputs()[0])));
}

TEST(SizeOp, IsAProductOfExtents) {
  const std::shared_ptr<const SizeOp> op = counting({0, 2}, 5, float32);
  EXPECT_EQ(op->value({3, 7, 2}).as_double(), 30);
  EXPECT_EQ(op->value({3, 7, 0}).as_double(), 0);
  EXPECT_EQ(op->value({3, 7, 2}).dtype(), float32);
  EXPECT_EQ(counting({0}, 1, float32)->value({16777217}).as_double(), 16777216) << "rounded as a kernel rounds it";
  EXPECT_EQ(counting({0}, 1, float64)->value({16777217}).as_double(), 16777217);
  const float three = 3;
  std::uint32_t bits = 0;
  std::memcpy(&bits, &three, sizeof bits);
  EXPECT_EQ(counting({0}, 1, float32)->bits({3}), bits);
}

TEST(SizeOp, EqualsWhatComputesTheSame) {
  const auto same = [](const OpPtr& a, const OpPtr& b) { return a->equals(*b) && a->hash() == b->hash(); };
  EXPECT_TRUE(same(counting({0, 1}, 2, float32), counting({0, 1}, 2, float32)));
  EXPECT_FALSE(counting({0, 1}, 2, float32)->equals(*counting({0}, 2, float32)));
  EXPECT_FALSE(counting({0}, 2, float32)->equals(*counting({0}, 3, float32)));
  EXPECT_FALSE(counting({0}, 2, float32)->equals(*counting({0}, 2, float64)));
  EXPECT_FALSE(counting({0}, 2, float32)->equals(*counting({0}, 2, float32, 1)));
}

TEST(SizeOp, TakesInWhatIsComputedOfItAndOfNumbers) {
  const Variable x = matrix("x"), line[] = {x};
  const Variable rows = counting({0}, 1, float32, 1)->apply(line, {}).output(), columns = counting({1}, 1, float32, 1)->apply(line, {}).output();
  std::string text;
  const std::shared_ptr<const SizeOp> op = folded(x, cast(1.0 / rows - sqr(columns) * 0.5, float16), &text);
  ASSERT_TRUE(op) << text;
  EXPECT_EQ(op->value({4, 3}).as_double(), 0.25 - 4.5);
  EXPECT_EQ(op->value({4, 3}).dtype(), float16);
  EXPECT_TRUE(std::isinf(folded(x, 1.0 / rows)->value({0, 3}).as_double()));
  EXPECT_TRUE(std::isnan(folded(x, rows / columns)->value({0, 0}).as_double()));
  EXPECT_TRUE(folded(x, dimshuffle(rows, {}))) << "with fewer axes too";
  EXPECT_FALSE(folded(x, exp(rows))) << "its last bit is the device's";
  EXPECT_FALSE(folded(x, rows * x));
}

TEST(SizeOp, ComputesIntegersAsTheyAre) {
  const Variable x = matrix("x"), line[] = {x};
  const Variable count = counting({0, 1}, 1, int64)->apply(line, {}).output();
  EXPECT_EQ(folded(x, count * count + 1)->value({3000, 1000}).as_int(), std::int64_t{9000000000001});
  EXPECT_EQ(folded(x, cast(count, int8))->value({100, 3}).as_int(), 44) << "wraps";
}

TEST(SizeOp, SaysWhatItIs) {
  const Variable x = matrix("x"), line[] = {x};
  std::string text;
  folded(x, 1.0 / counting({0, 1}, 1, float32)->apply(line, {}).output(), &text);
  EXPECT_EQ(text, "size[true_div(1, shape[0] * shape[1])](x)");
}

}  // namespace
}  // namespace damo
