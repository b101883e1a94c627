#include <map>
#include <utility>
#include <vector>

#include "ops/attention/attention_mark.hpp"
#include "ops/attention/attention_op.hpp"
#include "ops/dimshuffle_op.hpp"

namespace damo {
namespace {

class KernelChoice {
 public:
  KernelChoice(FunctionGraph& graph, Device device) : graph_(graph), device_(device) {}

  void run() {
    for (NodeId node : graph_.toposort()) {
      if (const auto* mark = dynamic_cast<const AttentionMark*>(&graph_.op(node))) take_result(node, mark->form());
      if (const auto* mark = dynamic_cast<const AttentionGradientMark*>(&graph_.op(node))) take_gradient(node, mark->form());
    }
  }

 private:
  /// operands: query, key, value; mask: none or one.
  bool has_kernel(const AttentionForm& form, std::span<const ValueId> operands, std::span<const ValueId> mask) const {
    return has_attention_kernel(form, graph_.type(operands[0]), graph_.type(operands[1]), graph_.type(operands[2]), mask.empty() ? nullptr : &graph_.type(mask[0]), device_);
  }

  /// heads and rows change places.
  ValueId turned(ValueId value, const TensorType& type, SourceLine where) {
    const std::vector<std::int64_t> pattern = type.rank() == 4 ? std::vector<std::int64_t>{0, 2, 1, 3} : std::vector<std::int64_t>{1, 0, 2};
    const TensorType types[] = {type};
    return graph_.outputs(graph_.add(std::make_shared<const DimShuffleOp>(pattern), std::span(&value, 1), types, where))[0];
  }

  NodeId add_forward(const AttentionForm& form, std::span<const ValueId> operands, std::span<const ValueId> mask, SourceLine where) {
    std::vector<ValueId> inputs(operands.begin(), operands.end());
    inputs.insert(inputs.end(), mask.begin(), mask.end());
    return graph_.add(std::make_shared<const AttentionOp>(form), inputs, where);
  }

  void take_result(NodeId node, const AttentionForm& form) {
    const auto inputs = graph_.inputs(node);
    const auto operands = inputs.subspan(1, 3), mask = inputs.subspan(4);
    if (!has_kernel(form, operands, mask)) return;
    const ValueId result = graph_.outputs(node)[0];
    const NodeId made = add_forward(form, operands, mask, graph_.where(node));
    const ValueId in_place = turned(graph_.outputs(made)[0], graph_.type(result), graph_.where(node));
    graph_.replace(result, in_place);
    forward_[in_place] = made;
  }

  void take_gradient(NodeId node, const AttentionForm& form) {
    const std::vector<ValueId> inputs(graph_.inputs(node).begin(), graph_.inputs(node).end()), outputs(graph_.outputs(node).begin(), graph_.outputs(node).end());
    const auto operands = std::span(inputs).subspan(3, 3), mask = std::span(inputs).subspan(9);
    if (!has_kernel(form, operands, mask)) return;
    const SourceLine where = graph_.where(node);
    const auto known = forward_.find(inputs[7]);
    const NodeId forward = known != forward_.end() ? known->second : add_forward(form, operands, mask, where);
    std::vector<ValueId> needed(operands.begin(), operands.end());
    needed.insert(needed.end(), {inputs[6], graph_.outputs(forward)[1], inputs[8]});
    needed.insert(needed.end(), mask.begin(), mask.end());
    const NodeId made = graph_.add(std::make_shared<const AttentionGradientOp>(form), needed, where);
    for (std::size_t i = 0; i < outputs.size(); ++i) graph_.replace(outputs[i], turned(graph_.outputs(made)[i], graph_.type(outputs[i]), where));
  }

  FunctionGraph& graph_;
  Device device_;
  std::map<ValueId, NodeId> forward_;  // by the result in the user's order of axes
};

}  // namespace

FunctionGraph use_attention_kernels(FunctionGraph graph, Device device) {
  if (graph.has_op<AttentionMark>() || graph.has_op<AttentionGradientMark>()) KernelChoice(graph, device).run();
  return drop_gradient_marks(std::move(graph), Marks::kAll);
}

}  // namespace damo
