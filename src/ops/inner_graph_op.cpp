#include "ops/inner_graph_op.hpp"

#include <algorithm>

#include "graph/user_line.hpp"

namespace damo {

bool InnerGraphOp::may_refuse() const {
  const auto refuses = [](const FunctionGraph* graph) {
    for (int i = 0; i < graph->op_limit(); ++i) {
      if (graph->op(static_cast<OpId>(i)).may_refuse()) return true;
    }
    return false;
  };
  const std::vector<const FunctionGraph*> graphs = inner_graphs();
  return std::any_of(graphs.begin(), graphs.end(), refuses);
}

InnerShapes::InnerShapes(const FunctionGraph& graph) : values_(static_cast<std::size_t>(graph.value_limit())) {
  const auto numbers = [](std::span<const ValueId> values) {
    std::vector<int> all;
    for (ValueId value : values) all.push_back(static_cast<int>(value));
    return all;
  };
  inputs_ = numbers(graph.inputs());
  outputs_ = numbers(graph.outputs());
  for (NodeId node : graph.toposort()) nodes_.push_back({graph.apply(node), numbers(graph.inputs(node)), numbers(graph.outputs(node))});
  for (int i = 0; i < graph.value_limit(); ++i) {
    if (const ConstantPtr& constant = graph.constant(static_cast<ValueId>(i))) constants_.emplace_back(i, constant->type.dims);
  }
}

Shapes InnerShapes::operator()(std::span<const Shape> inputs) const {
  std::vector<std::optional<Shape>> shapes(values_);
  for (std::size_t i = 0; i < inputs_.size(); ++i) shapes[static_cast<std::size_t>(inputs_[i])] = inputs[i];
  for (const auto& [value, shape] : constants_) shapes[static_cast<std::size_t>(value)] = shape;
  std::vector<Shape> known;
  for (const Node& node : nodes_) {
    known.clear();
    for (int input : node.inputs) {
      if (const auto& shape = shapes[static_cast<std::size_t>(input)]) known.push_back(*shape);
    }
    if (known.size() != node.inputs.size()) continue;
    const Op& op = node.apply.op();
    try {
      if (op.view_of(0) >= 0) {
        std::vector<Op::Layout> layouts;
        for (const Shape& shape : known) layouts.push_back({shape, contiguous_strides(shape), 0});
        shapes[static_cast<std::size_t>(node.outputs[0])] = op.view_layout(node.apply, layouts).shape;
        continue;
      }
      const Shapes made = op.infer_shape(node.apply, known);
      for (std::size_t i = 0; made && i < node.outputs.size(); ++i) shapes[static_cast<std::size_t>(node.outputs[i])] = (*made)[i];
    } catch (Error& error) {
      if (node.apply.where()) add_node(error, node.apply.where(), built_at(node.apply));
      throw;
    }
  }
  std::vector<Shape> results;
  for (int output : outputs_) {
    const auto& shape = shapes[static_cast<std::size_t>(output)];
    if (!shape) return {};
    results.push_back(*shape);
  }
  return results;
}

}  // namespace damo
