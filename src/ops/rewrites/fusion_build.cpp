#include "ops/rewrites/fusion_build.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ops/elementwise_op.hpp"
#include "ops/fused_op.hpp"

namespace damo {
namespace {

bool is_literal(const FunctionGraph& graph, ValueId value) { return graph.constant(value) && graph.constant(value)->is_scalar(); }

/// How the members stand in one list: where each value is made and last read within it.
class Crossings {
 public:
  Crossings(const FunctionGraph& graph, const std::vector<NodeId>& members) : after_(members.size(), 0), leaves_(members.size(), false) {
    std::unordered_map<NodeId, int> place;
    for (std::size_t i = 0; i < members.size(); ++i) place.emplace(members[i], static_cast<int>(i));
    std::vector<int> change(members.size() + 1, 0);
    for (std::size_t i = 0; i < members.size(); ++i) {
      int last = static_cast<int>(i);
      for (const Use& use : graph.uses(graph.outputs(members[i])[0])) {
        if (const auto found = place.find(use.node); found != place.end()) last = std::max(last, found->second);
        else leaves_[i] = true;
      }
      ++change[i];
      --change[static_cast<std::size_t>(last)];
    }
    int live = 0;
    for (std::size_t i = 0; i < members.size(); ++i) after_[i] = live += change[i];
  }
  /// Values that are made at or before i and read after it.
  int after(std::size_t i) const { return after_[i]; }
  /// Whether the i-th value is read outside the list: an output of whatever kernel makes it.
  bool leaves(std::size_t i) const { return leaves_[i]; }

 private:
  std::vector<int> after_;
  std::vector<bool> leaves_;
};

/// The end of the run that starts at `begin`: as far as the limits allow, then back to where the fewest values cross.
std::size_t end_of_run(const FunctionGraph& graph, const std::vector<NodeId>& members, std::size_t begin, const Crossings& crossings, const FusionLimits& limits) {
  std::unordered_set<ValueId> read, made;
  int cost = 0, outputs = 0;
  std::size_t end = begin;
  for (; end < members.size(); ++end) {
    const auto& op = static_cast<const ElementwiseOp&>(graph.op(members[end]));
    cost += op.row().cost;
    for (ValueId input : graph.inputs(members[end])) {
      if (!is_literal(graph, input) && !made.contains(input)) read.insert(input);
    }
    const ValueId value = graph.outputs(members[end])[0];
    made.insert(value);
    outputs += crossings.leaves(end) ? 1 : 0;
    const bool fits = cost <= limits.cost && static_cast<int>(read.size()) <= limits.inputs && outputs <= limits.outputs &&
                      crossings.after(end) <= limits.live_values;
    if (!fits && end > begin) break;
  }
  if (end == members.size()) return end;
  std::size_t best = end;
  for (std::size_t cut = end; cut > begin + (end - begin) / 2; --cut) {
    if (crossings.after(cut - 1) < crossings.after(best - 1)) best = cut;
  }
  return best;
}

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
      if (is_literal(graph_, input)) continue;
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

std::vector<std::vector<NodeId>> split_group(const FunctionGraph& graph, const std::vector<NodeId>& members, const FusionLimits& limits) {
  if (members.size() < 2) return {members};
  std::vector<std::vector<NodeId>> parts;
  const Crossings crossings(graph, members);
  for (std::size_t begin = 0; begin < members.size();) {
    const std::size_t end = end_of_run(graph, members, begin, crossings, limits);
    parts.emplace_back(members.begin() + static_cast<std::ptrdiff_t>(begin), members.begin() + static_cast<std::ptrdiff_t>(end));
    begin = end;
  }
  return parts;
}

void replace_by_fused(FunctionGraph& graph, const std::vector<NodeId>& members) {
  GroupBuilder group(graph, members);
  std::vector<TensorType> types;
  for (ValueId output : group.outputs) types.push_back(graph.type(output));
  auto op = std::make_shared<const FusedOp>(std::move(group.inner));
  const NodeId fused = graph.add(op, group.inputs, types, graph.where(members.back()));
  for (std::size_t i = 0; i < group.outputs.size(); ++i) {
    const ValueId from = group.outputs[i], to = graph.outputs(fused)[i];
    graph.replace(from, to);
  }
}

}  // namespace damo
