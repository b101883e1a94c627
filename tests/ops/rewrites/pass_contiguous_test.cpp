#include "ops/rewrites/pass_contiguous.hpp"

#include <gtest/gtest.h>

#include <damo/ops/math.hpp>
#include <damo/ops/reduce.hpp>
#include <damo/ops/shape.hpp>
#include <damo/ops/subtensor.hpp>
#include "support/graphs.hpp"

namespace damo {
namespace {

using damo::testing::nodes_text;

std::string passed(const Variable& x, const Variable& y) { return nodes_text(pass_contiguous(FunctionGraph(std::vector<Variable>{x}, std::vector<Variable>{y}))); }

TEST(PassContiguous, LeavesTheCopyOutBehindWhatWritesInOrder) {
  const Variable x = matrix("x");
  EXPECT_EQ(passed(x, reshape(exp(x), {-1})), "exp reshape");
  EXPECT_EQ(passed(x, flatten(sum(x, 0, keepdims))), "sum flatten");
  EXPECT_EQ(passed(x, reshape(concatenate({x, x}, 0), {-1})), "concatenate reshape");
  EXPECT_EQ(passed(x, reshape(reshape(x, {-1}), {2, -1})), "contiguous reshape reshape");
}

TEST(PassContiguous, TakesAxesOfViewsApartWhereTheyLie) {
  const Variable x = input({float32, {kUnknown, 12}}, "x"), y = input({float32, {12, 6}}, "y");
  const auto columns = [](const Variable& of) { return subtensor(of, {{}, {0, 6}}); };
  EXPECT_EQ(passed(x, exp(reshape(columns(x), {-1, 2, 3}))), "subtensor take_apart exp") << "of an extent that is not known";
  EXPECT_EQ(passed(y, exp(reshape(transpose(y), {3, 2, 1, 4, 3}))), "dimshuffle take_apart exp");
  EXPECT_EQ(passed(y, exp(reshape(transpose(y), {6, 1, 12, 1}))), "dimshuffle take_apart exp");
  EXPECT_EQ(passed(y, exp(reshape(transpose(y), {36, 2}))), "dimshuffle contiguous reshape exp") << "it puts axes together";
  EXPECT_EQ(passed(y, exp(reshape(transpose(y), {4, 18}))), "dimshuffle contiguous reshape exp");
  EXPECT_EQ(passed(x, exp(reshape(columns(x), {2, -1, 3}))), "subtensor contiguous reshape exp") << "the rest is not the first axis";
  EXPECT_EQ(passed(x, exp(reshape(columns(x), {-1, 3, 1}))), "subtensor contiguous reshape exp") << "twice as many of the first";
  EXPECT_EQ(passed(y, reshape(transpose(y), {3, 2, 12})), "dimshuffle contiguous reshape") << "a result";
}

TEST(PassContiguous, KeepsItBehindViewsAndInputs) {
  const Variable x = matrix("x");
  EXPECT_EQ(passed(x, contiguous(x)), "contiguous");
  EXPECT_EQ(passed(x, reshape(transpose(exp(x)), {-1})), "exp dimshuffle contiguous reshape");
}

TEST(PassContiguous, LetsAKernelWriteItsResultInAnotherOrderOfAxes) {
  const Variable x = input({float32, {kUnknown, 3, 16}}, "x");
  EXPECT_EQ(passed(x, contiguous(dimshuffle(exp(x), {1, 0, 2}))), "exp dimshuffle concatenate");
  EXPECT_EQ(passed(x, contiguous(dimshuffle(sum(x, 1, keepdims), {1, kNewAxis, 0, 2}))), "sum dimshuffle concatenate");
}

/// As heads whose halves were turned into each other.
TEST(PassContiguous, LetsKernelsWritePartsOfAWholeInAnotherOrderOfAxes) {
  const Variable x = input({float32, {kUnknown, 3, 16}}, "x"), both = concatenate({exp(x), sqr(x)}, 2);
  EXPECT_EQ(passed(x, contiguous(dimshuffle(both, {1, 0, 2}))), "sqr dimshuffle exp dimshuffle concatenate");
  EXPECT_EQ(passed(x, contiguous(dimshuffle(concatenate({exp(x), x}, 2), {1, 0, 2}))), "exp concatenate dimshuffle contiguous") << "no kernel writes x";
  EXPECT_EQ(passed(x, contiguous(dimshuffle(both, {1, 0, 2})) + sum(both)), "sqr exp concatenate sum dimshuffle dimshuffle contiguous add") << "the whole is read, too";
  const Variable narrow = input({float32, {4, 3, 8}}, "narrow");
  EXPECT_EQ(passed(narrow, contiguous(dimshuffle(concatenate({exp(narrow), sqr(narrow)}, 2), {1, 0, 2}))), "sqr exp concatenate dimshuffle contiguous") << "parts of short runs";
}

TEST(PassContiguous, LeavesPiecesThatACopyMovesSooner) {
  const Variable x = input({float32, {kUnknown, 3, 16}}, "x"), narrow = input({float32, {5, 3, 15}}, "narrow"), open = input({float32, {5, 3, kUnknown}}, "open");
  EXPECT_EQ(passed(x, contiguous(dimshuffle(exp(x), {1, 2, 0}))), "exp dimshuffle contiguous");
  EXPECT_EQ(passed(narrow, contiguous(dimshuffle(exp(narrow), {1, 0, 2}))), "exp dimshuffle contiguous");
  EXPECT_EQ(passed(open, contiguous(dimshuffle(exp(open), {1, 0, 2}))), "exp dimshuffle contiguous");
  EXPECT_EQ(passed(x, contiguous(dimshuffle(x, {1, 0, 2}))), "dimshuffle contiguous");
  EXPECT_EQ(passed(x, contiguous(dimshuffle(exp(x), {0, kNewAxis, 1, 2}))), "exp dimshuffle contiguous") << "which lies in order already";
}

}  // namespace
}  // namespace damo
