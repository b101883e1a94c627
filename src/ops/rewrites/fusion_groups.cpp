#include "ops/rewrites/fusion_groups.hpp"

#include <algorithm>
#include <unordered_map>

#include "ops/lower.hpp"
#include "ops/rewrites/woven_parts.hpp"
#include "ops/size_op.hpp"

namespace damo {
namespace {

constexpr int kCheapToRepeat = 8;  // instructions that a kernel may do again for every element of a broadcast

}  // namespace

FusionGroups::FusionGroups(const FunctionGraph& graph)
    : graph_(graph), order_(graph.toposort()), has_sizes_(graph.has_op<SizeOp>()), nodes_(static_cast<std::size_t>(graph.node_limit())) {
  std::vector<char> is_elementwise(static_cast<std::size_t>(graph.op_limit()));
  for (std::size_t i = 0; i < is_elementwise.size(); ++i) {
    const auto* op = dynamic_cast<const KernelOp*>(&graph.op(static_cast<OpId>(i)));
    is_elementwise[i] = op && !op->reduced_axes();
  }
  for (NodeId node : order_) {
    Node& record = at(node);
    record.is_elementwise = is_elementwise[static_cast<std::size_t>(graph.op_id(node))] && graph.outputs(node).size() == 1;
    record.reads_tables = record.is_elementwise && reads_tables(graph, node);
    record.parent = static_cast<int>(node);
    record.own_space = record.space = &graph.type(graph.outputs(node)[0]).dims;
  }
  for (NodeId node : order_) {
    if (is_woven(graph, node)) woven_.push_back(node);
  }
  set_levels();
  raise_woven();
  raise_producers();
  join_edges();
  join_siblings();
  join_woven();
  collect();
}

int FusionGroups::find(int node) {
  while (nodes_[static_cast<std::size_t>(node)].parent != node) {
    int& parent = nodes_[static_cast<std::size_t>(node)].parent;
    parent = nodes_[static_cast<std::size_t>(parent)].parent;
    node = parent;
  }
  return node;
}

void FusionGroups::unite(NodeId a, NodeId b) {
  int root = find(static_cast<int>(a)), other = find(static_cast<int>(b));
  if (root == other) return;
  Node &into = nodes_[static_cast<std::size_t>(root)], &from = nodes_[static_cast<std::size_t>(other)];
  from.parent = root;
  into.has_other_space |= from.has_other_space || !(*into.space == *from.space);
  if (from.space->rank() > into.space->rank()) into.space = from.space;
}

/// A single reader, and so few instructions that doing them for each element of the reader costs less than memory.
bool FusionGroups::is_cheap_to_repeat(NodeId producer) {
  int cost = 0;
  for (NodeId node = producer; at(node).is_elementwise;) {
    const auto uses = graph_.uses(graph_.outputs(node)[0]);
    cost += kernel_op(graph_, node).cost();
    if (uses.size() != 1 || cost > kCheapToRepeat) return false;
    NodeId next = NodeId::kNone;
    int position = 0;
    for (ValueId input : graph_.inputs(node)) {
      const NodeId owner = graph_.owner(input);
      if (kernel_op(graph_, node).reads_table(position++) || owner == NodeId::kNone || !at(owner).is_elementwise) continue;
      if (!(*at(owner).own_space == *at(node).own_space) && !is_cheap_to_repeat(owner)) continue;  // it is read from memory
      if (next != NodeId::kNone) return false;  // a tree of producers: leave it a kernel of its own
      next = owner;
    }
    if (next == NodeId::kNone) return true;
    node = next;
  }
  return true;
}

/// What stands against one kernel of two elementwise nodes, their levels aside.
Apart FusionGroups::against(NodeId producer, NodeId consumer) {
  if (at(consumer).reads_tables && reads_as_table(graph_, consumer, graph_.outputs(producer)[0])) return Apart::kTable;
  const Shape *from = at(producer).own_space, *to = at(consumer).own_space;
  if (from == to || *from == *to || is_cheap_to_repeat(producer)) return Apart::kNone;
  return graph_.uses(graph_.outputs(producer)[0]).size() > 1 ? Apart::kReaders : Apart::kShape;
}

void FusionGroups::set_levels() {
  for (NodeId node : order_) {
    int level = 0;
    for (ValueId input : graph_.inputs(node)) {
      const NodeId owner = graph_.owner(input);
      if (owner == NodeId::kNone) continue;
      level = std::max(level, at(owner).level + (may_share(owner, node) ? 0 : 1));
    }
    if (has_sizes_ && dynamic_cast<const SizeOp*>(&graph_.op(node))) level = graph_.owner(graph_.inputs(node)[0]) == NodeId::kNone ? -1 : level - 1;  // its readers wait for the value whose size it is alone
    at(node).level = level;
  }
}

/// Parts that nobody else reads wait for the last one: what puts them together does.
void FusionGroups::raise_woven() {
  for (NodeId node : woven_) {
    int level = 0;
    for (ValueId part : graph_.inputs(node)) {
      const NodeId maker = maker_of_part(graph_, part);
      if (maker != NodeId::kNone && at(maker).is_elementwise) level = std::max(level, at(maker).level);
    }
    for (ValueId part : graph_.inputs(node)) {
      const NodeId maker = maker_of_part(graph_, part);
      if (maker == NodeId::kNone || !at(maker).is_elementwise) continue;
      bool is_sole = true;
      const auto each_owner = [&](const auto& visit) {
        for (ValueId value = part;; value = graph_.inputs(graph_.owner(value))[0]) {
          visit(value);
          if (graph_.owner(value) == maker) return;
        }
      };
      each_owner([&](ValueId value) { is_sole &= graph_.uses(value).size() == 1; });
      if (is_sole) each_owner([&](ValueId value) { at(graph_.owner(value)).level = std::max(at(graph_.owner(value)).level, graph_.owner(value) == maker ? level : level + 1); });  // as what is behind the last one
    }
  }
}

void FusionGroups::raise_producers() {
  for (auto node = order_.rbegin(); node != order_.rend(); ++node) {
    if (!at(*node).is_elementwise) continue;
    const auto uses = graph_.uses(graph_.outputs(*node)[0]);
    const auto is_read = [](const Use& use) { return use.node != NodeId::kNone; };  // a result may come at any time
    const auto first = std::find_if(uses.begin(), uses.end(), is_read);
    if (first == uses.end()) continue;
    const int level = at(first->node).level;
    const auto joins = [&](const Use& use) { return !is_read(use) || (at(use.node).level == level && may_share(*node, use.node)); };
    if (std::all_of(uses.begin(), uses.end(), joins)) at(*node).level = level;
  }
}

void FusionGroups::join_edges() {
  for (NodeId node : order_) {
    if (!at(node).is_elementwise) continue;
    for (ValueId input : graph_.inputs(node)) {
      const NodeId owner = graph_.owner(input);
      if (owner == NodeId::kNone || at(owner).level != at(node).level) continue;
      if (may_share(owner, node)) unite(node, owner);
    }
  }
}

/// Nodes of one level and one iteration space that read the same array. Where that stretches, equal types are equal extents only if they
/// are known.
void FusionGroups::join_siblings() {
  std::unordered_map<int, NodeId> first;  // by level, for one value at a time
  for (int i = 0; i < graph_.value_limit(); ++i) {
    const auto value = static_cast<ValueId>(i);
    const auto uses = graph_.uses(value);
    const Shape& dims = graph_.type(value).dims;
    if (uses.size() < 2 || (dims.is_known() && dims.size() == 1)) continue;  // one element is read again at no cost
    first.clear();
    for (const Use& use : uses) {
      if (use.node == NodeId::kNone || !at(use.node).is_elementwise || reads_table(graph_, use.node, use.position)) continue;
      const auto [found, is_first] = first.try_emplace(at(use.node).level, use.node);
      if (is_first) continue;
      const Node& a = nodes_[static_cast<std::size_t>(find(static_cast<int>(found->second)))];
      const Node& b = nodes_[static_cast<std::size_t>(find(static_cast<int>(use.node)))];
      const bool is_one_space = *a.space == *b.space && (*a.space == graph_.type(value).dims || a.space->is_known());
      if (!a.has_other_space && !b.has_other_space && is_one_space) unite(found->second, use.node);
    }
  }
}

/// Elementwise nodes of one level and one iteration space whose values lie between each other.
void FusionGroups::join_woven() {
  for (NodeId node : woven_) {
    NodeId first = NodeId::kNone;
    for (ValueId part : graph_.inputs(node)) {
      const NodeId maker = maker_of_part(graph_, part);
      if (maker == NodeId::kNone || !at(maker).is_elementwise) continue;
      if (first == NodeId::kNone) first = maker;
      const Node &a = nodes_[static_cast<std::size_t>(find(static_cast<int>(first)))], &b = nodes_[static_cast<std::size_t>(find(static_cast<int>(maker)))];
      if (at(first).level == at(maker).level && !a.has_other_space && !b.has_other_space && *a.space == *b.space && a.space->is_known()) unite(first, maker);
    }
  }
}

void FusionGroups::collect() {
  std::vector<int> number(nodes_.size(), -1);
  for (NodeId node : order_) {
    if (!at(node).is_elementwise) continue;
    int& group = number[static_cast<std::size_t>(find(static_cast<int>(node)))];
    if (group < 0) {
      group = static_cast<int>(groups_.size());
      groups_.emplace_back();
    }
    groups_[static_cast<std::size_t>(group)].push_back(node);
  }
}

}  // namespace damo
