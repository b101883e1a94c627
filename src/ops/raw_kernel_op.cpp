#include "ops/raw_kernel_op.hpp"

#include <algorithm>
#include <cctype>

#include <damo/ops/shape.hpp>

#include "ops/line_directive.hpp"

namespace damo {
namespace {

constexpr std::int64_t kExpectedExtent = 1024;  // stands for an unknown one, as in the executor's predictions

/// Reads "dim12" as the axis 12.
bool read_axis(const std::string& text, const std::string& word, int& axis) {
  if (!text.starts_with(word) || text.size() == word.size() || text.size() > word.size() + 2) return false;
  const std::string digits = text.substr(word.size());
  if (!std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isdigit(c); })) return false;
  axis = std::stoi(digits);
  return axis < kMaxRank;
}

bool is_identifier(const std::string& name) {
  return !name.empty() && !std::isdigit(static_cast<unsigned char>(name.front())) &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

}  // namespace

RawKernelOp::RawKernelOp(RawKernelDefinition definition) : definition_(std::move(definition)) {
  if (definition_.name.empty()) throw GraphError("a RawKernel needs a name");
  if (definition_.kernel.empty()) definition_.kernel = definition_.name;
  if (definition_.body.text.empty() == definition_.source.text.empty()) {
    throw GraphError("RawKernel " + definition_.name + " must have either .body or .source");
  }
  if (definition_.source.text.empty() && !is_identifier(definition_.kernel)) {
    throw GraphError("RawKernel " + definition_.kernel + ": a kernel cannot be called so",
                     "use letters, digits and _, or give another name to .kernel");
  }
  try {
    read_declarations();
    check_names();
  } catch (GraphError& error) {
    error.add_where("in RawKernel " + definition_.name);
    throw;
  }
  write_source();
}

void RawKernelOp::read_declarations() {
  if (definition_.inputs.empty() || definition_.outputs.empty())
    throw GraphError("a RawKernel needs an input and an output");
  for (const std::string& declaration : definition_.inputs) {
    inputs_.push_back(parse_parameter(declaration));
    if (!inputs_.back().is_pointer)
      throw GraphError("the input \"" + declaration + "\" is no pointer",
                       "name it in .scalars, or write const float* x");
    if (!inputs_.back().is_const)
      throw GraphError("the input \"" + declaration + "\" can be written",
                       "write const: other nodes read the same elements");
  }
  for (const std::string& declaration : definition_.outputs) {
    outputs_.push_back(parse_parameter(declaration));
    if (!outputs_.back().is_pointer || outputs_.back().is_const)
      throw GraphError("the output \"" + declaration + "\" cannot be written", "write float* y");
    if (outputs_.back().is_strided)
      throw GraphError("the output \"" + declaration + "\" is declared strided",
                       "outputs are in C order: leave the word out");
  }
  for (const std::string& declaration : definition_.scalars) scalars_.push_back(read_scalar(declaration));
  const bool given = std::any_of(scalars_.begin(), scalars_.end(),
                                 [](const RawScalar& scalar) { return scalar.fact == RawScalar::Fact::kGiven; });
  if (given && !definition_.values) {
    for (const RawScalar& scalar : scalars_) {
      if (scalar.fact != RawScalar::Fact::kGiven) continue;
      throw GraphError("no value for the scalar \"" + scalar.parameter.declaration + "\"",
                       "give .values, or call it size, n, x_size, x_dim0 or x_stride0, where x is an input or output");
    }
  }
}

void RawKernelOp::check_names() const {
  std::vector<std::string> names;
  for (const RawParameter& input : inputs_) names.push_back(input.name);
  for (const RawParameter& output : outputs_) names.push_back(output.name);
  for (const RawScalar& scalar : scalars_) names.push_back(scalar.parameter.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) throw GraphError("two parameters are called " + *twice, "give each a name of its own");
}

RawScalar RawKernelOp::read_scalar(const std::string& declaration) const {
  RawScalar scalar{.parameter = parse_parameter(declaration)};
  const std::string& name = scalar.parameter.name;
  if (scalar.parameter.is_pointer)
    throw GraphError("the scalar \"" + declaration + "\" is a pointer", "name it among the inputs or outputs");
  if (name == "size" || name == "n") {
    scalar.fact = RawScalar::Fact::kSize;
    scalar.array = static_cast<int>(inputs_.size());
    return scalar;
  }
  std::vector<RawParameter> arrays = inputs_;
  arrays.insert(arrays.end(), outputs_.begin(), outputs_.end());
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (!name.starts_with(arrays[i].name + "_")) continue;
    const std::string rest = name.substr(arrays[i].name.size() + 1);
    scalar.array = static_cast<int>(i);
    if (rest == "size")
      scalar.fact = RawScalar::Fact::kSize;
    else if (read_axis(rest, "dim", scalar.axis))
      scalar.fact = RawScalar::Fact::kExtent;
    else if (read_axis(rest, "stride", scalar.axis))
      scalar.fact = RawScalar::Fact::kStride;
    if (scalar.fact != RawScalar::Fact::kGiven) return scalar;
  }
  return scalar;
}

void RawKernelOp::write_source() {
  std::string parameters;
  bool half = false, bfloat16s = false;
  const auto add = [&](const RawParameter& parameter) {
    parameters += (parameters.empty() ? "" : ", ") + parameter.declaration;
    half |= parameter.dtype == float16;
    bfloat16s |= parameter.dtype == bfloat16;
  };
  for (const RawParameter& input : inputs_) add(input);
  for (const RawParameter& output : outputs_) add(output);
  for (const RawScalar& scalar : scalars_) add(scalar.parameter);
  if (half) source_ += "#include <cuda_fp16.h>\n";
  if (bfloat16s) source_ += "#include <cuda_bf16.h>\n";
  if (!definition_.source.text.empty()) {
    source_ += line_directive(definition_.source) + definition_.source.text;
  } else {
    source_ += "extern \"C\" __global__ void " + definition_.kernel + "(" + parameters + ") {\n" +
               line_directive(definition_.body) + definition_.body.text + "\n}\n";
  }
}

std::vector<Shape> RawKernelOp::checked_shapes(std::span<const Shape> inputs) const {
  std::vector<Shape> shapes = definition_.shapes(inputs);
  if (shapes.size() == outputs_.size()) return shapes;
  if (shapes.size() == 1) return std::vector<Shape>(outputs_.size(), shapes.front());
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
  for (Shape& shape : shapes) shape = Shape::filled(shape.rank(), kUnknown);
  return shapes;
}

Apply RawKernelOp::make_node(Inputs inputs) const {
  if (inputs.size() != static_cast<int>(inputs_.size())) {
    throw GraphError(name() + " takes " + std::to_string(inputs_.size()) + " inputs, " + std::to_string(inputs.size()) +
                     " were given");
  }
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

bool RawKernelOp::equals(const Op& other) const {
  if (this == &other) return true;
  const auto* that = dynamic_cast<const RawKernelOp*>(&other);
  if (!that || definition_.values || that->definition_.values) return false;
  const RawKernelDefinition &a = definition_, &b = that->definition_;
  return a.name == b.name && a.inputs == b.inputs && a.outputs == b.outputs && a.scalars == b.scalars &&
         a.body.text == b.body.text && a.source.text == b.source.text && a.kernel == b.kernel && a.flags == b.flags &&
         a.shapes == b.shapes && a.launch == b.launch;
}

std::size_t RawKernelOp::hash() const {
  const std::hash<std::string> hash;
  return hash(definition_.name) * 31 + hash(definition_.body.text + definition_.source.text);
}

}  // namespace damo
