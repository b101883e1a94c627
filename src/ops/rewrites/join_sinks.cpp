#include "ops/rewrites/join_sinks.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ops/joined_op.hpp"
#include "ops/lower.hpp"
#include "ops/rewrites/fusion_build.hpp"
#include "runtime/kernel/joined_kernel.hpp"

namespace damo {
namespace {

constexpr std::size_t kFewest = 4;

/// One space for all outputs, whatever the shapes of a call: one output fills it, and so do several of one known shape.
bool has_one_space(const FunctionGraph& graph, NodeId node) {
  const auto outputs = graph.outputs(node);
  const Shape& first = graph.type(outputs[0]).dims;
  return outputs.size() == 1 || (first.is_known() && std::all_of(outputs.begin(), outputs.end(), [&](ValueId output) { return graph.type(output).dims == first; }));
}

bool is_sink(const FunctionGraph& graph, NodeId node) {
  for (ValueId output : graph.outputs(node)) {  // first, as few nodes are left then, whose graphs are looked into
    const auto uses = graph.uses(output);
    if (uses.empty() || std::any_of(uses.begin(), uses.end(), [](const Use& use) { return use.node != NodeId::kNone; })) return false;
  }
  if (const auto* fused = dynamic_cast<const FusedOp*>(&graph.op(node))) {
    const FunctionGraph& inner = *fused->inner_graph();
    const std::vector<NodeId> nodes = inner.nodes();
    if (fused->has_sizes() || fused->has_tables() || !fused->takes().empty() || !fused->frames().empty()) return false;
    if (has_reductions(inner) || std::any_of(nodes.begin(), nodes.end(), [&](NodeId one) { return kernel_op(inner, one).counts_elements(); })) return false;
  } else {
    const auto* op = dynamic_cast<const KernelOp*>(&graph.op(node));
    if (!op || op->reduced_axes() || graph.outputs(node).size() != 1 || op->counts_elements() || reads_tables(graph, node)) return false;
  }
  return has_one_space(graph, node);
}

/// Of the node as a member: an op that is alone becomes a FusedOp, whose kernel has fewer parameters where the op reads a value twice.
KernelSpec spec_of(const FunctionGraph& graph, FusionBuilder& builder, NodeId node) {
  const FunctionGraph* inner = graph.op(node).inner_graph();
  return lower(inner ? *inner : builder.inner_graph_of({node}));
}

/// Nodes that read a shared variable to which another node gives its new value: that may be written where the old one lies, and
/// the blocks of one launch run in any order.
std::unordered_set<NodeId> readers_of_others(const FunctionGraph& graph) {
  std::unordered_set<NodeId> readers;
  for (std::size_t i = 0; i < graph.updated().size(); ++i) {
    const NodeId writer = graph.owner(graph.outputs()[static_cast<std::size_t>(graph.result_count()) + i]);
    for (const Use& use : graph.uses(graph.updated()[i])) {
      if (use.node != writer) readers.insert(use.node);
    }
  }
  return readers;
}

struct Group {
  KernelSpec spec;
  std::vector<NodeId> nodes;
};

void join(FunctionGraph& graph, FusionBuilder& builder, const std::vector<NodeId>& nodes) {
  std::vector<std::shared_ptr<const FusedOp>> members;
  std::vector<ValueId> inputs, outputs;
  for (NodeId node : nodes) {
    if (!graph.op(node).inner_graph()) node = builder.replace({node});
    members.push_back(std::static_pointer_cast<const FusedOp>(graph.op_ptr(node)));
    inputs.insert(inputs.end(), graph.inputs(node).begin(), graph.inputs(node).end());
    outputs.insert(outputs.end(), graph.outputs(node).begin(), graph.outputs(node).end());
  }
  std::vector<TensorType> types;
  for (ValueId output : outputs) types.push_back(graph.type(output));
  const NodeId joined = graph.add(std::make_shared<const JoinedOp>(std::move(members)), inputs, types, graph.where(nodes.front()));
  for (std::size_t i = 0; i < outputs.size(); ++i) graph.replace(outputs[i], graph.outputs(joined)[i]);
}

}  // namespace

FunctionGraph join_sinks(FunctionGraph graph) {
  const std::unordered_set<NodeId> refused = readers_of_others(graph);
  std::vector<NodeId> sinks;
  for (NodeId node : graph.nodes()) {
    if (!refused.contains(node) && is_sink(graph, node)) sinks.push_back(node);
  }
  if (sinks.size() < kFewest) return graph;
  FusionBuilder builder(graph);
  std::map<std::string, std::vector<Group>> groups;  // by the kernel's name
  for (NodeId node : sinks) {
    KernelSpec spec = spec_of(graph, builder, node);
    std::vector<Group>& alike = groups[spec.name];
    auto group = std::find_if(alike.begin(), alike.end(), [&](const Group& other) { return have_one_text(other.spec, spec); });
    if (group == alike.end()) group = alike.insert(alike.end(), {std::move(spec), {}});
    group->nodes.push_back(node);
  }
  for (const auto& [name, alike] : groups) {
    for (const Group& group : alike) {
      if (group.nodes.size() >= kFewest) join(graph, builder, group.nodes);
    }
  }
  graph.prune();
  return graph;
}

}  // namespace damo
