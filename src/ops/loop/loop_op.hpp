// LoopOp: a step that is computed again and again (damo/loop.hpp). It keeps the step as Variables, from which its gradient is built, and as a graph, which
// the passes rewrite and the thunk runs.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "ops/inner_graph_op.hpp"
#include "ops/loop/loop_plan.hpp"

namespace damo {

struct LoopKernel;

/// inputs: free Variables, which stand for a step's values.
struct LoopBody {
  std::vector<Variable> inputs, outputs;
};

class LoopOp final : public InnerGraphOp {
 public:
  LoopOp(LoopPlan plan, LoopBody body, std::string name);

  std::string name() const override { return name_; }
  Props props() const override;
  /// Besides: a number of steps that is data, a condition that must come true, and one that says how many rows there are.
  bool may_refuse() const override { return plan_.has_count_input || plan_.has_until || InnerGraphOp::may_refuse(); }
  Apply make_node(Inputs inputs) const override;
  Shapes infer_shape(const Apply& node, std::span<const Shape> inputs) const override;
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override;
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override;

  std::vector<const FunctionGraph*> inner_graphs() const override { return {&graph_}; }
  OpPtr with_graphs(std::vector<FunctionGraph> graphs) const override;

  /// What runs all steps, where shapes allow it at the call; null: steps run one by one. Made by fuse_loops.
  const LoopKernel* kernel() const { return kernel_.get(); }
  OpPtr with_kernel(std::shared_ptr<const LoopKernel> kernel) const;

  const LoopPlan& plan() const { return plan_; }
  const LoopBody& body() const { return body_; }
  /// As the thunk runs it: for each sum its value so far is one more input, behind the others, and the sum the output.
  const FunctionGraph& graph() const { return graph_; }

  /// The number of positions, from the shapes of the node's inputs; -1 where only the value of an input says it. Throws ShapeError
  /// for sequences that do not fit.
  std::int64_t count(std::span<const Shape> inputs) const;
  /// Throws ShapeError for a sequence that has too few rows.
  void require_rows(std::span<const Shape> inputs, std::int64_t count) const;
  /// Of what the step gives, [until] included; nullopt where data says it. Throws ShapeError for a state that does not keep its shape.
  Shapes step_shapes(std::span<const Shape> inputs) const;
  /// Of output i of the node: row: what a step gives.
  Shape output_shape(std::size_t i, std::span<const Shape> inputs, std::int64_t count, const Shape& row) const;

 private:
  TensorType output_type(std::size_t i, Inputs inputs, std::int64_t count) const;
  [[noreturn]] void refuse_rows(std::size_t sequence, std::int64_t rows, std::int64_t count) const;

  LoopPlan plan_;
  LoopBody body_;
  std::string name_;
  FunctionGraph graph_;
  std::shared_ptr<const InnerShapes> shapes_;
  std::shared_ptr<const LoopKernel> kernel_;
};

/// The node of a loop. outer: what the step's outputs read beside `own`, its own inputs, which are found and become inputs of the node. leading: the
/// node's inputs before the others.
Apply make_loop(const LoopPlan& plan, std::vector<Variable> own, std::vector<Variable> outputs, std::vector<Variable> leading, const std::string& name, SourceLine where);

/// The loop with the outputs that are wanted and what they need; keep: by output, see LoopOutput. Gives the op, and which inputs and outputs of the node stay.
struct TrimmedLoop {
  OpPtr op;
  std::vector<int> inputs, outputs;
};
TrimmedLoop trim(const LoopOp& loop, int node_inputs, const std::vector<char>& wanted, const std::vector<LoopOutput>& outputs);

}  // namespace damo
