#include "ops/rewrites/fusion_build.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ops/fused_op.hpp"
#include "ops/lower.hpp"

namespace damo {
namespace {

/// Builds the inner graph of a FusedOp while noting what it reads and writes outside.
class GroupBuilder {
 public:
  GroupBuilder(const FunctionGraph& graph, const std::vector<NodeId>& members) : graph_(graph), inside_(members.begin(), members.end()) {
    for (NodeId node : members) find_inputs(node);
    for (NodeId node : members) add(node);
  }
  FunctionGraph inner;
  std::vector<ValueId> inputs, outputs;  // of the outer graph

 private:
  void find_inputs(NodeId node) {
    for (ValueId input : graph_.inputs(node)) {
      const bool outside = graph_.owner(input) == NodeId::kNone || !inside_.contains(graph_.owner(input));
      if (!outside || value_.contains(input)) continue;
      if (is_literal(graph_.constant(input))) continue;
      value_.emplace(input, inner.add_input(graph_.type(input), graph_.name(input)));
      inputs.push_back(input);
    }
  }
  void add(NodeId node) {
    std::vector<ValueId> values;
    for (ValueId input : graph_.inputs(node)) {
      auto found = value_.find(input);
      if (found == value_.end()) found = value_.emplace(input, inner.add_constant(graph_.constant(input))).first;
      values.push_back(found->second);
    }
    const ValueId output = graph_.outputs(node)[0];
    const TensorType types[] = {graph_.type(output)};
    const NodeId copy = inner.add(graph_.op_ptr(node), values, types, graph_.where(node));
    value_.emplace(output, inner.outputs(copy)[0]);
    const auto uses = graph_.uses(output);
    if (std::all_of(uses.begin(), uses.end(), [&](const Use& use) { return inside_.contains(use.node); })) return;
    inner.add_output(inner.outputs(copy)[0]);
    outputs.push_back(output);
  }
  const FunctionGraph& graph_;
  std::unordered_set<NodeId> inside_;
  std::unordered_map<ValueId, ValueId> value_;  // outer -> inner
};

}  // namespace

NodeId replace_by_fused(FunctionGraph& graph, const std::vector<NodeId>& members) {
  GroupBuilder group(graph, members);
  std::vector<TensorType> types;
  for (ValueId output : group.outputs) types.push_back(graph.type(output));
  auto op = std::make_shared<const FusedOp>(std::move(group.inner));
  const NodeId fused = graph.add(op, group.inputs, types, graph.where(members.back()));
  for (std::size_t i = 0; i < group.outputs.size(); ++i) {
    const ValueId from = group.outputs[i], to = graph.outputs(fused)[i];
    graph.replace(from, to);
  }
  return fused;
}

}  // namespace damo
