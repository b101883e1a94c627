#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/graph.hpp>
#include <damo/op.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/shape.hpp>
#include <damo/ops/subtensor.hpp>
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
  const Op::Layout layout = node.op().view_layout(node, std::vector<Op::Layout>{{{2, 3}, {3, 1}, 5}});
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

TEST(ShapeOps, InferExtentsFromTypes) {
  const Variable x = input({float32, {2, kUnknown, 4}});
  EXPECT_EQ(reshape(x, {-1, 8}).dims(), (Shape{kUnknown, 8}));
  EXPECT_EQ(reshape(input({float32, {2, 3}}), {-1, 2}).dims(), (Shape{3, 2}));
  EXPECT_EQ(flatten(x, 1).dims(), (Shape{2, kUnknown}));
  EXPECT_EQ(flatten(x, 0, 0).dims(), x.dims());
  EXPECT_EQ(subtensor(x, {1, {0, 3}, {1, 3}}).dims(), (Shape{kUnknown, 2}));
  EXPECT_EQ(concatenate({x, x}, -1).dims(), (Shape{2, kUnknown, 8}));
  EXPECT_EQ(stack({x, x}, -1).dims(), (Shape{2, kUnknown, 4, 2}));
  EXPECT_EQ(pad(x, {{1, 1}, {2, 2}, {}}).dims(), (Shape{4, kUnknown, 4}));
  EXPECT_EQ(tile(x, {3}).dims(), (Shape{2, kUnknown, 12}));
  EXPECT_EQ(broadcast_to(x, {5, -1, -1, 4}).dims(), (Shape{5, 2, kUnknown, 4}));
  EXPECT_EQ(concatenate({matrix("a", int32), matrix("b", float32)}).dtype(), float64) << "as arithmetic promotes";
}

TEST(ShapeOps, NameWhatCannotFitWhenTheGraphIsBuilt) {
  using ::testing::AllOf;
  using ::testing::HasSubstr;
  const Variable x = input({float32, {2, 3}}, "x");
  const auto error = [](auto work) -> std::string {
    try {
      work();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(error([&] { reshape(x, {4, -1}); }), HasSubstr("6 elements are not a multiple of 4"));
  EXPECT_THAT(error([&] { reshape(x, {4, -1}); }), HasSubstr("shape_test.cpp:"));
  EXPECT_THAT(error([&] { reshape(matrix("y"), {-1, -1}); }), AllOf(HasSubstr("reshape: (?, ?) cannot become (?, ?): only one extent may be -1"), HasSubstr("give the others as numbers")));
  EXPECT_THAT(error([&] { subtensor(x, {0, 1, 2}); }), AllOf(HasSubstr("3 indices for 2 axes"), HasSubstr("expand_dims makes more of these")));
  EXPECT_THAT(error([&] { subtensor(x, {5}); }), AllOf(HasSubstr("position 5 is not on axis 0, whose extent is 2"), HasSubstr("give positions from -2 to 1")));
  EXPECT_THAT(error([&] { subtensor(matrix("y"), {{0, 4, 0}}); }), HasSubstr("the step of axis 0 is 0"));
  EXPECT_THAT(error([&] { concatenate({x, input({float32, {2, 4}}, "y")}); }), AllOf(HasSubstr("concatenate: (2, 4) does not fit to (2, 3) along axis 0"), HasSubstr("broadcast_to, pad or transpose one of them")));
  EXPECT_THAT(error([&] { concatenate(std::vector<Variable>()); }), HasSubstr("there are no tensors"));
  EXPECT_THAT(error([&] { concatenate({scalar("a"), scalar("b")}); }), HasSubstr("stack them"));
  EXPECT_THAT(error([&] { split(x, {1, 3}, 1); }), HasSubstr("the parts have 4 elements along axis 1, x has 3"));
  EXPECT_THAT(error([&] { set_subtensor(x, {0}, input({float64, {3}}, "y")); }), HasSubstr("y, float64, would not stay what it is in x, which is float32"));
  EXPECT_THAT(error([&] { set_subtensor(vector("b", uint8), {0}, 300); }), HasSubstr("set_subtensor: 300 does not fit uint8"));
  EXPECT_THAT(error([&] { inc_subtensor(vector("b", uint8), {vector("i", int64)}, -1); }), HasSubstr("inc_subtensor: -1 does not fit uint8"));
  EXPECT_THAT(error([&] { pad(vector("b", int8), {{1, 1}}, 128); }), HasSubstr("pad: 128 does not fit int8"));
  EXPECT_THAT(error([&] { set_subtensor(x, {0}, input({float32, {4}}, "y")); }), AllOf(HasSubstr("set_subtensor: y of shape (4,) does not fit to the part of x, whose shape is (3,)"), HasSubstr("y float32 (4,)"), HasSubstr("broadcast or reshape it")));
  EXPECT_THAT(error([&] { inc_subtensor(vector("b", bool_), {0}, true); }), HasSubstr("x is bool, which nothing is added to"));
  EXPECT_THAT(error([&] { pad(x, {{1, 1}}); }), HasSubstr("1 widths for 2 axes"));
  EXPECT_THAT(error([&] { flatten(x, 1, 0); }), HasSubstr("axis 1 comes after axis 0"));
  EXPECT_THAT(error([&] { squeeze(x, 0); }), HasSubstr("squeeze: axis 0 has 2 elements, not 1"));
  EXPECT_THAT(error([&] { repeat(x, -1, 0); }), HasSubstr("the count is -1"));
}

TEST(Subtensor, IsOneOpForEqualIndices) {
  const Variable x = matrix("x");
  const auto op = [](const Variable& y) -> const Op& { return y.owner().op(); };
  EXPECT_TRUE(op(subtensor(x, {{1, 3}})).equals(op(subtensor(x, {{1, 3}}))));
  EXPECT_FALSE(op(subtensor(x, {{1, 3}})).equals(op(subtensor(x, {{1, 4}}))));
  EXPECT_FALSE(op(set_subtensor(x, {0}, 1)).equals(op(inc_subtensor(x, {0}, 1))));
}

}  // namespace
}  // namespace damo
