// forward_shapes: what is read for its shape alone is not computed, and no error of shapes gets lost.
#include "ops/rewrites/forward_shapes.hpp"

#include <gmock/gmock.h>

#include <damo/gradient.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/reduce.hpp>
#include <damo/ops/shape.hpp>
#include <damo/rewrite.hpp>
#include "support/formula.hpp"

namespace damo {
namespace {

using damo::testing::formula;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ForwardShapes : public ::testing::Test {
 protected:
  std::string forwarded(const std::vector<Variable>& outputs) const {
    const Variable inputs[] = {x_, y_, row_, k_, one_, number_, label_};
    const FunctionGraph graph = forward_shapes(FunctionGraph(inputs, outputs, true));
    graph.verify();
    return formula(graph);
  }
  const Variable x_ = matrix("x"), y_ = matrix("y"), row_ = vector("row"), k_ = input({float32, {2, 3}}, "k"), one_ = input({float32, {1}}, "one"), number_ = scalar("number"), label_ = vector("label", int32);
};

TEST_F(ForwardShapes, DropsAFillBesideAValueOfItsShape) {
  EXPECT_EQ(forwarded({second(exp(x_), 2.0) * x_}), "mul(2, x)");
  EXPECT_EQ(forwarded({second(exp(x_), 2.0) * tanh(x_ * 3.0)}), "mul(2, tanh(mul(x, 3)))");
  EXPECT_EQ(forwarded({second(exp(k_), 2.0) * tanh(k_)}), "mul(2, tanh(k))");
  EXPECT_EQ(forwarded({second(max(x_, 1, true), 2.0) * x_}), "mul(2, x)") << "that stretches over it";
}

TEST_F(ForwardShapes, DropsAFillOfAFill) {
  EXPECT_EQ(forwarded({second(exp(x_), second(tanh(x_), 2.0)) * x_}), "mul(2, x)");
  EXPECT_EQ(forwarded({neg(second(exp(x_), number_) * 3.0) * x_}), "mul(neg(mul(number, 3)), x)") << "and of what follows from one";
}

TEST_F(ForwardShapes, KeepsAFillThatGivesTheShape) {
  EXPECT_EQ(forwarded({second(exp(x_), 2.0) * row_}), "mul(second(x, 2), row)") << "but computes no exp for it";
  EXPECT_EQ(forwarded({second(exp(x_), 2.0)}), "second(x, 2)");
}

TEST_F(ForwardShapes, KeepsAFillThatGivesAnAxisOfOneElement) {
  EXPECT_EQ(forwarded({tanh(second(one_, number_))}), "second(one, tanh(number))");
  EXPECT_EQ(forwarded({second(one_, number_) * number_}), "mul(second(one, number), number)");
  EXPECT_EQ(forwarded({second(one_, number_) * row_}), "mul(number, row)");
}

TEST_F(ForwardShapes, KeepsWhatAloneWouldFindAnErrorOfShapes) {
  EXPECT_EQ(forwarded({grad(sum(x_ * y_), x_)}), "mul(second(mul(x, y), dimshuffle[-1, -1](1)), y)") << "nothing else compares x and y";
  EXPECT_EQ(forwarded({second(x_ + y_, 2.0) * x_}), "mul(second(add(x, y), 2), x)");
  EXPECT_EQ(forwarded({second(x_ + y_, 2.0) * x_, x_ - y_}), "mul(2, x)") << "the other result does";
  EXPECT_EQ(forwarded({second(y_, 2.0) * x_}), "mul(second(y, 2), x)");
}

TEST_F(ForwardShapes, CountsOnTheHost) {
  const std::string text = forwarded({grad(mean(sqr(x_)), x_)});
  EXPECT_THAT(text, HasSubstr("size[shape[0] * shape[1]](x)")) << text;
  EXPECT_THAT(text, Not(AnyOf(HasSubstr("second"), HasSubstr("count")))) << text;
  const Variable loss = mean(exp(row_)), by_label = mean(sum(where(eq(x_, expand_dims(label_, 1)), x_, 0.0), 1));
  EXPECT_THAT(forwarded({grad(loss, row_), loss}), HasSubstr("size[shape[0]](row)"));
  EXPECT_THAT(forwarded({grad(by_label, x_), by_label}), HasSubstr("size[shape[0]](x)")) << "of what is given, whatever is computed";
}

TEST_F(ForwardShapes, CountsKnownExtentsBesideUnknownOnes) {
  const Variable part = input({float32, {4, kUnknown, 3}}, "x");
  const Variable inputs[] = {part};
  const auto of = [&](const Variable& output) { return formula(forward_shapes(FunctionGraph(inputs, std::span(&output, 1)))); };
  EXPECT_THAT(of(grad(mean(sqr(part)), part)), HasSubstr("size[12 * shape[1]](x)"));
  EXPECT_THAT(of(grad(sum(sqr(mean(sqr(part), 1))), part)), AllOf(HasSubstr("size[shape[1]](x)"), Not(HasSubstr("count")))) << "the other operand says how many rows there are";
}

TEST_F(ForwardShapes, KnowsCountsOfExtentsThatAnotherInputTells) {
  const std::string text = forwarded({grad(mean(sqr(x_)), x_), x_ - k_});
  EXPECT_THAT(text, AllOf(HasSubstr("(1, 1): 6"), Not(HasSubstr("size")))) << text;
}

TEST_F(ForwardShapes, CountsInAKernelWhereOtherRowsAreUnknown) {
  EXPECT_THAT(forwarded({grad(sum(sqr(mean(sqr(x_), 1))), x_)}), HasSubstr("count[1](x)"));
}

TEST_F(ForwardShapes, CountsInAKernelWhereNothingElseWouldFindAnErrorOfShapes) {
  EXPECT_THAT(forwarded({grad(mean(x_ * y_), x_)}), HasSubstr("count[0, 1](mul(x, y))")) << "nothing else compares x and y";
}

TEST_F(ForwardShapes, LeavesValuesThatAreComputedAnyway) {
  const Variable h = exp(x_);
  EXPECT_EQ(forwarded({second(h, 2.0), h}), "second(exp(x), 2)");
}

}  // namespace
}  // namespace damo
