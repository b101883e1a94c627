#include <llvm/ADT/SetVector.h>

#include <algorithm>
#include <cstddef>

#include "thread_program.hpp"

namespace damo::clang_plugin {
namespace {

using Edges = std::vector<std::vector<int>>;

Edges reversed(const Edges& next) {
  Edges back(next.size());
  for (std::size_t node = 0; node < next.size(); ++node) {
    for (int to : next[node]) back[to].push_back(static_cast<int>(node));
  }
  return back;
}

/// Nodes from which root is left last come last; those that edges do not reach are left out.
std::vector<int> post_order(const Edges& edges, int root) {
  std::vector<int> order;
  std::vector<char> seen(edges.size());
  std::vector<std::pair<int, std::size_t>> open = {{root, 0}};
  seen[root] = 1;
  while (!open.empty()) {
    auto& [node, at] = open.back();
    if (at == edges[node].size()) {
      order.push_back(node);
      open.pop_back();
      continue;
    }
    const int to = edges[node][at++];
    if (!std::exchange(seen[to], 1)) open.emplace_back(to, 0);
  }
  return order;
}

}  // namespace

void FlowGraph::close() {
  for (;;) {
    const Edges back = reversed(next);
    std::vector<char> ends(next.size());
    for (int node : post_order(back, end())) ends[node] = 1;
    if (std::find(ends.begin(), ends.end(), 0) == ends.end()) return;
    // A loop that is never left: of nodes that don't end, one that all nodes behind it come back to. Loops before it are left.
    int head = 0;
    for (;; ++head) {
      if (ends[head]) continue;
      std::vector<char> comes_back(next.size());
      for (int node : post_order(back, head)) comes_back[node] = 1;
      const std::vector<int> behind = post_order(next, head);
      if (std::all_of(behind.begin(), behind.end(), [&](int node) { return comes_back[node] != 0; })) break;
    }
    for (int from : back[head]) {
      if (from >= head) next[from].push_back(end());
    }
  }
}

// Cooper, Harvey and Kennedy's iteration, on the reversed graph.
std::vector<int> meeting_nodes(const FlowGraph& graph) {
  const int end = graph.end();
  std::vector<int> order = post_order(reversed(graph.next), end), place(graph.next.size(), -1);
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<int>(i);
  std::reverse(order.begin(), order.end());
  std::vector<int> meeting(graph.next.size(), -1);
  meeting[end] = end;
  for (bool changed = true; changed;) {
    changed = false;
    for (int node : order) {
      if (node == end) continue;
      int found = -1;
      for (int to : graph.next[node]) {
        if (meeting[to] < 0) continue;
        int other = to;
        while (found >= 0 && found != other) {
          int& later = place[found] < place[other] ? found : other;
          later = meeting[later];
        }
        found = other;
      }
      changed |= std::exchange(meeting[node], found) != found;
    }
  }
  for (int& node : meeting) node = node < 0 ? end : node;
  return meeting;
}

std::vector<int> nodes_between(const FlowGraph& graph, const std::vector<int>& meeting, int node) {
  llvm::SetVector<int> found;
  const auto go_on = [&](int from) {
    for (int to : graph.next[from]) {
      if (to != meeting[node] && to != graph.end()) found.insert(to);
    }
  };
  go_on(node);
  for (std::size_t i = 0; i < found.size(); ++i) go_on(found[i]);
  return {found.begin(), found.end()};
}

}  // namespace damo::clang_plugin
