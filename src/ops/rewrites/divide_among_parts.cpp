#include "ops/rewrites/divide_among_parts.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ops/concatenate_op.hpp"
#include "ops/elementwise_op.hpp"
#include "ops/rewrites/match.hpp"
#include "ops/subtensor_op.hpp"

namespace damo {
namespace {

constexpr std::size_t kMostAnew = 512, kMostDivided = 32;  // nodes for one concatenate
constexpr int kMostAbove = 64;                          // nodes above an operand that are looked at

bool is_view(const Op& op) { return op.view_of(0) >= 0; }
/// second(x, a) reads no element of x: forward_shapes knows better.
bool is_row(const Op& op) { return dynamic_cast<const ElementwiseOp*>(&op) != nullptr && &op != rows().second.get(); }
bool is_kernel(const Op& op) { return dynamic_cast<const KernelOp*>(&op) != nullptr; }

/// Where parts lie along an axis.
struct Division {
  int from_last = 0;  ///< 1: the last axis; operands may have fewer axes than their reader
  std::vector<std::int64_t> extents;
  std::int64_t whole = 0;
  friend bool operator==(const Division&, const Division&) = default;
};

/// Of a concatenate whose parts' extents are known. Nothing: of another node.
std::optional<Division> division_of(const FunctionGraph& graph, NodeId node) {
  const auto* op = node == NodeId::kNone ? nullptr : dynamic_cast<const ConcatenateOp*>(&graph.op(node));
  if (!op || graph.inputs(node).size() > kMostDivided) return {};
  Division division{.from_last = graph.type(graph.outputs(node)[0]).rank() - op->axis(), .extents = {}};
  for (ValueId part : graph.inputs(node)) {
    const std::int64_t extent = graph.type(part).dims[op->axis()];
    if (extent == kUnknown) return {};
    division.extents.push_back(extent);
    division.whole += extent;
  }
  return division.whole > 1 ? std::optional(division) : std::nullopt;  // an extent of 1 may stretch
}

class Divider {
 public:
  /// gone: nodes that nothing reads since others were divided; their readings do not count.
  Divider(FunctionGraph& graph, NodeId node, Division division, std::unordered_set<NodeId>& gone) : graph_(graph), node_(node), division_(std::move(division)), gone_(gone) {}

  bool divide() {
    if (!find_moved()) return false;
    std::vector<ValueId> ends;
    for (NodeId node : moved_) {
      const ValueId value = graph_.outputs(node)[0];
      const auto uses = graph_.uses(value);
      if (std::any_of(uses.begin(), uses.end(), [&](const Use& use) { return !moves(use.node); })) ends.push_back(value);
    }
    const bool is_stack = static_cast<const ConcatenateOp&>(graph_.op(node_)).is_stack();
    for (ValueId end : ends) {
      std::vector<ValueId> parts;
      for (std::size_t part = 0; part < division_.extents.size(); ++part) parts.push_back(part_of(end, part));
      const int axis = graph_.type(end).rank() - division_.from_last;
      const NodeId together = graph_.add(std::make_shared<const ConcatenateOp>(axis, is_stack), parts, graph_.where(node_));
      graph_.replace(end, graph_.outputs(together)[0]);
    }
    gone_.insert(moved_.begin(), moved_.end());
    return !ends.empty();
  }

 private:
  bool moves(NodeId node) const { return node != NodeId::kNone && is_moved_.contains(node); }
  std::int64_t extent(ValueId value) const {
    const Shape& dims = graph_.type(value).dims;
    return dims.rank() < division_.from_last ? 1 : dims[-division_.from_last];
  }

  /// All elementwise nodes that follow from the whole. False if some generated kernel would stay behind it, or if there is none.
  bool find_moved() {
    std::vector<ValueId> pending{graph_.outputs(node_)[0]};
    while (!pending.empty()) {
      const ValueId value = pending.back();
      pending.pop_back();
      for (const Use& use : graph_.uses(value)) {
        if (use.node == NodeId::kNone || moves(use.node) || gone_.contains(use.node) || !is_kernel(graph_.op(use.node))) continue;
        const ValueId made = graph_.outputs(use.node)[0];
        if (!is_row(graph_.op(use.node)) || extent(made) != division_.whole || (moved_.size() + 1) * division_.extents.size() > kMostAnew) return false;
        moved_.push_back(use.node);
        is_moved_.insert(use.node);
        pending.push_back(made);
      }
    }
    int left = static_cast<int>(kMostAnew / division_.extents.size() - moved_.size());
    return !moved_.empty() && std::all_of(moved_.begin(), moved_.end(), [&](NodeId node) {
      const auto inputs = graph_.inputs(node);
      return std::all_of(inputs.begin(), inputs.end(), [&](ValueId input) { return has_parts(input, left); });
    });
  }

