// What kernels make again rather than read, and what they do not. The values: tests/function/repeated_masks_test.cpp.
#include "ops/rewrites/fusion_repeats.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <damo/ops/math.hpp>
#include <damo/ops/reduce.hpp>
#include "support/graphs.hpp"

namespace damo {
namespace {

using damo::testing::fused;
using damo::testing::nodes_text;
using damo::testing::OpaqueOp;

class RepeatedValues : public ::testing::Test {
 protected:
  /// Masked rows, an op that no kernel has, and a kernel behind it that reads the mask too.
  std::string around(const Variable& mask, const std::vector<Variable>& more = {}) const {
    std::vector<Variable> inputs{x_};
    inputs.insert(inputs.end(), more.begin(), more.end());
    return nodes_text(fused(inputs, {where(mask, opaque_(where(mask, x_, -1.0)) * x_, 0.0)}));
  }
  const OpHandle<OpaqueOp> opaque_ = make_op<OpaqueOp>("custom");
  const Variable x_ = input({float32, {64, 32}}, "x"), row_ = input({float32, {64, 1}}, "row"), column_ = input({int64, {32}}, "column"), few_ = input({float32, {64, 4}}, "few");
};

TEST_F(RepeatedValues, AreMadeOfPlacesAndOfWhatIsSmall) {
  EXPECT_EQ(around(le(index_along(x_, 1), index_along(x_, 0))), "fused(index_along index_along le where) custom fused(index_along index_along le mul where)");
  EXPECT_EQ(around(eq(index_along(x_, 1), column_), {column_}), "fused(eq index_along where) custom fused(eq index_along mul where)");
  EXPECT_EQ(around(gt(row_, column_), {row_, column_}), "fused(gt where) custom fused(gt mul where)");
}

/// Of a mask that the kernel in between got copies of before: those are what it makes its own mask of.
TEST_F(RepeatedValues, AreMadeOfThoseThatTheirKernelMakesAgain) {
  const Variable mask = le(index_along(x_, 1), column_), few = opaque_(row_, where(mask, x_, 0.0)), both = logical_and(mask, lt(few, 0.5));
  EXPECT_EQ(nodes_text(fused({x_, row_, column_}, {where(both, opaque_(where(both, x_, -1.0)), 0.0)})),
            "fused(index_along le where) custom fused(index_along le logical_and lt where) custom fused(index_along le logical_and lt where)");
}

TEST_F(RepeatedValues, AreNotThoseOfArraysAsLarge) {
  EXPECT_EQ(around(gt(x_, 0.5)), "fused(gt where) custom fused(mul where)");
  const Variable y = input({float32, {64, 32}}, "y");
  EXPECT_EQ(around(gt(y, row_), {y, row_}), "fused(gt where) custom fused(mul where)");
  EXPECT_EQ(fused({few_, row_}, {where(gt(few_ * 0.0 + row_, 0.0), opaque_(gt(few_ * 0.0 + row_, 0.0)) * few_, 0.0)}).node_count(), 3);
}

TEST_F(RepeatedValues, AreMadeOfOneArrayWhichIsReadInTheirPlace) {
  const Variable scaled = x_ * 0.5 + row_, other = input({float32, {64, 32}}, "other");
  EXPECT_EQ(nodes_text(fused({x_, row_}, {opaque_(exp(scaled)) * scaled})), "fused(add exp mul) custom fused(add mul mul)");
  EXPECT_EQ(nodes_text(fused({x_, row_}, {opaque_(exp(scaled)) * scaled, scaled})), "fused(add exp mul) custom mul") << "it is a result";
  EXPECT_EQ(nodes_text(fused({x_, row_}, {opaque_(exp(scaled)) * opaque_(scaled) * scaled})), "fused(add exp mul) custom custom fused(mul mul)") << "who reads it needs it in memory";
  EXPECT_EQ(nodes_text(fused({x_, other}, {opaque_(exp(x_ * other)) * (x_ * other)})), "fused(exp mul) custom mul") << "of two arrays";
  const Variable lying = input({float32, {32, 64}}, "lying"), turned = transpose(lying);
  EXPECT_EQ(nodes_text(fused({lying}, {opaque_(exp(turned * 0.5)) * (turned * 0.5)})), "dimshuffle fused(exp mul) custom mul") << "of a view";
}

TEST_F(RepeatedValues, AreNotDear) { EXPECT_EQ(around(gt(sin(row_ + column_), 0.5), {row_, column_}), "fused(add gt sin where) custom fused(mul where)"); }

TEST_F(RepeatedValues, AreNotMadeOfWhatAKernelHas) {
  const Variable inner = sum(x_ * row_, 1, keepdims);  // of a kernel, which would have to write it
  EXPECT_EQ(around(gt(inner, column_), {row_, column_}), "fused(gt mul sum where) custom fused(mul where)");
}

/// Rows less their sums, then less the columns' greatest: the sums are written, not the differences.
TEST_F(RepeatedValues, AreMadeOfAnArrayAndOfWhatAKernelGivesEachRow) {
  const Variable centred = x_ - sum(x_, 1, keepdims);
  EXPECT_EQ(nodes_text(fused({x_}, {centred - opaque_(max(centred, 0, keepdims))})), "fused(max sub sum) custom fused(sub sub)");
  EXPECT_EQ(nodes_text(fused({x_}, {centred - opaque_(max(centred, 0, keepdims)), centred})), "fused(max sub sum) custom sub") << "it is a result";
}

/// A mask of (64, 32) that broadcasts over matrices is little beside them.
TEST_F(RepeatedValues, AreReadInTheirOwnShape) {
  const Variable s = input({float32, {5, 64, 32}}, "s"), mask = le(index_along(x_, 1), index_along(x_, 0));
  const std::string text = nodes_text(fused({x_, s}, {where(mask, opaque_(where(mask, s, 0.0)) * s, 0.0)}));
  EXPECT_EQ(text, "fused(index_along index_along le) where custom fused(mul where)");
}

}  // namespace
}  // namespace damo
