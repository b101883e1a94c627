// The kernels that graphs with reductions become. That they give the same values: tests/function/reduce_fusion_test.cpp.
#include "ops/rewrites/fusion_reductions.hpp"

#include <algorithm>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/gradient.hpp>
#include <damo/ops/cast.hpp>
#include <damo/ops/reduce.hpp>
#include <damo/ops/scan.hpp>
#include <damo/ops/shape.hpp>
#include "ops/lower.hpp"
#include "ops/reduce_op.hpp"
#include "ops/rewrites/fusion.hpp"
#include "ops/rewrites/fusion_groups.hpp"
#include "support/graphs.hpp"
#include "support/row_programs.hpp"

namespace damo {
namespace {

using damo::testing::fused;
using damo::testing::is_convex;
using damo::testing::layer_norm;
using damo::testing::nodes_text;
using damo::testing::OpaqueOp;
using damo::testing::Reachability;
using damo::testing::softmax;
using Variables = std::vector<Variable>;

class ReductionFusion : public ::testing::Test {
 protected:
  std::string text(const Variables& inputs, const Variables& outputs) const { return nodes_text(fused(inputs, outputs)); }
  int kernels(const Variables& inputs, const Variables& outputs) const { return fused(inputs, outputs).node_count(); }
  Variable custom(const Variable& a) const { return opaque_(a); }
  const OpHandle<OpaqueOp> opaque_ = make_op<OpaqueOp>("custom");
  const Variable x_ = matrix("x"), y_ = matrix("y"), w_ = vector("w"), b_ = vector("b");
};

TEST_F(ReductionFusion, MakesOneKernelOfARowProgram) {
  EXPECT_EQ(text({x_}, {softmax(x_, 1)}), "fused(exp max sub sum true_div)");
  EXPECT_EQ(text({x_}, {softmax(x_, 0)}), "fused(exp max sub sum true_div)");
  EXPECT_EQ(kernels({x_, w_, b_}, {layer_norm(x_, w_, b_)}), 1);
  EXPECT_EQ(text({x_, y_}, {sum(x_ * y_, 1, keepdims)}), "fused(mul sum)");
  EXPECT_EQ(kernels({x_}, {sqrt(sum(sqr(x_), 1, keepdims)) + 1.0}), 1);
  EXPECT_EQ(kernels({x_}, {logsumexp(tanh(x_), 1, keepdims), max(x_, 1, keepdims), x_ * 2.0}), 1);
}

TEST_F(ReductionFusion, LetsRowsWaitForANumberThatTheirLastStepReads) {
  const Variable number = custom(sum(w_, 0, keepdims));
  EXPECT_EQ(text({x_, w_}, {softmax(x_, 1) * number}), "sum custom fused(exp max mul sub sum true_div)");
  const Variable exps = exp(x_ - max(x_, 1, keepdims)), sums = sum(exps, 1, keepdims);
  EXPECT_EQ(text({x_}, {exps / custom(sums)}), "fused(exp max sub sum) custom true_div") << "what follows from the rows";
}

TEST_F(ReductionFusion, JoinsReductionsThatReadTheSameArray) {
  EXPECT_EQ(text({x_}, {sum(x_, 1, keepdims), max(x_, 1, keepdims), argmax(x_, 1, keepdims)}), "fused(argmax max sum)");
  EXPECT_EQ(text({x_}, {sum(x_, 1, keepdims), sum(x_, 0, keepdims)}), "fused(sum sum)") << "of rows, and across them";
  EXPECT_EQ(text({x_}, {sum(x_, 1, keepdims), argmax(x_, 0, keepdims)}), "argmax sum") << "a place in a column is none in a row";
}

TEST_F(ReductionFusion, JoinsAcrossTheRowsOfAGroup) {
  EXPECT_EQ(text({x_}, {sum(exp(x_ - max(x_, 1, keepdims)), 0, keepdims)}), "fused(exp max sub sum)");
  const Variable y = layer_norm(x_, w_, b_);
  const Variables gradients = lop(Variables{y}, Variables{y_}, Variables{x_, w_, b_});
  FunctionGraph graph = fused({x_, w_, y_}, gradients);
  std::vector<std::string> names;
  for (NodeId node : graph.nodes()) names.push_back(graph.op(node).name());
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("fused", "dimshuffle", "dimshuffle")) << "views of the two sums";
  const Variable z = tensor3("z");
  EXPECT_EQ(text({z}, {z - mean(z, 2, keepdims), sum(z, {0, 1}, keepdims)}), "fused(mean sub sum)");
  EXPECT_EQ(text({z}, {z - mean(z, 2, keepdims), sum(z, 0, keepdims)}), "fused(mean sub) sum") << "neither of its rows nor across them";
}

TEST_F(ReductionFusion, ReadsWhatIsJoinedAcrossRowsFromMemory) {
  const Variable e = exp(x_ - max(x_, 1, keepdims));
  EXPECT_EQ(text({x_}, {e / sum(e, 0, keepdims)}), "fused(exp max sub sum) true_div");
  EXPECT_EQ(text({x_}, {e, sum(x_, 0, keepdims) * 2.0}), "fused(exp max sub sum) mul");
  // columns / w is of a column's shape too, so it is no step down to elements that keeps it out.
  const Variable rows = softmax(x_, 1), columns = sum(rows, 0, keepdims);
  const FunctionGraph graph = fused({x_, y_, w_}, {rows + columns / expand_dims(w_, 0) * y_});
  EXPECT_EQ(graph.node_count(), 3) << nodes_text(graph) << ": rows and their columns, a view, the rest";
}

TEST_F(ReductionFusion, JoinsAcrossRowsAlongTheLastAxisAlone) {
  EXPECT_EQ(text({x_}, {sum(exp(x_ - max(x_, 0, keepdims)), 1, keepdims)}), "fused(exp max sub) sum") << "neighbours lie along the last axis";
}

TEST_F(ReductionFusion, JoinsAcrossRowsButNotAcrossThoseOfAScan) {
  const Variable numbered = max(x_ + cast(index_along(x_, 1), float32), 1), scanned = cummax(x_, 1), columns = sum(x_, 0, keepdims);
  EXPECT_EQ(text({x_}, {numbered, columns}), "fused(add cast index_along max sum) dimshuffle");
  for (const Variables& outputs : {Variables{scanned, columns}, Variables{columns, scanned}}) EXPECT_EQ(kernels({x_}, outputs), 2) << text({x_}, outputs);
}

TEST_F(ReductionFusion, HasScansAlongTheLastAxisBesideReductions) {
  EXPECT_EQ(kernels({x_}, {cumsum(softmax(x_, 1), 1)}), 1);
  EXPECT_EQ(kernels({x_}, {cumsum(x_, 1) / sum(x_, 1, keepdims), cummax(x_ - mean(x_, 1, keepdims), 1)}), 1);
  EXPECT_EQ(kernels({x_}, {cumsum(softmax(x_, 0), 0)}), 2) << "rows along another axis, which no kernel holds";
  EXPECT_EQ(kernels({x_}, {cumsum(softmax(x_, 1), 0)}), 2);
  EXPECT_EQ(kernels({x_}, {cumsum(softmax(x_, 1), 1), cumsum(x_ - max(x_, 1, keepdims), 1, {.reverse = true})}), 2) << "other directions";
  EXPECT_EQ(kernels({x_}, {softmax(cumsum(softmax(x_, 1), 1), 1)}), 2) << "a reduction of what a scan gave";
  EXPECT_EQ(kernels({x_}, {cumsum(cumsum(softmax(x_, 1), 1), 1)}), 2);
}

TEST_F(ReductionFusion, GivesUpJoinsAcrossRowsFirstWhereAGroupIsBeyondTheLimits) {
  EXPECT_EQ(nodes_text(fused({x_}, {softmax(x_, 1), sum(x_, 0, keepdims)}, {.outputs = 1})), "fused(exp max sub sum true_div) sum");
}

TEST_F(ReductionFusion, KeepsSpacesApartThatMayDiffer) {
  EXPECT_EQ(kernels({x_, y_}, {sum(x_ * 2.0, Axes(), keepdims) + sum(y_ * 3.0, Axes(), keepdims)}), 3);
  EXPECT_EQ(kernels({x_, y_}, {y_ * 2.0 - mean(x_, 1, keepdims)}), 2);
}

TEST_F(ReductionFusion, LeavesOneLongRowToKernelsOfItsOwn) {
  const Variable small = input({float32, {8, 8}}, "small");
  EXPECT_EQ(kernels({x_}, {x_ - mean(x_, Axes(), keepdims)}), 2);
  EXPECT_EQ(kernels({small}, {small - mean(small, Axes(), keepdims)}), 1);
}

TEST_F(ReductionFusion, TakesALongRowOfOneArrayThatAKernelGoesThroughEachPass) {
  const Variable x = input({float32, {1024, 1024}}, "x"), y = input({float32, {1024, 1024}}, "y"), product = x * y, fewer = input({float32, {1023, 1024}}, "fewer");
  EXPECT_EQ(kernels({x}, {x - mean(x, Axes(), keepdims)}), 1);
  EXPECT_EQ(kernels({x, y}, {product - mean(product, Axes(), keepdims)}), 2) << "of two arrays they would read more";
  EXPECT_EQ(kernels({fewer}, {fewer - mean(fewer, Axes(), keepdims)}), 2);
}

TEST_F(ReductionFusion, NumbersElementsInTheKernelThatReadsTheirNumbers) {
  const Variable x = x_, place = index_along(x, 1);
  EXPECT_EQ(text({x}, {sum(where(eq(place, 3), x, 0.0), 1, keepdims)}), "fused(eq index_along sum where)");
  EXPECT_EQ(text({x}, {where(eq(place, 3), x, 0.0)}), "fused(eq index_along where)");
  EXPECT_EQ(text({x}, {le(place, index_along(x, 0))}), "fused(index_along index_along le)");
  EXPECT_EQ(text({x}, {softmax(where(le(place, index_along(x, 0)), x, -1e9), 1)}), "fused(exp index_along index_along le max sub sum true_div where)") << "rows of what lies below the diagonal";
}

TEST_F(ReductionFusion, LeavesALoneReductionAsItIs) { EXPECT_EQ(text({x_}, {sum(x_, 1, keepdims)}), "sum"); }

TEST_F(ReductionFusion, StopsAtACustomOp) {
  EXPECT_EQ(text({x_}, {custom(sum(x_ * x_, 1, keepdims)) * 2.0}), "fused(mul sum) custom mul");
}

TEST_F(ReductionFusion, KeepsADetourThroughACustomOpAcyclic) {
  // sum -> custom -> sub and x -> sub: one kernel of sum and sub would wait for itself.
  const Variable e = exp(x_), total = sum(e, 1, keepdims);
  EXPECT_EQ(text({x_}, {e - custom(total)}), "fused(exp sum) custom sub");
}

TEST_F(ReductionFusion, SplitsAGroupThatIsBeyondTheLimits) {
  Variables inputs;
  Variable total;
  for (int i = 0; i < 60; ++i) {
    inputs.push_back(matrix("x" + std::to_string(i)));
    total = total ? total + inputs.back() : inputs.back();
  }
  const FunctionGraph graph = fused(inputs, {sum(total, 1)}, {.inputs = 8});
  for (NodeId node : graph.nodes()) EXPECT_LE(graph.inputs(node).size(), 8u);
}

/// The shape as symbols of each reduction of the group is the same, and the axes, but for those across rows, which nothing in it reads.
bool go_over_one_space(const FunctionGraph& graph, const SymbolicShapes& shapes, const std::vector<NodeId>& group) {
  std::vector<int> space;
  std::uint32_t axes = 0;
  for (NodeId node : group) axes |= kernel_op(graph, node).reduced_axes().value_or(0);
  for (NodeId node : group) {
    const auto* reduction = dynamic_cast<const ReduceOp*>(&graph.op(node));
    if (!reduction) continue;
    const std::vector<int> own = shapes.of(graph.inputs(node)[0]);
    if (!space.empty() && space != own) return false;
    space = own;
    if (*reduction->reduced_axes() == axes || *reduction->reduced_axes() == 2u) continue;
    for (const Use& use : graph.uses(graph.outputs(node)[0])) {
      if (std::find(group.begin(), group.end(), use.node) != group.end()) return false;
    }
  }
  return true;
}

/// Elementwise work, reductions that keep their axes, transposes and custom ops on two matrices and a row.
FunctionGraph random_graph_of_reductions(std::mt19937& random, int nodes) {
  const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const Variables inputs = {matrix("x"), matrix("y"), input({float32, {1, kUnknown}}, "row")};
  const auto opaque = make_op<OpaqueOp>("custom");
  Variables values = inputs;
  for (int i = 0; i < nodes; ++i) {
    const auto near = [&] { return values[values.size() - 1 - pick(std::min<std::size_t>(values.size(), 8))]; };
    const Variable a = near(), b = near();
    switch (pick(9)) {
      case 0: values.push_back(opaque(a, b)); break;
      case 1: values.push_back(pick(3) == 0 ? transpose(a) : exp(a)); break;
      case 2: values.push_back(sum(a, 0, keepdims)); break;
      case 3:
      case 4: values.push_back(max(a, 1, keepdims)); break;
      case 5: values.push_back(tanh(a)); break;
      default: values.push_back(a + b);
    }
  }
  Variables outputs = {values.back()};
  for (int i = 0; i < 3; ++i) outputs.push_back(values[pick(values.size())]);
  return merge_duplicates(FunctionGraph(inputs, outputs, true));
}

TEST(ReductionGroups, AreConvexAndOfOneSpaceInRandomGraphs) {
  int mixed = 0;
  for (unsigned seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    FunctionGraph graph = random_graph_of_reductions(random, 40);
    const Reachability paths(graph);
    const SymbolicShapes shapes(graph, graph.toposort());
    const ReductionGroups groups(graph, FusionGroups(graph).groups(), {});
    std::vector<int> held(static_cast<std::size_t>(graph.node_limit()), 0);
    for (const std::vector<NodeId>& group : groups.groups()) {
      const auto reduces = [&](NodeId node) { return dynamic_cast<const ReduceOp*>(&graph.op(node)) != nullptr; };
      mixed += group.size() > 2 && std::any_of(group.begin(), group.end(), reduces);
      EXPECT_TRUE(is_convex(graph, paths, group)) << nodes_text(graph);
      EXPECT_TRUE(go_over_one_space(graph, shapes, group)) << nodes_text(graph);
      for (NodeId node : group) EXPECT_EQ(++held[static_cast<std::size_t>(node)], 1) << "a node in two groups";
    }
    const int before = graph.node_count();
    const FunctionGraph after = fuse_elementwise(std::move(graph), {});
    EXPECT_NO_THROW(after.verify());
    EXPECT_LE(after.node_count(), before);
  }
  EXPECT_GT(mixed, 60) << "the graphs should give it something to do";
}

}  // namespace
}  // namespace damo
