#include "ops/rewrites/symbolic_shapes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/ops/math.hpp>
#include <damo/ops/reduce.hpp>
#include <damo/ops/shape.hpp>
#include "support/test_ops.hpp"

namespace damo {
namespace {

using ::testing::ElementsAre;
using Symbols = std::vector<int>;
using Variables = std::vector<Variable>;

/// A graph's inputs come first in values, in order, then its outputs.
struct Named {
  Named(const Variables& inputs, const Variables& outputs) : graph(inputs, outputs), shapes(graph, graph.toposort()) {}
  Symbols input(std::size_t i) const { return shapes.of(graph.inputs()[i]); }
  Symbols output(std::size_t i) const { return shapes.of(graph.outputs()[i]); }
  FunctionGraph graph;
  SymbolicShapes shapes;
};

class SymbolicExtents : public ::testing::Test {
 protected:
  const Variable x_ = matrix("x"), y_ = matrix("y"), z_ = matrix("z"), row_ = vector("row");
};

TEST_F(SymbolicExtents, OfInputsDifferUntilAnOpSaysThatTheyAreEqual) {
  const Named apart({x_, y_}, {exp(x_), exp(y_)});
  EXPECT_NE(apart.input(0)[0], apart.input(1)[0]);
  EXPECT_NE(apart.input(0)[0], apart.input(0)[1]);
  EXPECT_EQ(apart.output(0), apart.input(0));
  const Named added({x_, y_}, {x_ + y_});
  EXPECT_EQ(added.input(0), added.input(1));
  EXPECT_EQ(added.output(0), added.input(0));
  EXPECT_NE(added.input(0)[0], added.input(0)[1]);
}

TEST_F(SymbolicExtents, AreEqualThroughAThird) {
  const Variable product = x_ * 2.0;
  const Named named({x_, y_, z_}, {product, y_ + z_, z_ * x_});
  EXPECT_EQ(named.input(0), named.input(1));
  EXPECT_EQ(named.output(0), named.output(1)) << "also those that were named before it was known";
}

TEST_F(SymbolicExtents, AlignAtTheLastAxis) {
  const Named named({x_, row_}, {x_ * row_});
  EXPECT_EQ(named.input(1)[0], named.input(0)[1]);
  EXPECT_EQ(named.output(0), named.input(0));
}

TEST_F(SymbolicExtents, ThatAreKnownAreOneWhereTheyAreEqual) {
  const Variable a = input({float32, {8, 3}}, "a"), b = input({float32, {3, 8}}, "b"), c = input({float32, {1, 8}}, "c");
  const Named named({a, b, c, x_}, {exp(a), exp(b), exp(c), a + x_});
  EXPECT_EQ(named.input(0)[0], named.input(1)[1]);
  EXPECT_EQ(named.input(0)[1], named.input(1)[0]);
  EXPECT_NE(named.input(0)[0], named.input(0)[1]);
  EXPECT_THAT(named.input(2), ElementsAre(SymbolicShapes::kOne, named.input(0)[0]));
  EXPECT_EQ(named.input(3), named.input(0)) << "an unknown extent is the known one that it is added to";
}

TEST_F(SymbolicExtents, OfOneSayNothingOfOthers) {
  const Variable column = input({float32, {kUnknown, 1}}, "column");
  const Named named({x_, column}, {x_ - column});
  EXPECT_THAT(named.input(1), ElementsAre(named.input(0)[0], SymbolicShapes::kOne));
  EXPECT_EQ(named.output(0), named.input(0));
}

TEST_F(SymbolicExtents, OfReducedAxesAreOne) {
  const Named named({x_}, {sum(x_, 1, keepdims), max(x_, 0, keepdims), x_ - mean(x_, 1, keepdims)});
  EXPECT_THAT(named.output(0), ElementsAre(named.input(0)[0], SymbolicShapes::kOne));
  EXPECT_THAT(named.output(1), ElementsAre(SymbolicShapes::kOne, named.input(0)[1]));
  EXPECT_EQ(named.output(2), named.input(0));
}

TEST_F(SymbolicExtents, StayWhereElementsAreNumbered) {
  const Named named({x_}, {index_along(x_, 1)});
  EXPECT_EQ(named.output(0), named.input(0));
}

TEST_F(SymbolicExtents, OfOtherOpsAreNewUnlessTheyAreKnown) {
  const auto opaque = make_op<damo::testing::OpaqueOp>("opaque", 2);
  const Variables both = opaque.outputs({x_});
  const Variable known = input({float32, {8, 8}}, "known");
  const Named named({x_, known}, {both[0], both[1], transpose(known)});
  EXPECT_NE(named.output(0)[0], named.input(0)[0]);
  EXPECT_NE(named.output(0)[0], named.output(1)[0]);
  EXPECT_EQ(named.output(2), named.input(1));
}

TEST_F(SymbolicExtents, OfAScalarAreNone) {
  const Named named({x_}, {sum(x_)});
  EXPECT_TRUE(named.output(0).empty());
}

}  // namespace
}  // namespace damo
