#include "ops/fused_op.hpp"

#include <algorithm>

#include "graph/user_line.hpp"
#include "ops/kernel_thunk.hpp"
#include "ops/lower.hpp"

namespace damo {

FusedOp::FusedOp(FunctionGraph inner, std::shared_ptr<FusedForm> form, SizesOfInputs sizes, std::vector<TakenInput> takes, std::vector<FramedInput> frames) : inner_(std::move(inner)), form_(std::move(form)), sizes_(std::move(sizes)), takes_(std::move(takes)), frames_(std::move(frames)), reduced_axes_(row_axes(inner_)), across_axes_(damo::across_axes(inner_)), reduces_(has_reductions(inner_)) {
  for (ValueId input : inner_.inputs()) tables_.push_back(damo::is_table(inner_, input));
  if (std::find(tables_.begin(), tables_.end(), true) == tables_.end()) tables_.clear();
}

Props FusedOp::props() const {
  Props props{{"nodes", std::int64_t{inner_.node_count()}}};
  if (const auto guarded = std::count(form_->guarded().begin(), form_->guarded().end(), true); guarded > 0) props.push_back({"guarded", std::int64_t{guarded}});
  if (!takes_.empty()) props.push_back({"takes", static_cast<std::int64_t>(takes_.size())});
  if (!frames_.empty()) props.push_back({"frames", static_cast<std::int64_t>(frames_.size())});
  return props;
}

Apply FusedOp::make_node(Inputs inputs) const {
  inputs.require_count(array_count() + static_cast<int>(takes_.size()));
  std::vector<TensorType> types;
  for (ValueId output : inner_.outputs()) types.push_back(inner_.type(output));
  return {*this, {inputs.begin(), inputs.end()}, std::move(types)};
}

Shapes FusedOp::infer_shape(const Apply&, std::span<const Shape> given) const {
  const auto arrays = static_cast<std::size_t>(array_count());
  std::vector<Shape> inputs(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(arrays));
  for (std::size_t i = 0; i < takes_.size(); ++i) {
    Shape& shape = inputs[static_cast<std::size_t>(takes_[i].input)];
    shape = takes_[i].op->shape(shape, given[arrays + i]);
  }
  for (const FramedInput& frame : frames_) {
    Shape& shape = inputs[static_cast<std::size_t>(frame.input)];
    shape = frame.op->shape(shape);
  }
  return form_->shapes(inputs, [&] {
    const std::vector<Shape> all = shapes(inputs);
    std::vector<Shape> outputs;
    for (ValueId output : inner_.outputs()) outputs.push_back(all[static_cast<std::size_t>(output)]);
    return outputs;
  });
}

std::vector<Shape> FusedOp::shapes(std::span<const Shape> inputs) const {
  std::vector<Shape> shapes(static_cast<std::size_t>(inner_.value_limit()));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ValueId input = inner_.inputs()[i];
    shapes[static_cast<std::size_t>(input)] = size(static_cast<int>(i)) ? inner_.type(input).dims : inputs[i];
  }
  std::vector<Shape> operands, dims;
  for (int i = 0; i < inner_.node_limit(); ++i) {
    const auto node = static_cast<NodeId>(i);
    operands.clear();
    dims.clear();
    for (ValueId input : inner_.inputs(node)) {
      operands.push_back(shapes[static_cast<std::size_t>(input)]);
      dims.push_back(inner_.type(input).dims);
    }
    try {
      shapes[static_cast<std::size_t>(inner_.outputs(node)[0])] = kernel_op(inner_, node).output_shape(dims, operands);
    } catch (Error& error) {
      if (const SourceLine where = inner_.where(node)) add_node(error, where, built_at(inner_.op(node).name(), where) + ", fused with " + std::to_string(inner_.node_count() - 1) + " others");
      throw;
    }
  }
  return shapes;
}

Thunk FusedOp::make_thunk(const Apply& node, ThunkContext& context) const {
  return kernel_thunk(form_->spec(inner_), form_->numbers(inner_), node, context, reduced_axes_);
}

}  // namespace damo
