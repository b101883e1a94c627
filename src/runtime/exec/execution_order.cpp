#include "runtime/exec/execution_order.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <unordered_set>

namespace damo {
namespace {

/// The shared variables that the node gives their new values.
std::vector<ValueId> updated(const FunctionGraph& graph, NodeId node) {
  std::vector<ValueId> variables;
  for (ValueId output : graph.outputs(node)) {
    for (const Use& use : graph.uses(output)) {
      if (use.node == NodeId::kNone && use.position >= graph.result_count()) variables.push_back(graph.updated()[static_cast<std::size_t>(use.position - graph.result_count())]);
    }
  }
  return variables;
}

/// What the node writes over, or may.
std::vector<ValueId> overwritten(const FunctionGraph& graph, NodeId node) {
  std::vector<ValueId> values = updated(graph, node);
  for (std::size_t i = 0; i < graph.outputs(node).size(); ++i) {
    const int input = graph.op(node).overwrites(static_cast<int>(i));
    if (input >= 0) values.push_back(graph.inputs(node)[static_cast<std::size_t>(input)]);
  }
  return values;
}

/// The input whose memory the node's output has or may have, kNone if none.
ValueId looked_at(const FunctionGraph& graph, NodeId node) {
  const Op& op = graph.op(node);
  const int input = op.view_of(0) >= 0 ? op.view_of(0) : op.passes_through(0);
  return input < 0 ? ValueId::kNone : graph.inputs(node)[static_cast<std::size_t>(input)];
}

/// Nodes that read the value, what it is a view of, or any view of that.
std::vector<NodeId> readers_of(const FunctionGraph& graph, ValueId value) {
  for (NodeId owner = graph.owner(value); owner != NodeId::kNone; owner = graph.owner(value)) {
    const ValueId base = looked_at(graph, owner);
    if (base == ValueId::kNone) break;
    value = base;
  }
  std::vector<NodeId> readers;
  std::vector<ValueId> pending{value};
  std::unordered_set<NodeId> seen;
  while (!pending.empty()) {
    const ValueId next = pending.back();
    pending.pop_back();
    for (const Use& use : graph.uses(next)) {
      if (use.node == NodeId::kNone || !seen.insert(use.node).second) continue;
      readers.push_back(use.node);
      if (looked_at(graph, use.node) == next) pending.push_back(graph.outputs(use.node)[0]);
    }
  }
  return readers;
}

class Scheduler {
 public:
  explicit Scheduler(const FunctionGraph& graph)
      : graph_(graph), sorted_(graph.toposort()), nodes_(static_cast<std::size_t>(graph.node_limit())) {
    for (std::size_t i = 0; i < sorted_.size(); ++i) at(sorted_[i]).place = i;
    for (NodeId node : sorted_) {
      for (ValueId value : graph.inputs(node)) at(node).missing += graph.owner(value) != NodeId::kNone;
      for (ValueId value : overwritten(graph, node)) wait_for_readers(node, value);
    }
    if (!graph.updated().empty()) wait_for_refusals();
  }

  std::vector<NodeId> run() {
    if (!waits_) return sorted_;
    std::vector<NodeId> order;
    for (NodeId node : sorted_) {
      if (at(node).missing == 0) make_ready(node);
    }
    while (order.size() < sorted_.size()) {
      std::set<std::size_t>& from = ready_.empty() ? postponed_ : ready_;
      const NodeId node = sorted_[*from.begin()];
      from.erase(from.begin());
      order.push_back(node);
      finish(node);
    }
    return order;
  }

 private:
  struct Node {
    std::size_t place = 0;        // in the sorted order
    int missing = 0;              // inputs that are not computed yet
    int readers = 0;              // of what it overwrites, that have not run
    bool refuses = false;         // it may
    std::vector<NodeId> waiting;  // overwriting nodes that wait for this one
  };
  Node& at(NodeId node) { return nodes_[static_cast<std::size_t>(node)]; }

  void wait_for_readers(NodeId node, ValueId value) {
    for (NodeId reader : readers_of(graph_, value)) {
      if (reader == node) continue;
      at(reader).waiting.push_back(node);
      ++at(node).readers;
      waits_ = true;
    }
  }
  /// All updates wait for all nodes that may refuse: one more reader, which has run when the last of these has.
  void wait_for_refusals() {
    std::vector<char> refuses(static_cast<std::size_t>(graph_.op_limit()));
    for (std::size_t i = 0; i < refuses.size(); ++i) refuses[i] = graph_.op(static_cast<OpId>(i)).may_refuse();
    for (NodeId node : sorted_) refusals_ += at(node).refuses = refuses[static_cast<std::size_t>(graph_.op_id(node))];
    if (refusals_ == 0) return;
    for (NodeId node : sorted_) {
      if (at(node).refuses || updated(graph_, node).empty()) continue;
      updates_.push_back(node);
      ++at(node).readers;
      waits_ = true;
    }
  }
  void make_ready(NodeId node) { (at(node).readers > 0 ? postponed_ : ready_).insert(at(node).place); }
  void let_go(std::span<const NodeId> waiting) {
    for (NodeId node : waiting) {
      Node& record = at(node);
      if (--record.readers == 0 && postponed_.erase(record.place) > 0) ready_.insert(record.place);
    }
  }

  void finish(NodeId node) {
    let_go(at(node).waiting);
    if (at(node).refuses && --refusals_ == 0) let_go(updates_);
    for (ValueId output : graph_.outputs(node)) {
      for (const Use& use : graph_.uses(output)) {
        if (use.node != NodeId::kNone && --at(use.node).missing == 0) make_ready(use.node);
      }
    }
  }

  const FunctionGraph& graph_;
  std::vector<NodeId> sorted_;
  std::vector<Node> nodes_;
  std::vector<NodeId> updates_;              // that wait for the nodes that may refuse
  int refusals_ = 0;                         // such nodes that have not run
  std::set<std::size_t> ready_, postponed_;  // places
  bool waits_ = false;
};

}  // namespace

std::vector<NodeId> execution_order(const FunctionGraph& graph) { return Scheduler(graph).run(); }

}  // namespace damo
