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
  Crossings(const FunctionGraph& graph, const std::vector<NodeId>& members) : after_(members.size(), 0), closing_(members.size()), leaves_(members.size(), false) {
    std::unordered_map<NodeId, std::size_t> place;
    for (std::size_t i = 0; i < members.size(); ++i) place.emplace(members[i], i);
    std::vector<int> change(members.size() + 1, 0);
    for (std::size_t i = 0; i < members.size(); ++i) {
      std::size_t last = i;
      for (const Use& use : graph.uses(graph.outputs(members[i])[0])) {
        if (const auto found = place.find(use.node); found != place.end()) last = std::max(last, found->second);
        else leaves_[i] = true;
      }
      ++change[i];
      --change[last];
      closing_[last].push_back(i);
    }
    int live = 0;
    for (std::size_t i = 0; i < members.size(); ++i) after_[i] = live += change[i];
  }
  /// Values that are made at or before i and read after it.
  int after(std::size_t i) const { return after_[i]; }
  /// Whether the i-th value is read outside the list: an output of whatever kernel makes it.
  bool leaves(std::size_t i) const { return leaves_[i]; }
  /// The values whose last reader in the list is the i-th member; its own if none reads it.
  const std::vector<std::size_t>& closing(std::size_t i) const { return closing_[i]; }

 private:
  std::vector<int> after_;
  std::vector<std::vector<std::size_t>> closing_;
  std::vector<bool> leaves_;
};

/// The arrays that a kernel of the members from `begin` on would write if it ended at each of them.
class Written {
 public:
  Written(const Crossings& crossings, std::size_t begin) : crossings_(crossings), begin_(begin) {}
  /// i: begin, begin + 1, ... in turn.
  void add(std::size_t i) {
    ++(crossings_.leaves(i) ? leaving_ : crossing_);
    for (std::size_t closed : crossings_.closing(i)) {
      if (closed >= begin_ && !crossings_.leaves(closed)) --crossing_;
    }
    if_ended_at_.push_back(leaving_ + crossing_);
  }
  /// In any case, however far the kernel goes on.
  int leaving() const { return leaving_; }
  int if_ended_at(std::size_t i) const { return if_ended_at_[i - begin_]; }

 private:
  const Crossings& crossings_;
  std::size_t begin_;
  int leaving_ = 0, crossing_ = 0;
  std::vector<int> if_ended_at_;
};

/// Of the ends up to `end`, the one in the second half where the fewest values cross; an end that writes more than
/// the limit counts only if there is no other.
std::size_t best_cut(std::size_t begin, std::size_t end, const Crossings& crossings, const Written& written, int outputs) {
  const auto fits = [&](std::size_t cut) { return written.if_ended_at(cut - 1) <= outputs; };
  std::size_t best = end;
  while (best > begin + 1 && !fits(best)) --best;
  for (std::size_t cut = best; cut > begin + (end - begin) / 2; --cut) {
    if (fits(cut) && crossings.after(cut - 1) < crossings.after(best - 1)) best = cut;
  }
  return best;
}

/// The end of the run that starts at `begin`: as far as the limits allow, then back to where the fewest values cross.
std::size_t end_of_run(const FunctionGraph& graph, const std::vector<NodeId>& members, std::size_t begin, const Crossings& crossings, const FusionLimits& limits) {
  std::unordered_set<ValueId> read, made;
  Written written(crossings, begin);
  int cost = 0;
  std::size_t end = begin;
  for (; end < members.size(); ++end) {
    const auto& op = static_cast<const ElementwiseOp&>(graph.op(members[end]));
    cost += op.row().cost;
    for (ValueId input : graph.inputs(members[end])) {
      if (!is_literal(graph, input) && !made.contains(input)) read.insert(input);
    }
    made.insert(graph.outputs(members[end])[0]);
    written.add(end);
    const bool fits = cost <= limits.cost && static_cast<int>(read.size()) <= limits.inputs && written.leaving() <= limits.outputs &&
                      crossings.after(end) <= limits.live_values;
    if (!fits && end > begin) break;
  }
  return end == members.size() ? end : best_cut(begin, end, crossings, written, limits.outputs);
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
