#include "ops/raw_kernel_op.hpp"

#include <algorithm>

#include <damo/ops/shape.hpp>

#include "runtime/kernel/given_names.hpp"
#include "runtime/kernel/line_directive.hpp"

namespace damo {
namespace {

constexpr std::int64_t kExpectedExtent = 1024;  // stands for an unknown one, as in the executor's predictions

}  // namespace

RawKernelOp::RawKernelOp(RawKernelDefinition definition) : definition_(std::move(definition)) {
  if (definition_.name.empty()) throw GraphError("a RawKernel needs a name", "give .name, by which errors and the kernel call it");
  if (definition_.kernel.empty()) definition_.kernel = definition_.name;
  if (definition_.body.text.empty() == definition_.source.text.empty()) {
    throw GraphError("RawKernel " + definition_.name + " must have either .body or .source",
                     "give the text between the kernel's braces to .body, or all of it to .source");
  }
  const bool has_body = definition_.source.text.empty();
  if (has_body && !is_identifier(definition_.kernel)) {
    throw GraphError("RawKernel " + definition_.kernel + ": a kernel cannot be called so",
                     "use letters, digits and _, or give another name to .kernel");
  }
  if (has_body) definition_.kernel = kernel_name(definition_.kernel);
  try {
    if (definition_.inputs.empty() || definition_.outputs.empty())
      throw GraphError("a RawKernel needs an input and an output",
                       "declare them: .inputs = {\"const float* x\"}, .outputs = {\"float* y\"}");
    read_inputs();
    read_outputs();
    read_overwrites();
    read_scalars();
    check_names();
  } catch (GraphError& error) {
    error.add_where(in_kernel("RawKernel " + definition_.name, (has_body ? definition_.body : definition_.source).where));
    throw;
  }
  write_source();
}

void RawKernelOp::write_source() {
  std::string parameters;
  bool half = false, bfloat16s = false, float8s = false;
  const auto add = [&](const RawParameter& parameter) {
    parameters += (parameters.empty() ? "" : ", ") + parameter.declaration;
    half |= parameter.dtype == float16;
    bfloat16s |= parameter.dtype == bfloat16;
    float8s |= is_float8(parameter.dtype);
  };
  for (const RawParameter& input : inputs_) add(input);
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (overwrites_[i] < 0) add(outputs_[i]);
  }
  for (const RawScalar& scalar : scalars_) add(scalar.parameter);
  if (half) source_ += "#include <cuda_fp16.h>\n";
  if (bfloat16s) source_ += "#include <cuda_bf16.h>\n";
  if (float8s) source_ += "#include <cuda_fp8.h>\n";
  if (!definition_.source.text.empty()) {
    source_ += line_directive(definition_.source) + definition_.source.text;
  } else {
    source_ += "extern \"C\" __global__ void " + definition_.kernel + "(" + parameters + ") {\n" +
               line_directive(definition_.body) + definition_.body.text + "\n}\n";
  }
}

std::vector<Shape> RawKernelOp::checked_shapes(std::span<const Shape> inputs) const {
  std::vector<Shape> shapes = definition_.shapes(inputs);
  if (shapes.size() == 1) shapes = std::vector<Shape>(outputs_.size(), shapes.front());
  if (shapes.size() == outputs_.size()) {
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      if (overwrites_[i] >= 0) shapes[i] = inputs[static_cast<std::size_t>(overwrites_[i])];
    }
    return shapes;
  }
  throw ShapeError(name() + ": the shape rule gave " + std::to_string(shapes.size()) + " shapes for " +
                       std::to_string(outputs_.size()) + " outputs",
                   "give one for each output, or one for all");
}

/// A lambda may compute with extents, which a kUnknown would spoil: it gives the rank alone unless all are known.
std::vector<Shape> RawKernelOp::type_dims(std::span<const Shape> inputs) const {
  const bool known = std::all_of(inputs.begin(), inputs.end(), [](const Shape& shape) { return shape.is_known(); });
  if (known || definition_.shapes.takes_unknown()) return checked_shapes(inputs);
  std::vector<Shape> expected(inputs.begin(), inputs.end());
  for (Shape& shape : expected) std::replace(shape.begin(), shape.end(), kUnknown, kExpectedExtent);
  std::vector<Shape> shapes;
  try {
    shapes = checked_shapes(expected);
  } catch (const ShapeError& error) {
    if (!error.parts().remedy.empty()) throw;
    throw ShapeError(
        name() + ": " + error.parts().message,
        "the shape rule was asked with " + std::to_string(kExpectedExtent) +
            " for each unknown extent, to learn the ranks: declare the inputs' extents, or accept that number");
  }
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    shapes[i] = overwrites_[i] >= 0 ? inputs[static_cast<std::size_t>(overwrites_[i])]
                                    : Shape::filled(shapes[i].rank(), kUnknown);
  }
  return shapes;
}

Apply RawKernelOp::make_node(Inputs inputs) const {
  inputs.require_count(static_cast<int>(inputs_.size()));
  std::vector<Variable> variables(inputs.begin(), inputs.end());
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const std::string wanted(damo::name(inputs_[i].dtype));
    if (variables[i].dtype() != inputs_[i].dtype) {
      throw TypeError(name() + ": input " + std::to_string(i) + " is declared " + inputs_[i].declaration + ", it is " +
                          std::string(damo::name(variables[i].dtype())),
                      "cast(x, " + wanted + ") converts it");
    }
    shapes.push_back(variables[i].dims());
    if (!inputs_[i].is_strided)
      variables[i] = contiguous({variables[i], variables[i].where().file, variables[i].where().line});
  }
  std::vector<TensorType> types;
  std::vector<Shape> dims = type_dims(shapes);
  for (std::size_t i = 0; i < outputs_.size(); ++i) types.push_back({outputs_[i].dtype, dims[i]});
  return {*this, std::move(variables), std::move(types)};
}

Shapes RawKernelOp::infer_shape(const Apply&, std::span<const Shape> inputs) const { return checked_shapes(inputs); }

Thunk RawKernelOp::make_thunk(const Apply& node, ThunkContext& context) const {
  return raw_kernel_thunk(*this, node, context);
}

Gradients RawKernelOp::gradient(const Apply& node, std::span<const Variable> output_gradients) const {
  if (definition_.gradient) return definition_.gradient(output_gradients, node.inputs(), node.outputs());
  return Gradients(node.inputs().size(), Gradient::not_defined("the RawKernel " + name() + " has no .gradient"));
}

bool RawKernelOp::equals(const Op& other) const {
  if (this == &other) return true;
  const auto* that = dynamic_cast<const RawKernelOp*>(&other);
  if (!that || definition_.values || that->definition_.values) return false;
  const RawKernelDefinition &a = definition_, &b = that->definition_;
  return a.name == b.name && a.inputs == b.inputs && a.outputs == b.outputs && a.scalars == b.scalars &&
         a.body.text == b.body.text && a.source.text == b.source.text && a.kernel == b.kernel && a.flags == b.flags &&
         a.shapes == b.shapes && a.launch == b.launch && a.overwrites == b.overwrites;
}

std::size_t RawKernelOp::hash() const {
  const std::hash<std::string> hash;
  return hash(definition_.name) * 31 + hash(definition_.body.text + definition_.source.text);
}

}  // namespace damo