  /// Whether parts of the value are had for nothing, or by elementwise work that then is not done on the whole. left: nodes that may be made anew for each part.
  bool has_parts(ValueId value, int& left) const {
    const NodeId owner = graph_.owner(value);
    if (owner == node_ || moves(owner)) return true;
    if (extent(value) == 1) {
      int passed = kMostAbove;
      return !follows_from_reduction(value, passed);
    }
    if (extent(value) != division_.whole) return false;
    if (owner == NodeId::kNone || is_view(graph_.op(owner))) return --left >= 0;
    if (const auto other = division_of(graph_, owner)) return *other == division_;
    if (!is_row(graph_.op(owner)) || --left < 0) return false;
    const auto uses = graph_.uses(value);
    if (std::any_of(uses.begin(), uses.end(), [&](const Use& use) { return !moves(use.node); }) && uses.size() > 1) return false;
    if (graph_.is_output(value)) return false;
    const auto inputs = graph_.inputs(owner);
    return std::all_of(inputs.begin(), inputs.end(), [&](ValueId input) { return has_parts(input, left); });
  }

  /// By way of elementwise work and views; what nodes beyond `left` follow from is not known.
  bool follows_from_reduction(ValueId value, int& left) const {
    const NodeId owner = graph_.owner(value);
    if (owner == NodeId::kNone) return false;
    const Op& op = graph_.op(owner);
    if (--left < 0) return true;
    if (!is_kernel(op)) return is_view(op) && follows_from_reduction(graph_.inputs(owner)[static_cast<std::size_t>(op.view_of(0))], left);
    if (static_cast<const KernelOp&>(op).reduced_axes()) return true;
    const auto inputs = graph_.inputs(owner);
    return std::any_of(inputs.begin(), inputs.end(), [&](ValueId input) { return follows_from_reduction(input, left); });
  }

  ValueId part_of(ValueId value, std::size_t part) {
    if (extent(value) == 1 && !moves(graph_.owner(value))) return value;
    std::vector<ValueId>& parts = parts_[value];
    if (parts.empty()) parts.assign(division_.extents.size(), ValueId::kNone);
    if (parts[part] == ValueId::kNone) {
      const ValueId made = make_part(value, part);
      parts_.at(value)[part] = made;
      return made;
    }
    return parts[part];
  }

  /// Depth is bounded as the number of nodes is.
  ValueId make_part(ValueId value, std::size_t part) {
    const NodeId owner = graph_.owner(value);
    if (owner != NodeId::kNone && dynamic_cast<const ConcatenateOp*>(&graph_.op(owner))) return graph_.inputs(owner)[part];
    if (owner == NodeId::kNone || is_view(graph_.op(owner))) {
      std::int64_t first = 0;
      for (std::size_t i = 0; i < part; ++i) first += division_.extents[i];
      std::vector<Index> indices(static_cast<std::size_t>(graph_.type(value).rank() - division_.from_last) + 1);  // as split has them, so that equal views are one
      indices.back() = Index(first, first + division_.extents[part]);
      const ValueId inputs[] = {value};
      return graph_.outputs(graph_.add(std::make_shared<const SubtensorOp>(std::move(indices)), inputs, graph_.where(node_)))[0];
    }
    std::vector<ValueId> operands(graph_.inputs(owner).begin(), graph_.inputs(owner).end());
    for (ValueId& operand : operands) operand = part_of(operand, part);
    return graph_.outputs(graph_.add(graph_.op_ptr(owner), operands, graph_.where(owner)))[0];
  }

  FunctionGraph& graph_;
  const NodeId node_;
  const Division division_;
  std::unordered_set<NodeId>& gone_;
  std::vector<NodeId> moved_;
  std::unordered_set<NodeId> is_moved_;
  std::unordered_map<ValueId, std::vector<ValueId>> parts_;
};

}  // namespace

FunctionGraph divide_among_parts(FunctionGraph graph) {
  if (!graph.has_op<ConcatenateOp>()) return graph;
  bool has_changed = false;
  std::unordered_set<NodeId> gone;
  for (NodeId node : graph.toposort()) {
    if (auto division = division_of(graph, node)) has_changed |= Divider(graph, node, std::move(*division), gone).divide();
  }
  if (!has_changed) return graph;
  graph.prune();
  return merge_duplicates(std::move(graph));
}

}  // namespace damo
