#include <damo/raw_kernel.hpp>

#include "ops/raw_kernel_op.hpp"

namespace damo {

ShapeRule same_as(int input) {
  return ShapeRule("same_as(" + std::to_string(input) + ")", [input](std::span<const Shape> shapes) {
    if (input < 0 || static_cast<std::size_t>(input) >= shapes.size()) {
      throw ShapeError("same_as(" + std::to_string(input) + "): there are " + std::to_string(shapes.size()) +
                           " inputs",
                       "count them from 0");
    }
    return std::vector<Shape>{shapes[static_cast<std::size_t>(input)]};
  });
}

ShapeRule::ShapeRule(SameAsInput) : ShapeRule(same_as(0)) {}

ShapeRule::ShapeRule(BroadcastOfInputs)
    : ShapeRule("broadcast_of_inputs",
                [](std::span<const Shape> shapes) { return std::vector<Shape>{broadcast_shapes(shapes)}; }) {}

LaunchRule one_thread_each(int block) {
  if (block < 1) throw GraphError("one_thread_each(" + std::to_string(block) + "): a block has at least one thread", "give 1 or more, 256 for most kernels");
  return LaunchRule("one_thread_each(" + std::to_string(block) + ")", [block](const KernelShapes& shapes) {
    const std::int64_t size = shapes.outputs[0].size();
    return LaunchConfig{.grid = {(size + block - 1) / block}, .block = {block}};
  });
}

RawKernel::RawKernel(RawKernelDefinition definition)
    : op_(std::make_shared<const RawKernelOp>(std::move(definition))) {}

const std::string& RawKernel::source() const { return op_->source(); }

Apply RawKernel::node(std::initializer_list<Operand> inputs) const {
  std::vector<Variable> variables;
  std::size_t i = 0;
  for (const Operand& input : inputs) {
    const std::vector<RawParameter>& declared = op_->inputs();
    variables.push_back(input.is_number() && i < declared.size() ? input.as(declared[i].dtype)
                                                                 : input.as(input.promotable().dtype));
    ++i;
  }
  return op_->apply(variables, inputs.begin()->where());
}

}  // namespace damo
