// IfElseOp: one of two lists of values, of which only the one that is asked for is computed. As it is built its branches hand on inputs; sink_branches puts into them
// what only they need.
#pragma once
#include <array>
#include <optional>
#include <vector>

#include "ops/inner_graph_op.hpp"

namespace damo {

class IfElseOp final : public InnerGraphOp {
 public:
  /// Inputs: the condition, those of the first branch, those of the second. Both have outputs of these dtypes and ranks.
  IfElseOp(std::vector<TensorType> types, FunctionGraph then, FunctionGraph otherwise);
  /// The branches hand on their inputs.
  static std::shared_ptr<const IfElseOp> of(std::vector<TensorType> types, std::span<const Variable> then, std::span<const Variable> otherwise);

  std::string name() const override { return "ifelse"; }
  /// Shapes within a branch are looked at when it is taken.
  bool may_refuse() const override { return graphs_[0].node_count() + graphs_[1].node_count() > 0; }
  Props props() const override;
  Apply make_node(Inputs inputs) const override;
  Shapes infer_shape(const Apply& node, std::span<const Shape> inputs) const override;
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override;
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override;

  std::vector<const FunctionGraph*> inner_graphs() const override { return {&graphs_[0], &graphs_[1]}; }
  OpPtr with_graphs(std::vector<FunctionGraph> graphs) const override;
  const FunctionGraph& branch(std::size_t i) const { return graphs_[i]; }
  /// The first input of a branch among the node's.
  int first_input(std::size_t branch) const { return branch == 0 ? 1 : 1 + static_cast<int>(graphs_[0].inputs().size()); }
  const std::vector<TensorType>& types() const { return types_; }

 private:
  std::vector<TensorType> types_;
  std::array<FunctionGraph, 2> graphs_;
  std::array<InnerShapes, 2> shapes_;
};

/// One of the two branches of an ifelse.
struct Branch {
  Variable condition;
  bool is_first;  ///< taken where the condition holds
  friend bool operator==(const Branch& a, const Branch& b) { return a.condition.is_same(b.condition) && a.is_first == b.is_first; }
};
/// The branch that an input of a node is of; nothing where the node is no ifelse, or the input its condition.
std::optional<Branch> branch_of(const Apply& node, int input);

}  // namespace damo
