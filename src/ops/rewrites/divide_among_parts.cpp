#include "ops/rewrites/divide_among_parts.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
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

constexpr std::size_t kMostAnew = 512, kMostDivided = 32;  // nodes and parts, along one axis, for one concatenate
constexpr std::size_t kMostParts = 128, kFewParts = 8;     // along several axes; of more than a few each must be large, as a kernel of its own takes longer than copies of what is small
constexpr std::int64_t kLarge = 1 << 12;                   // elements of a part, on average
constexpr int kMostAbove = 64;                          // nodes above an operand that are looked at
constexpr int kMostRounds = 4;

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

/// The places at which parts begin or end, and those of another division of as much.
Division refined(const Division& a, const Division& b) {
  Division both{.from_last = a.from_last, .extents = {}, .whole = a.whole};
  std::int64_t at = 0, a_end = 0, b_end = 0;
  for (std::size_t i = 0, k = 0; at < both.whole;) {
    while (a_end <= at) a_end += a.extents[i++];
    while (b_end <= at) b_end += b.extents[k++];
    const std::int64_t end = std::min(a_end, b_end);
    both.extents.push_back(end - at);
    at = end;
  }
  return both;
}

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
    if (!find_moved() || !find_parts()) return false;
    std::vector<ValueId> ends;
    for (NodeId node : moved_) {
      const ValueId value = graph_.outputs(node)[0];
      const auto uses = graph_.uses(value);
      if (std::any_of(uses.begin(), uses.end(), [&](const Use& use) { return !moves(use.node); })) ends.push_back(value);
    }
    const bool is_stack = static_cast<const ConcatenateOp&>(graph_.op(node_)).is_stack() && graph_.inputs(node_).size() == division_.extents.size();
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

  /// All elementwise nodes that follow from the whole, and those that follow from another one and share work with them, as differences to both neighbours do. False if some generated kernel would stay behind it, or if there is none.
  bool find_moved() {
    if (!move_readers(graph_.outputs(node_)[0])) return false;
    int left = static_cast<int>(kMostAnew);
    for (std::size_t i = 0; i < moved_.size(); ++i) {
      const auto inputs = graph_.inputs(moved_[i]);
      for (ValueId input : std::vector<ValueId>(inputs.begin(), inputs.end())) {
        if (!move_sharers(input, left)) return false;
      }
    }
    return !moved_.empty();
  }

  /// What follows from the value.
  bool move_readers(ValueId value) {
    std::vector<ValueId> pending{value};
    while (!pending.empty()) {
      const ValueId read = pending.back();
      pending.pop_back();
      for (const Use& use : graph_.uses(read)) {
        if (use.node == NodeId::kNone || moves(use.node) || gone_.contains(use.node) || !is_kernel(graph_.op(use.node))) continue;
        const ValueId made = graph_.outputs(use.node)[0];
        if (!is_row(graph_.op(use.node)) || extent(made) != division_.whole || (moved_.size() + 1) * division_.extents.size() > kMostAnew) return false;
        moved_.push_back(use.node);
        is_moved_.insert(use.node);
        pending.push_back(made);
      }
    }
    return true;
  }

  /// Other readers of work of which moved nodes need parts, if they follow from parts along the axis too: else that work would stay as a whole, which has_parts() refuses.
  bool move_sharers(ValueId value, int& left) {
    const NodeId owner = graph_.owner(value);
    if (owner == NodeId::kNone || moves(owner) || !is_row(graph_.op(owner)) || extent(value) != division_.whole || --left < 0) return true;
    const auto uses = graph_.uses(value);
    for (const Use& use : std::vector<Use>(uses.begin(), uses.end())) {
      if (use.node == NodeId::kNone || moves(use.node) || gone_.contains(use.node) || !is_row(graph_.op(use.node)) || !follows_from_parts(use.node, left)) continue;
      moved_.push_back(use.node);
      is_moved_.insert(use.node);
      if (extent(graph_.outputs(use.node)[0]) != division_.whole || !move_readers(graph_.outputs(use.node)[0])) return false;
    }
    const auto inputs = graph_.inputs(owner);
    return std::all_of(inputs.begin(), inputs.end(), [&](ValueId input) { return move_sharers(input, left); });
  }

  bool follows_from_parts(NodeId node, int& left) {
    for (ValueId input : graph_.inputs(node)) {
      if (const auto other = division_of(graph_, graph_.owner(input)); other && lies_along(*other)) return true;
      const NodeId owner = graph_.owner(input);
      if (owner != NodeId::kNone && is_row(graph_.op(owner)) && extent(input) == division_.whole && --left >= 0 && follows_from_parts(owner, left)) return true;
    }
    return false;
  }

  /// Divides once more where other concatenates along the axis put parts together elsewhere, as rolls to both sides do. False if not all operands have parts, or if all axes' parts, into which later rounds divide these, are too many.
  bool find_parts() {
    std::vector<NodeId> pending = moved_;
    std::map<int, Division> others;  // by axis
    std::unordered_set<NodeId> seen(moved_.begin(), moved_.end());
    while (!pending.empty()) {
      const NodeId node = pending.back();
      pending.pop_back();
      for (ValueId input : graph_.inputs(node)) {
        const NodeId owner = graph_.owner(input);
        if (const auto other = division_of(graph_, owner); other && lies_along(*other)) {
          division_ = refined(division_, *other);
        } else if (other) {
          const auto [found, is_first] = others.emplace(other->from_last, *other);
          if (!is_first && found->second.whole == other->whole) found->second = refined(found->second, *other);
        } else if (owner != NodeId::kNone && is_row(graph_.op(owner)) && extent(input) == division_.whole && seen.insert(owner).second) {
          pending.push_back(owner);
        }
      }
      std::size_t parts = division_.extents.size();
      for (const auto& [axis, other] : others) parts *= other.extents.size();
      if (division_.extents.size() > kMostDivided || (!others.empty() && parts > most_parts()) || seen.size() * division_.extents.size() > kMostAnew) return false;
    }
    int left = static_cast<int>(kMostAnew / division_.extents.size() - moved_.size());
    return std::all_of(moved_.begin(), moved_.end(), [&](NodeId node) {
      const auto inputs = graph_.inputs(node);
      return std::all_of(inputs.begin(), inputs.end(), [&](ValueId input) { return has_parts(input, left); });
    });
  }

  /// Along several axes, as far as extents are known.
  std::size_t most_parts() const {
    std::int64_t elements = 1;
    for (const std::int64_t extent : graph_.type(graph_.outputs(node_)[0]).dims) elements = std::min(elements * (extent == kUnknown ? 1 : extent), kLarge * static_cast<std::int64_t>(kMostParts));
    return std::max(kFewParts, static_cast<std::size_t>(elements / kLarge));
  }

  bool is_cut_by_views(ValueId value) const { return graph_.owner(value) == NodeId::kNone || is_view(graph_.op(graph_.owner(value))); }

  bool lies_along(const Division& other) const { return other.from_last == division_.from_last && other.whole == division_.whole; }

  /// Whether a concatenate's parts, or views of what it puts together, are the parts here: along the same axis of parts that are divided, along another one of all of them.
  bool has_parts_of_concatenate(NodeId owner, const Division& other, int& left) const {
    const auto inputs = graph_.inputs(owner);
    const bool is_along = lies_along(other);
    if (is_along && !(refined(division_, other) == division_)) return false;
    left -= is_along && other == division_ ? 0 : static_cast<int>(inputs.size());
    std::int64_t first = 0;
    for (ValueId input : inputs) {
      if (!is_cut_by_views(input) && !(is_along && is_part(first, extent(input)))) return false;
      first += extent(input);
    }
    return left >= 0;
  }

  bool is_part(std::int64_t first, std::int64_t count) const {
    std::int64_t begin = 0;
    for (std::int64_t length : division_.extents) {
      if (begin == first && length == count) return true;
      begin += length;
    }
    return false;
  }

  /// Whether parts of the value are had for nothing, or by elementwise work that then is not done on the whole. left: nodes that may be made anew for each part.
  bool has_parts(ValueId value, int& left) const {
    const NodeId owner = graph_.owner(value);
    if (moves(owner)) return true;
    if (owner == node_) return has_parts_of_concatenate(owner, *division_of(graph_, owner), left);
    if (extent(value) == 1) {
      int passed = kMostAbove;
      return !follows_from_reduction(value, passed);
    }
    if (extent(value) != division_.whole) return false;
    if (is_cut_by_views(value)) return --left >= 0;
    if (const auto other = division_of(graph_, owner)) return has_parts_of_concatenate(owner, *other, left);
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
    std::int64_t first = 0;
    for (std::size_t i = 0; i < part; ++i) first += division_.extents[i];
    if (const auto* concatenate = owner == NodeId::kNone ? nullptr : dynamic_cast<const ConcatenateOp*>(&graph_.op(owner))) {
      std::vector<ValueId> inputs(graph_.inputs(owner).begin(), graph_.inputs(owner).end());
      if (graph_.type(value).rank() - concatenate->axis() != division_.from_last) {
        for (ValueId& input : inputs) input = cut(input, first, division_.extents[part]);
        return graph_.outputs(graph_.add(graph_.op_ptr(owner), inputs, graph_.where(owner)))[0];
      }
      std::size_t i = 0;
      for (; first >= extent(inputs[i]); ++i) first -= extent(inputs[i]);
      return cut(inputs[i], first, division_.extents[part]);
    }
    if (is_cut_by_views(value)) return cut(value, first, division_.extents[part]);
    std::vector<ValueId> operands(graph_.inputs(owner).begin(), graph_.inputs(owner).end());
    for (ValueId& operand : operands) operand = part_of(operand, part);
    return graph_.outputs(graph_.add(graph_.op_ptr(owner), operands, graph_.where(owner)))[0];
  }

  /// The value's elements from a place on along the axis.
  ValueId cut(ValueId value, std::int64_t first, std::int64_t count) {
    if (count == extent(value)) return value;
    const ValueId inputs[] = {value};
    return graph_.outputs(graph_.add(std::make_shared<const SubtensorOp>(indices_of_part(graph_.type(value).rank() - division_.from_last, first, count)), inputs, graph_.where(node_)))[0];
  }

  FunctionGraph& graph_;
  const NodeId node_;
  Division division_;
  std::unordered_set<NodeId>& gone_;
  std::vector<NodeId> moved_;
  std::unordered_set<NodeId> is_moved_;
  std::unordered_map<ValueId, std::vector<ValueId>> parts_;
};

}  // namespace

FunctionGraph divide_among_parts(FunctionGraph graph) {
  if (!graph.has_op<ConcatenateOp>()) return graph;
  // Parts along one axis may be divided along another one, of which there are few.
  for (int round = 0; round < kMostRounds; ++round) {
    bool has_changed = false;
    std::unordered_set<NodeId> gone;
    for (NodeId node : graph.toposort()) {
      if (auto division = division_of(graph, node)) has_changed |= Divider(graph, node, std::move(*division), gone).divide();
    }
    if (!has_changed) return graph;
    graph.prune();
    graph = merge_duplicates(std::move(graph));
  }
  return graph;
}

}  // namespace damo
