// FusionGroups: which elementwise nodes may share a kernel; see fusion.hpp for the rules.
#pragma once
#include <utility>
#include <vector>

#include <damo/graph.hpp>
#include "ops/rewrites/fusion_record.hpp"

namespace damo {

class FusionGroups {
 public:
  explicit FusionGroups(const FunctionGraph& graph);
  /// Elementwise nodes by group, each in topological order.
  const std::vector<std::vector<NodeId>>& groups() const { return groups_; }
  std::vector<std::vector<NodeId>> take_groups() { return std::exchange(groups_, {}); }
  /// Why two elementwise nodes, of which one reads the other, are in different groups.
  Apart apart(NodeId producer, NodeId reader) {
    const Apart why = against(producer, reader);
    return why == Apart::kNone ? Apart::kCycle : why;
  }

 private:
  struct Node {
    bool is_elementwise = false;
    bool reads_tables = false;          // some of its inputs at places that it computes
    bool has_other_space = false;       // at a root: some member has another iteration space than the group's
    int level = 0;
    int parent = -1;                    // union-find
    const Shape* own_space = nullptr;   // as far as it is known
    const Shape* space = nullptr;       // at a root: the widest
  };
  Node& at(NodeId node) { return nodes_[static_cast<std::size_t>(node)]; }
  int find(int node);
  void unite(NodeId a, NodeId b);
  Apart against(NodeId producer, NodeId consumer);
  bool may_share(NodeId producer, NodeId consumer) { return at(producer).is_elementwise && at(consumer).is_elementwise && against(producer, consumer) == Apart::kNone; }
  bool is_cheap_to_repeat(NodeId producer);
  void set_levels();
  void raise_woven();
  void raise_producers();
  void join_edges();
  void join_siblings();
  void join_woven();
  void collect();

  const FunctionGraph& graph_;
  std::vector<NodeId> order_;
  std::vector<NodeId> woven_;  // what puts woven parts together
  bool has_sizes_;
  std::vector<Node> nodes_;
  std::vector<std::vector<NodeId>> groups_;
};

}  // namespace damo
