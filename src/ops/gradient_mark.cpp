#include "ops/gradient_mark.hpp"

#include <utility>
#include <vector>

#include <damo/thunk.hpp>

namespace damo {

Apply GradientMark::make_node(Inputs inputs) const {
  std::vector<TensorType> types;
  for (int i = 0; i < outputs_; ++i) types.push_back(inputs.at(i).type());
  return {*this, {inputs.begin(), inputs.end()}, std::move(types)};
}

Shapes GradientMark::infer_shape(const Apply&, std::span<const Shape> inputs) const { return std::vector<Shape>(inputs.begin(), inputs.begin() + outputs_); }

Thunk GradientMark::make_thunk(const Apply& node, ThunkContext& context) const {
  std::vector<std::pair<const Cell*, const Cell*>> pairs;
  for (int i = 0; i < outputs_; ++i) pairs.emplace_back(&context.storage(node.input(i)), &context.storage(node.output(i)));
  context.promise_recordable();
  context.promise_contained();
  return [pairs] {
    for (const auto& [from, to] : pairs) to->array().copy_from(from->array());
  };
}

FunctionGraph drop_gradient_marks(FunctionGraph graph, Marks marks) {
  if (!graph.has_op<GradientMark>()) return graph;
  bool some = false;
  for (NodeId node : graph.nodes()) {
    const auto* mark = dynamic_cast<const GradientMark*>(&graph.op(node));
    if (!mark || (marks == Marks::kOfGradients && mark->is_for_passes())) continue;
    some = true;
    for (std::size_t i = 0; i < graph.outputs(node).size(); ++i) graph.replace(graph.outputs(node)[i], graph.inputs(node)[i]);
  }
  if (some) graph.prune();
  return graph;
}

}  // namespace damo
