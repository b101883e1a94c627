// The graphs that divide_among_parts makes, and the rules that go before it. Values: tests/function/parts_test.cpp.
#include "ops/rewrites/divide_among_parts.hpp"

#include <gmock/gmock.h>

#include <damo/gradient.hpp>
#include <damo/ops/linalg.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/reduce.hpp>
#include <damo/ops/scan.hpp>
#include <damo/ops/shape.hpp>
#include <damo/ops/subtensor.hpp>
#include "ops/rewrites/simplify.hpp"
#include "support/formula.hpp"

namespace damo {
namespace {

using damo::testing::formula;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class DivideAmongParts : public ::testing::Test {
 protected:
  FunctionGraph graph_of(const std::vector<Variable>& outputs) const {
    const Variable inputs[] = {a_, b_, c_, w_, r_, u_};
    return FunctionGraph(inputs, outputs, true);
  }
  std::string divided(const Variable& output) const { return formula(divide_among_parts(merge_duplicates(graph_of({output})))); }
  std::string simplified(const Variable& output) const { return formula(divide_among_parts(apply_rules(merge_duplicates(graph_of({output})), simplification_rules(false)))); }

  const Variable a_ = input({float32, {kUnknown, 2}}, "a"), b_ = input({float32, {kUnknown, 3}}, "b"), c_ = input({float32, {kUnknown, 5}}, "c");
  const Variable w_ = input({float32, {5}}, "w"), r_ = input({float32, {kUnknown, 1}}, "r"), u_ = matrix("u");
  const Variable ab_ = concatenate({a_, b_}, 1);
};

TEST_F(DivideAmongParts, MovesElementwiseWorkInFront) {
  EXPECT_EQ(divided(exp(ab_) * 2.0), "concatenate[1](mul(exp(a), 2), mul(exp(b), 2))");
  EXPECT_EQ(divided(ab_ * c_ + r_), "concatenate[1](add(mul(a, subtensor[:, 0:2](c)), r), add(mul(b, subtensor[:, 2:5](c)), r))");
  EXPECT_EQ(divided(ab_ * w_), "concatenate[1](mul(a, subtensor[0:2](w)), mul(b, subtensor[2:5](w)))") << "an operand with fewer axes";
  EXPECT_EQ(divided(expand_dims(w_, 0) * 2.0 - ab_), "concatenate[1](sub(mul(subtensor[:, 0:2](dimshuffle[-1, 0](w)), 2), a), sub(mul(subtensor[:, 2:5](dimshuffle[-1, 0](w)), 2), b))") << "work that nobody else reads";
  EXPECT_EQ(divided(ab_ + concatenate({sqr(a_), b_}, 1)), "concatenate[1](add(a, sqr(a)), add(b, b))") << "parts of the same extents";
  EXPECT_EQ(divided(sum(dot(transpose(exp(ab_)), c_))), divided(sum(dot(transpose(concatenate({exp(a_), exp(b_)}, 1)), c_)))) << "up to a product";
}

TEST_F(DivideAmongParts, LeavesWhatOneKernelDoesOfTheWhole) {
  EXPECT_THAT(divided(sum(exp(ab_), 1)), Not(StartsWith("concatenate"))) << "a reduction of it";
  EXPECT_THAT(divided(ab_ / sum(ab_, 1, keepdims)), StartsWith("true_div"));
  EXPECT_THAT(divided(ab_ * sum(c_, 1, keepdims)), StartsWith("mul")) << "beside a reduction of another value";
  EXPECT_THAT(divided(cumsum(ab_ * 2.0, 1)), StartsWith("cumsum"));
  EXPECT_THAT(divided(ab_ + dot(c_, constant(Scalar(1.0f)) * outer(w_, w_))), StartsWith("add")) << "a product has an epilogue";
  EXPECT_THAT(divided(ab_ + u_), StartsWith("add")) << "of an extent that is not known";
  const Variable h = exp(c_);
  EXPECT_THAT(formula(divide_among_parts(graph_of({ab_ + h, h}))), StartsWith("add")) << "work that somebody else needs as a whole";
  EXPECT_THAT(divided(concatenate({u_, a_}, 1) * 2.0), StartsWith("mul")) << "a part of an unknown extent";
  EXPECT_THAT(divided(ab_ + concatenate({sqr(b_), a_}, 1)), StartsWith("add")) << "a part that is computed would be cut";
  const Variable q = sqr(a_);
  EXPECT_THAT(divided(concatenate({q, r_, q}, 1) + concatenate({a_, a_, r_}, 1)), StartsWith("add")) << "where it stands a second time";
}

TEST_F(DivideAmongParts, DividesWhereverSomePartEnds) {
  EXPECT_EQ(divided(ab_ + concatenate({b_, a_}, 1)), "concatenate[1](add(a, subtensor[:, 0:2](b)), add(subtensor[:, 0:1](b), subtensor[:, 2:3](b)), add(subtensor[:, 1:3](b), a))");
  EXPECT_EQ(divided(concatenate({a_, b_}, 1) + tanh(concatenate({b_, a_}, 1) * w_) * 2.0),
            divided(concatenate({a_, subtensor(b_, {ellipsis, {0, 1}}), subtensor(b_, {ellipsis, {1, 3}})}, 1) + tanh(concatenate({subtensor(b_, {ellipsis, {0, 2}}), subtensor(b_, {ellipsis, {2, 3}}), a_}, 1) * w_) * 2.0))
      << "behind other work";
}

/// Both neighbours' shares, with work in common, as a resampling has.
TEST_F(DivideAmongParts, WhatSharesWorkIsDividedAlike) {
  const Variable x = input({float32, {4, 6}}, "x"), half = 0.5 * x, inputs[] = {x};
  const auto cut = [&](std::int64_t first, std::int64_t last) { return subtensor(x, {{}, {first, last}}); };
  const Variable outputs[] = {half + concatenate({cut(0, 1), cut(0, 5)}, 1), half - concatenate({cut(1, 6), cut(5, 6)}, 1)};
  const FunctionGraph graph = divide_among_parts(merge_duplicates(FunctionGraph(inputs, outputs)));
  EXPECT_EQ(formula(graph, graph.outputs()[0]), "concatenate[1](add(mul(0.5, subtensor[:, 0:1](x)), subtensor[:, 0:1](x)), add(mul(0.5, subtensor[:, 1:5](x)), subtensor[:, 0:4](subtensor[:, 0:5](x))), add(mul(0.5, subtensor[:, 5:6](x)), subtensor[:, 4:5](subtensor[:, 0:5](x))))");
  EXPECT_EQ(formula(graph, graph.outputs()[1]), "concatenate[1](sub(mul(0.5, subtensor[:, 0:1](x)), subtensor[:, 0:1](subtensor[:, 1:6](x))), sub(mul(0.5, subtensor[:, 1:5](x)), subtensor[:, 1:5](subtensor[:, 1:6](x))), sub(mul(0.5, subtensor[:, 5:6](x)), subtensor[:, 5:6](x)))");
}

TEST_F(DivideAmongParts, DividesAlongEachAxis) {
  const Variable x = input({float32, {4, 6}}, "x"), y = roll(x, 1, 0) + roll(x, -1, 0) + roll(x, 2, 1) - 3.0 * x, inputs[] = {x}, outputs[] = {y};
  const FunctionGraph graph = divide_among_parts(apply_rules(FunctionGraph(inputs, outputs), simplification_rules(false)));
  int kernels = 0, together = 0;
  for (NodeId node : graph.nodes()) {
    kernels += graph.op(node).name() == "sub";
    together += graph.op(node).name() == "concatenate";
  }
  EXPECT_EQ(kernels, 3 * 2);
  EXPECT_EQ(together, 1 + 2) << "of rows, or of columns, in each part along the other axis";
}

/// Of three axes with a neighbour to each side 3 * 3 * 3 parts, of two neighbours 5 * 5 * 5, as far as they are large.
TEST_F(DivideAmongParts, LeavesWhatWouldHaveManySmallPartsAlongSeveralAxes) {
  const auto kernels = [](int neighbours, const Shape& dims) {
    const Variable x = input({float32, dims}, "x"), inputs[] = {x};
    Variable y = x;
    for (int axis = 0; axis < 3; ++axis) {
      for (int by = 1; by <= neighbours; ++by) y = y + (roll(x, by, axis) + roll(x, -by, axis));
    }
    const Variable outputs[] = {sqr(y)};
    const FunctionGraph graph = divide_among_parts(apply_rules(FunctionGraph(inputs, outputs), simplification_rules(false)));
    int count = 0;
    for (NodeId node : graph.nodes()) count += graph.op(node).name() == "sqr";
    return count;
  };
  EXPECT_EQ(kernels(1, {48, 48, 48}), 2 + 3 * 3) << "faces are small";
  EXPECT_EQ(kernels(1, {32, 32, 32}), 1) << "small ones";
  EXPECT_EQ(kernels(2, {48, 48, 48}), 1);
  EXPECT_GT(kernels(2, {128, 128, 128}), 1) << "large ones";
  EXPECT_EQ(kernels(3, {512, 512, 512}), 1) << "7 * 7 * 7";
}

TEST_F(DivideAmongParts, ARollIsItsTwoPartsTheOtherWayRound) {
  EXPECT_EQ(simplified(roll(c_, 2, 1)), "concatenate[1](subtensor[:, 3:5](c), subtensor[:, 0:3](c))");
  EXPECT_EQ(simplified(roll(c_, -1, 1)), "concatenate[1](subtensor[:, 1:5](c), subtensor[:, 0:1](c))");
  EXPECT_EQ(simplified(roll(c_, 5, 1)), "c");
  EXPECT_THAT(simplified(roll(u_, 1, 1)), StartsWith("roll")) << "of an extent that is not known";
  EXPECT_EQ(simplified(exp(roll(c_, 2, 1))), "concatenate[1](exp(subtensor[:, 3:5](c)), exp(subtensor[:, 0:3](c)))");
}

TEST_F(DivideAmongParts, TheWholeMayBeNeededToo) {
  EXPECT_EQ(formula(divide_among_parts(graph_of({exp(ab_), ab_}))), "concatenate[1](exp(a), exp(b))");
  const FunctionGraph several = divide_among_parts(graph_of({exp(ab_), exp(ab_) * w_}));
  EXPECT_EQ(formula(several, several.outputs()[1]), "concatenate[1](mul(exp(a), subtensor[0:2](w)), mul(exp(b), subtensor[2:5](w)))");
}

TEST_F(DivideAmongParts, PartsOfGradientsAreSlicesOfWhatIsCutBefore) {
  const Variable y = ab_ * w_;
  EXPECT_EQ(simplified(exp(lop(std::span(&y, 1), std::span(&c_, 1), std::span(&b_, 1))[0])), "exp(mul(subtensor[:, 2:5](c), subtensor[2:5](w)))");
}

}  // namespace
}  // namespace damo
