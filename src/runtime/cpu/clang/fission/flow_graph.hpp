// A control-flow graph of numbered nodes, and where the ways that leave a node meet again.
#pragma once
#include <vector>

namespace damo::clang_plugin {

struct FlowGraph {
  std::vector<std::vector<int>> next;  ///< successors of each node; the last node is the end, which has none
  int end() const { return static_cast<int>(next.size()) - 1; }
  /// Gives ways that go round for ever an end, where the loop that they are never to leave begins its next round. Nodes are
  /// numbered in reverse post-order.
  void close();
};

/// Of each node the first one that all ways from it to the end go through: its immediate post-dominator. The end for
/// nodes that never reach it.
std::vector<int> meeting_nodes(const FlowGraph& graph);

/// The nodes that are reached from node's successors before its meeting node; none where there is one way only.
std::vector<int> nodes_between(const FlowGraph& graph, const std::vector<int>& meeting, int node);

}  // namespace damo::clang_plugin
