// Putting FusedOps in the place of the members of kernels.
#pragma once
#include <unordered_map>
#include <vector>

#include <damo/graph.hpp>
#include "ops/fused_op.hpp"

namespace damo {

/// For all kernels of one graph: groups that differ in their numbers alone share a form.
class FusionBuilder {
 public:
  explicit FusionBuilder(FunctionGraph& graph) : graph_(graph) {}
  /// Gives the new node. members: in the order in which the kernel runs them. Sizes that they read (size_op.hpp) become numbers of its launch. Their uses from outside read it; they themselves are left
  /// for prune().
  NodeId replace(const std::vector<NodeId>& members);
  /// The same for a node whose op becomes another one, of these inputs and the outputs that it has.
  NodeId replace(NodeId node, const OpPtr& op, const std::vector<ValueId>& inputs);
  /// What their FusedOp would compute: a value that they read several times is one input, and another one where they read it as a table (KernelOp::reads_table).
  FunctionGraph inner_graph_of(const std::vector<NodeId>& members);

 private:
  void build(const std::vector<NodeId>& members);
  void forget();
  void find_inputs(NodeId node);
  void add(NodeId node);
  bool is_inside(NodeId node) const { return node != NodeId::kNone && static_cast<std::size_t>(node) < group_of_.size() && group_of_[static_cast<std::size_t>(node)] == group_; }
  ValueId& inner_value(ValueId outer);
  /// What input number i of a node is in the inner graph; kNone if it is not there yet.
  ValueId& inner_input(NodeId node, std::size_t i);
  std::shared_ptr<const SizeOp> size_of_input(ValueId value) const;

  FunctionGraph& graph_;
  FusedForms forms_;
  int group_ = 0;
  std::vector<int> group_of_;       // by node of the graph: the last group that it was a member of
  std::vector<ValueId> value_of_;   // by value of the graph: the inner graph's, kNone if that has none yet
  std::vector<ValueId> touched_;    // those that have one
  std::unordered_map<ValueId, ValueId> table_of_;  // by value of the graph that is read as a table
  FunctionGraph inner_;
  std::vector<ValueId> inputs_, outputs_;  // of the outer graph
  SizesOfInputs sizes_;                    // of inputs_; empty: none
};

}  // namespace damo
