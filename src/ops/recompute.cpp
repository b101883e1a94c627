// recompute(): the gradient of a part is that of a copy of the part, which reads its inputs through AfterOps: views that are there only when the gradients
// of the outputs are. So the copy runs when it is needed, and equals no node of the forward pass, with which it would be merged.
#include <damo/custom_gradient.hpp>

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include <damo/rewrite.hpp>
#include "ops/backward.hpp"
#include "ops/gradient_mark.hpp"

namespace damo {
namespace {

/// Its first input, once the others have been computed.
class AfterOp final : public Op {
 public:
  std::string name() const override { return "after"; }
  bool takes_float8() const override { return true; }
  Apply make_node(Inputs inputs) const override { return {*this, {inputs.begin(), inputs.end()}, {inputs.at(0).type()}}; }
  Shapes infer_shape(const Apply&, std::span<const Shape> inputs) const override { return {{inputs[0]}}; }
  int view_of(int) const override { return 0; }
  Layout view_layout(const Apply&, std::span<const Layout> inputs) const override { return inputs[0]; }
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override {
    Gradients gradients(node.inputs().size(), Gradient::disconnected());
    gradients[0] = output_gradients[0];
    return gradients;
  }
};

/// Nodes that depend on inputs and that outputs need; what they read from elsewhere, inputs first, and outputs that depend on no input; which inputs they read.
class Segment {
 public:
  Segment(std::span<const Variable> outputs, std::span<const Variable> inputs) {
    for (const Variable& input : inputs) inputs_.insert(input.id());
    for (const Variable& output : outputs) find_dependent(output);
    for (const Variable& input : inputs) {
      if (reached_.contains(input.id())) add(input);
    }
    for (const Variable& output : outputs) add_read(output);
    for (const Apply& node : order_) {
      if (!dependent_.contains(node.output().id())) continue;
      for (const Variable& input : node.inputs()) add_read(input);
    }
  }
  const std::vector<Variable>& boundary() const { return boundary_; }
  bool reads(const Variable& input) const { return reached_.contains(input.id()); }

 private:
  struct Visit {
    Apply node;
    std::size_t next = 0;
    bool depends = false;
  };

  /// Whether it is one of the inputs or is computed from them; of nodes that were seen.
  bool depends(const Variable& variable) const {
    return inputs_.contains(variable.id()) || (variable.has_owner() && dependent_.contains(variable.owner().output().id()));
  }
  void find_dependent(const Variable& output) {
    std::vector<Visit> stack;
    const auto enter = [&](const Variable& variable) {
      if (inputs_.contains(variable.id())) reached_.insert(variable.id());
      else if (variable.has_owner() && seen_.insert(variable.owner().output().id()).second) stack.push_back({variable.owner()});
    };
    enter(output);
    while (!stack.empty()) {
      Visit& top = stack.back();
      if (top.next < top.node.inputs().size()) {
        const Variable input = top.node.inputs()[top.next++];
        enter(input);
        continue;
      }
      const Apply node = std::move(top.node);
      stack.pop_back();
      if (std::any_of(node.inputs().begin(), node.inputs().end(), [&](const Variable& input) { return depends(input); })) dependent_.insert(node.output().id());
      order_.push_back(node);
    }
  }
  /// What nodes of the part read, or its outputs are, unless such a node makes it.
  void add_read(const Variable& variable) {
    const bool is_made_inside = variable.has_owner() && dependent_.contains(variable.owner().output().id()) && !inputs_.contains(variable.id());
    if (!variable.is_constant() && !is_made_inside) add(variable);
  }
  void add(const Variable& variable) {
    if (added_.insert(variable.id()).second) boundary_.push_back(variable);
  }

  std::unordered_set<std::size_t> inputs_, reached_, seen_, dependent_, added_;  // nodes by their first output
  std::vector<Apply> order_;
  std::vector<Variable> boundary_;
};

/// Inputs: the part's outputs, then all that it reads. Where something else is put in the place of a Variable in the part (substitute(), a loop that takes in what its step reads of the graph around
/// it), the part reads that from then on, and has its gradient.
class RecomputeOp final : public GradientMark {
 public:
  using GradientMark::GradientMark;
  std::string name() const override { return "recompute"; }
  Apply make_node(Inputs inputs) const override {
    const std::span<const Variable> given(inputs.begin(), inputs.end()), made = given.first(static_cast<std::size_t>(outputs()));
    std::vector<Variable> all(made.begin(), made.end());
    const Segment part(made, given.subspan(made.size()));
    all.insert(all.end(), part.boundary().begin(), part.boundary().end());
    return GradientMark::make_node(Inputs(all));
  }
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override {
    static const auto after = std::make_shared<const AfterOp>();
    const auto count = static_cast<std::size_t>(outputs());
    std::vector<Variable> arrived;  // floating outputs' gradients
    for (const Variable& gradient : output_gradients) {
      if (gradient) arrived.push_back(gradient);
    }
    std::vector<Assignment> late;
    for (const Variable& read : node.inputs().subspan(count)) {
      std::vector<Variable> inputs{read};
      inputs.insert(inputs.end(), arrived.begin(), arrived.end());
      late.push_back({read, after->apply(inputs, node.where()).output()});
    }
    const std::vector<Variable> copies = substitute(node.inputs().first(count), late, true);
    std::vector<Variable> outputs, inputs;
    for (std::size_t i = 0; i < count; ++i) {
      if (output_gradients[i]) outputs.push_back(copies[i]);
    }
    for (const Assignment& one : late) {
      if (is_floating(one.value.dtype())) inputs.push_back(one.value);
    }
    const std::vector<Variable> found = backward(outputs, arrived, inputs, {.disconnected = Disconnected::kZero}, node.where());
    Gradients gradients(count, Gradient::disconnected());
    std::size_t next = 0;
    for (const Assignment& one : late) gradients.push_back(is_floating(one.value.dtype()) ? Gradient(found[next++]) : Gradient::disconnected());
    return gradients;
  }
};

}  // namespace

std::vector<Variable> recompute(std::span<const Variable> outputs, std::span<const Variable> inputs, SourceLine where) {
  if (outputs.empty()) throw GraphError("recompute: no output is given", "give what is to be computed again for the gradient");
  std::vector<Variable> all(outputs.begin(), outputs.end());
  for (const Variable& variable : outputs) {
    if (!variable) throw GraphError("recompute: an output is an empty Variable", "assign it before it is used");
  }
  for (const Variable& variable : inputs) {
    if (!variable) throw GraphError("recompute: an input is an empty Variable", "assign it before it is used");
  }
  const Segment part(outputs, inputs);
  for (const Variable& input : inputs) {
    if (!part.reads(input)) throw GraphError("recompute: no output depends on " + describe(input), "name what the part begins with");
  }
  all.insert(all.end(), inputs.begin(), inputs.end());
  return std::make_shared<const RecomputeOp>(static_cast<int>(outputs.size()))->apply(all, where).outputs();
}

}  // namespace damo
