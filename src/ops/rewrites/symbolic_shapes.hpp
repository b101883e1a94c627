// SymbolicShapes: which axes of a graph's values have the same extent, where types do not know the extents. Axes of inputs have
// symbols of their own; an elementwise op says that the extents of its operands are equal but for those that are known to be 1. Each
// node's operands are checked when shapes are there; a kernel of several looks again at its own, as others may be bound later.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include <damo/graph.hpp>

namespace damo {

class SymbolicShapes {
 public:
  static constexpr int kOne = 0;
  /// nodes in topological order.
  SymbolicShapes(const FunctionGraph& graph, const std::vector<NodeId>& nodes);
  /// A symbol for each axis; equal ones are equal extents. kOne: known to be 1.
  std::vector<int> of(ValueId value) const;

 private:
  int symbol(std::int64_t extent);
  int find(int symbol) const;
  void elementwise(const FunctionGraph& graph, NodeId node);
  std::vector<int> fresh(const Shape& dims);

  std::map<std::int64_t, int> known_;
  mutable std::vector<int> parent_;
  std::vector<std::vector<int>> shapes_;  // by value
};

}  // namespace damo
