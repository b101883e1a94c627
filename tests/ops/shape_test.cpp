#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/graph.hpp>
#include <damo/op.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/shape.hpp>

namespace damo {
namespace {

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
  const auto error = [&](int axis) -> std::string {
    try {
      expand_dims(x, axis);
    } catch (const ShapeError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(error(5), testing::HasSubstr("expand_dims: axis 5 does not exist: the result has 2 axes"));
  EXPECT_THAT(error(5), testing::HasSubstr("x float32 (?,)"));
  EXPECT_THAT(error(5), testing::HasSubstr("shape_test.cpp:"));
  EXPECT_THAT(error(5), testing::HasSubstr("from -2 to 1"));
  EXPECT_THAT(error(-3), testing::HasSubstr("axis -3 does not exist"));
  EXPECT_EQ(error(1), "no error");
  EXPECT_EQ(error(-2), "no error");
}

std::string error_of(const Variable& x, std::initializer_list<int> pattern) {
  try {
    dimshuffle(x, pattern);
  } catch (const ShapeError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Dimshuffle, NamesTheAxisThatDoesNotFit) {
  const Variable x = matrix("x");
  EXPECT_THAT(error_of(x, {0, 2}), testing::HasSubstr("axis 2 does not exist: x has 2 axes"));
  EXPECT_THAT(error_of(x, {0, 0, 1}), testing::HasSubstr("axis 0 is named twice"));
  EXPECT_THAT(error_of(x, {1}), testing::HasSubstr("axis 0 is left out and its extent is not known to be 1"));
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
