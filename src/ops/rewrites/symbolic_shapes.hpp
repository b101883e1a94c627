// SymbolicShapes: which axes of a graph's values have the same extent, where types do not know the extents. Axes of inputs have
// symbols of their own; an elementwise op says that the extents of its operands are equal but for those that are known to be 1. Each
// node's operands are checked when shapes are there; a kernel of several looks again at its own, as others may be bound later.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include <damo/graph.hpp>

namespace damo {

class SymbolicShapes {
 public:
  static constexpr int kOne = 0;
  /// For a graph of which parts may go. Equal extents are told from the nodes that stay, and there from the inputs that count.
  struct Checks {
    std::function<bool(NodeId)> stays;
    std::function<bool(NodeId, int)> counts;
  };
  /// nodes in topological order. checks: null where all nodes stay and all inputs count.
  SymbolicShapes(const FunctionGraph& graph, const std::vector<NodeId>& nodes, const Checks* checks = nullptr);
  /// A symbol for each axis; equal ones are equal extents. kOne: known to be 1.
  std::vector<int> of(ValueId value) const;
  /// False for values that came later.
  bool knows(ValueId value) const { return static_cast<std::size_t>(value) < shapes_.size(); }
  /// Whether no error of shapes is lost with the value: it stays, or is made by ops that need no check beyond those of nodes that stay. False
  /// for values that came later.
  bool is_sure(ValueId value) const { return static_cast<std::size_t>(value) < is_sure_.size() && is_sure_[static_cast<std::size_t>(value)]; }

 private:
  int symbol(std::int64_t extent);
  int find(int symbol) const;
  void elementwise(NodeId node);
  std::vector<int> part_of(NodeId node);
  bool stays(NodeId node) const { return !checks_ || checks_->stays(node); }
  std::vector<int> fresh(const Shape& dims);

  const FunctionGraph& graph_;
  const Checks* checks_;
  std::map<std::int64_t, int> known_;
  mutable std::vector<int> parent_;
  std::vector<std::vector<int>> shapes_;  // by value
  std::vector<char> is_sure_;             // by value
};

}  // namespace damo
