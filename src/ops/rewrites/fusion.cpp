#include "ops/rewrites/fusion.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "ops/lower.hpp"
#include "ops/rewrites/fusion_build.hpp"
#include "ops/rewrites/fusion_cut.hpp"
#include "ops/rewrites/fusion_groups.hpp"
#include "ops/rewrites/fusion_reductions.hpp"

namespace damo {
namespace {

bool is_reduction(const FunctionGraph& graph, NodeId node) {
  const auto* op = dynamic_cast<const KernelOp*>(&graph.op(node));
  return op && op->reduced_axes();
}

bool within(const FusionLimits& limits, const FunctionGraph& graph, const std::vector<NodeId>& members) {
  const std::unordered_set<NodeId> inside(members.begin(), members.end());
  std::unordered_set<ValueId> read;
  int cost = 0, written = 0;
  for (NodeId node : members) {
    cost += kernel_op(graph, node).cost();
    for (ValueId input : graph.inputs(node)) {
      if (!is_literal(graph.constant(input)) && !inside.contains(graph.owner(input))) read.insert(input);
    }
    const auto uses = graph.uses(graph.outputs(node)[0]);
    written += std::any_of(uses.begin(), uses.end(), [&](const Use& use) { return !inside.contains(use.node); });
  }
  return cost <= limits.cost && static_cast<int>(read.size()) <= limits.inputs && written <= limits.outputs;
}

/// The nodes of each kernel.
std::vector<std::vector<NodeId>> kernels_of(const FunctionGraph& graph, const FusionLimits& limits) {
  const FusionGroups elementwise(graph);
  const std::vector<NodeId> nodes = graph.nodes();
  std::vector<std::vector<NodeId>> groups = elementwise.groups();
  if (std::any_of(nodes.begin(), nodes.end(), [&](NodeId node) { return is_reduction(graph, node); })) {
    std::unordered_set<NodeId> alone;  // reductions whose groups grew beyond the limits: first those across rows, which a group needs least
    for (std::size_t before = 1; before != alone.size();) {
      before = alone.size();
      groups = ReductionGroups(graph, elementwise.groups(), alone).groups();
      for (const std::vector<NodeId>& members : groups) {
        if (members.size() < 2 || within(limits, graph, members)) continue;
        std::uint32_t axes = 0;
        for (NodeId node : members) axes |= kernel_op(graph, node).reduced_axes().value_or(0);
        const bool joins_across = std::any_of(members.begin(), members.end(), [&](NodeId node) { return is_reduction(graph, node) && *kernel_op(graph, node).reduced_axes() != axes; });
        std::copy_if(members.begin(), members.end(), std::inserter(alone, alone.end()), [&](NodeId node) {
          return is_reduction(graph, node) && (!joins_across || !(*kernel_op(graph, node).reduced_axes() >> (graph.type(graph.inputs(node)[0]).dims.rank() - 1) & 1u));
        });
      }
    }
  }
  std::vector<std::vector<NodeId>> kernels;
  FusionCut cut(graph, limits);
  for (std::vector<NodeId>& members : groups) {
    if (std::any_of(members.begin(), members.end(), [&](NodeId node) { return is_reduction(graph, node); })) {
      kernels.push_back(std::move(members));
    } else {
      for (std::vector<NodeId>& run : cut(members)) kernels.push_back(std::move(run));
    }
  }
  return kernels;
}

}  // namespace

FunctionGraph fuse_elementwise(FunctionGraph graph, const FusionLimits& limits) {
  FusionBuilder builder(graph);
  for (const std::vector<NodeId>& members : kernels_of(graph, limits)) {
    if (members.size() > 1) builder.replace(members);
  }
  graph.prune();
  return graph;
}

}  // namespace damo
