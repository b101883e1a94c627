#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/graph.hpp>
#include <damo/op.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/shape.hpp>
#include "support/errors.hpp"

namespace damo {
namespace {

using damo::testing::error_of;

TEST(Transpose, ReversesTheAxesOfTheType) {
  const Variable x = input({float32, {2, kUnknown, 4}});
  EXPECT_EQ(transpose(x).dims(), (Shape{4, kUnknown, 2}));
}

TEST(Dimshuffle, AddsAxesOfExtentOne) {
  const Variable x = vector("x");
  EXPECT_EQ(dimshuffle(x, {kNewAxis, 0}).dims(), (Shape{1, kUnknown}));
  EXPECT_EQ(expand_dims(x, -1).dims(), (Shape{kUnknown, 1}));
}

TEST(ExpandDims, NamesTheAxesThatThereAre) {
  const Variable x = vector("x");
  const auto error = [&](int axis) { return error_of<ShapeError>([&] { expand_dims(x, axis); }); };
  EXPECT_THAT(error(5), ::testing::HasSubstr("expand_dims: axis 5 does not exist: the result has 2 axes"));
  EXPECT_THAT(error(5), ::testing::HasSubstr("x float32 (?,)"));
  EXPECT_THAT(error(5), ::testing::HasSubstr("shape_test.cpp:"));
  EXPECT_THAT(error(5), ::testing::HasSubstr("from -2 to 1"));
  EXPECT_THAT(error(-3), ::testing::HasSubstr("axis -3 does not exist"));
  EXPECT_EQ(error(1), "nothing thrown");
  EXPECT_EQ(error(-2), "nothing thrown");
}

std::string dimshuffle_error(const Variable& x, std::initializer_list<int> pattern) {
  return error_of<ShapeError>([&] { dimshuffle(x, pattern); });
}

TEST(Dimshuffle, NamesTheAxisThatDoesNotFit) {
  const Variable x = matrix("x");
  EXPECT_THAT(dimshuffle_error(x, {0, 2}), ::testing::HasSubstr("axis 2 does not exist: x has 2 axes"));
  EXPECT_THAT(dimshuffle_error(x, {0, 0, 1}), ::testing::HasSubstr("axis 0 is named twice"));
  EXPECT_THAT(dimshuffle_error(x, {1}), ::testing::HasSubstr("axis 0 is left out and its extent is not known to be 1"));
}

TEST(Dimshuffle, IsAView) {
  const Variable x = matrix("x");
  const Apply node = transpose(x).owner();
  EXPECT_EQ(node.op().view_of(0), 0);
  const Op::Layout layout = node.op().view_layout(node, {{2, 3}, {3, 1}, 5});
  EXPECT_EQ(layout.shape, (Shape{3, 2}));
  EXPECT_EQ(layout.strides, (Strides{1, 3}));
  EXPECT_EQ(layout.offset, 5);
}

TEST(Contiguous, KeepsTheTypeAndMayBeItsInput) {
  const Variable x = matrix("x");
  const Variable y = contiguous(x);
  EXPECT_EQ(y.type(), x.type());
  EXPECT_EQ(y.owner().op().passes_through(0), 0);
}

}  // namespace
}  // namespace damo
