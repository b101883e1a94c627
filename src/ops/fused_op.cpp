#include "ops/fused_op.hpp"

#include "ops/elementwise_op.hpp"
#include "ops/elementwise_thunk.hpp"
#include "ops/lower.hpp"

namespace damo {

FusedOp::FusedOp(FunctionGraph inner) : inner_(std::move(inner)) {}

Props FusedOp::props() const { return {{"nodes", std::int64_t{inner_.node_count()}}}; }

Apply FusedOp::make_node(Inputs inputs) const {
  inputs.require_count(static_cast<int>(inner_.inputs().size()));
  std::vector<TensorType> types;
  for (ValueId output : inner_.outputs()) types.push_back(inner_.type(output));
  return {*this, {inputs.begin(), inputs.end()}, std::move(types)};
}

Shapes FusedOp::infer_shape(const Apply&, std::span<const Shape> inputs) const {
  std::vector<Shape> shapes(static_cast<std::size_t>(inner_.value_limit()));
  for (std::size_t i = 0; i < inputs.size(); ++i) shapes[static_cast<std::size_t>(inner_.inputs()[i])] = inputs[i];
  std::vector<Shape> operands;
  for (int i = 0; i < inner_.node_limit(); ++i) {
    const auto node = static_cast<NodeId>(i);
    operands.clear();
    for (ValueId input : inner_.inputs(node)) operands.push_back(shapes[static_cast<std::size_t>(input)]);
    try {
      const auto& op = static_cast<const ElementwiseOp&>(inner_.op(node));
      shapes[static_cast<std::size_t>(inner_.outputs(node)[0])] = op.output_shape(operands);
    } catch (const ShapeError& error) {
      ErrorParts parts = error.parts();
      if (inner_.where(node)) parts.where = inner_.op(node).name() + " built at " + to_string(inner_.where(node)) + ", fused with " + std::to_string(inner_.node_count() - 1) + " others";
      throw ShapeError(std::move(parts));
    }
  }
  std::vector<Shape> outputs;
  for (ValueId output : inner_.outputs()) outputs.push_back(shapes[static_cast<std::size_t>(output)]);
  return outputs;
}

Thunk FusedOp::make_thunk(const Apply& node, ThunkContext& context) const {
  return elementwise_thunk(lower(inner_), node, context);
}

}  // namespace damo
