#include "ops/rewrites/tree_cut.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <gmock/gmock.h>

#include "ops/fused_op.hpp"
#include "support/graphs.hpp"

namespace damo {
namespace {

using damo::testing::fused;

/// The sum, in pairs, of as many products with unlike numbers.
Variable tree_of(const Variable& x, int leaves) {
  std::vector<Variable> level;
  for (int i = 0; i < leaves; ++i) level.push_back(x * (1.5 + 0.25 * i));
  while (level.size() > 1) {
    std::vector<Variable> above;
    for (std::size_t i = 0; i + 1 < level.size(); i += 2) above.push_back(level[i] + level[i + 1]);
    if (level.size() % 2 == 1) above.push_back(level.back());
    level = std::move(above);
  }
  return level[0];
}

/// By kernel: how many of that spec.
std::map<const KernelSpec*, int> specs_of(const FunctionGraph& graph) {
  std::map<const KernelSpec*, int> specs;
  for (NodeId node : graph.nodes()) {
    const auto& op = dynamic_cast<const FusedOp&>(graph.op(node));
    ++specs[op.form().spec(*op.inner_graph()).get()];
  }
  return specs;
}

TEST(TreeCut, MakesTheLikeSubtreesOfABalancedTreeKernelsOfOneText) {
  const Variable x = vector("x");
  const FunctionGraph graph = fused({x}, {tree_of(x, 16384)});
  EXPECT_EQ(graph.node_count(), 33) << "32 kernels of 512 leaves, whose numbers fill a kernel's arguments, and the sum of these";
  EXPECT_EQ(specs_of(graph).size(), 2u);
}

TEST(TreeCut, MakesFewTextsOfATreeThatIsNotQuiteBalanced) {
  const Variable x = vector("x");
  const FunctionGraph graph = fused({x}, {tree_of(x, 20000)});
  EXPECT_LE(graph.node_count(), 45);
  EXPECT_LE(specs_of(graph).size(), 5u);
}

TEST(TreeCut, KeepsEachKernelWithinTheLimits) {
  const Variable x = vector("x");
  const FusionLimits limits{.inputs = 4, .outputs = 1, .cost = 50, .registers = 30};
  const FunctionGraph graph = fused({x}, {tree_of(x, 1000)}, limits);
  for (NodeId node : graph.nodes()) {
    EXPECT_LE(graph.inputs(node).size(), 4u);
    EXPECT_EQ(graph.outputs(node).size(), 1u);
    const FunctionGraph* inner = graph.op(node).inner_graph();
    if (inner) EXPECT_LE(inner->node_count(), 50);
  }
  graph.verify();
}

TEST(TreeCut, LeavesWhatIsReadOutsideAResult) {
  const Variable x = vector("x");
  const Variable half = tree_of(x, 4096), whole = tree_of(x + 1.0, 4096) + half;
  const FunctionGraph graph = fused({x}, {whole, half});
  EXPECT_EQ(graph.outputs().size(), 2u);
  std::set<NodeId> makers = {graph.owner(graph.outputs()[0]), graph.owner(graph.outputs()[1])};
  EXPECT_FALSE(makers.contains(NodeId::kNone));
  graph.verify();
}

}  // namespace
}  // namespace damo
