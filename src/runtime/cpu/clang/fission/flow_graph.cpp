#include <llvm/ADT/BitVector.h>
#include <llvm/ADT/SetVector.h>

#include "thread_program.hpp"

namespace damo::clang_plugin {
namespace {

using Edges = std::vector<std::vector<int>>;
using Sets = std::vector<llvm::BitVector>;  ///< of nodes, one for each node

/// Makes each set but the end's anew from those of the node's successors, until none changes any more.
template <class Update>
void settle(Sets& sets, const Update& update) {
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t node = sets.size() - 1; node-- > 0;) {
      llvm::BitVector now = update(node);
      changed |= now != sets[node];
      sets[node] = std::move(now);
    }
  }
}

/// Those that ways from a node come to.
Sets nodes_behind(const Edges& next) {
  Sets behind(next.size(), llvm::BitVector(static_cast<unsigned>(next.size())));
  settle(behind, [&](std::size_t node) {
    llvm::BitVector found = behind[node];
    for (int to : next[node]) found.set(to) |= behind[to];
    return found;
  });
  return behind;
}

/// Ways that go round for ever get an end where the loop that they are never to leave begins its next round.
void end_all_ways(Edges& next) {
  const int end = static_cast<int>(next.size()) - 1;
  for (;;) {
    // Of nodes that don't end, one that all nodes behind it come back to. Loops before it are left.
    const Sets behind = nodes_behind(next);
    const auto is_head = [&](int node) {
      return !behind[node][end] && llvm::all_of(behind[node].set_bits(), [&](unsigned other) { return behind[other][node]; });
    };
    const auto nodes = llvm::seq(0, end);
    const auto head = llvm::find_if(nodes, is_head);
    if (head == nodes.end()) return;
    for (int from = *head; from < end; ++from) {
      if (llvm::is_contained(next[from], *head)) next[from].push_back(end);
    }
  }
}

}  // namespace

FlowGraph::FlowGraph(Edges successors) : next_(std::move(successors)) {
  next_.emplace_back();
  for (int node = 0; node < end(); ++node) {
    if (next_[node].empty()) next_[node].push_back(end());
  }
  end_all_ways(next_);
  const auto size = static_cast<unsigned>(next_.size());
  Sets on_all_ways(size, llvm::BitVector(size, true));  // from a node, itself included: its post-dominators
  on_all_ways.back().reset().set(end());
  settle(on_all_ways, [&](std::size_t node) {
    llvm::BitVector found(size, true);
    for (int to : next_[node]) found &= on_all_ways[to];
    return found.set(static_cast<unsigned>(node));
  });
  std::vector<unsigned> left;  // the nearer a node is, the more are still on all ways from it
  for (const llvm::BitVector& nodes : on_all_ways) left.push_back(nodes.count());
  meeting_.assign(size, end());
  for (int node = 0; node < end(); ++node) {
    for (unsigned other : on_all_ways[node].reset(node).set_bits()) {
      if (left[other] > left[meeting_[node]]) meeting_[node] = static_cast<int>(other);
    }
  }
}

std::vector<int> FlowGraph::between(int node, int until) const {
  llvm::SetVector<int> found;
  const auto go_on = [&](int from) {
    for (int to : next_[from]) {
      if (to != until && to != end()) found.insert(to);
    }
  };
  go_on(node);
  for (std::size_t i = 0; i < found.size(); ++i) go_on(found[i]);
  return {found.begin(), found.end()};
}

}  // namespace damo::clang_plugin
