#include "ops/random/random_op.hpp"

#include <utility>

#include "ops/gradient_parts.hpp"
#include "runtime/kernel/body.hpp"
#include "runtime/kernel/spec.hpp"

namespace damo {
namespace {

struct Kind {
  const char* name;
  const char* code;  ///< KEY stands for key, draw and element
  int parameters;
  int cost;
};

constexpr Kind kKinds[] = {{"random_bits", "", 0, 40},
                           {"random_uniform", "random_uniform<T, DIGITS>(KEY)", 0, 42},
                           {"random_normal", "random_normal<T>(KEY)", 0, 90},
                           {"random_exponential", "random_exponential<T>(KEY)", 0, 70},
                           {"random_gumbel", "random_gumbel<T>(KEY)", 0, 95},
                           {"random_truncated_normal", "random_truncated_normal<T>(KEY, x4, x5)", 2, 300},
                           {"random_gamma", "random_gamma<T>(KEY, x4)", 1, 400},
                           {"random_poisson", "random_poisson(KEY, x4)", 1, 500},
                           {"random_bernoulli", "random_bernoulli<T>(KEY, x4)", 1, 44},
                           {"random_below", "i64(random_below(KEY, x4))", 1, 60}};

const Kind& row_of(RandomKind kind) { return kKinds[static_cast<int>(kind)]; }

void replace(std::string& text, const std::string& from, const std::string& to) {
  if (const std::size_t at = text.find(from); at != std::string::npos) text.replace(at, from.size(), to);
}

/// T of the code.
DType computed_in(RandomKind kind, DType dtype) {
  if (kind == RandomKind::kPoisson) return float64;
  if (kind == RandomKind::kBernoulli) return float32;  // what its parameter is decides
  return is_half(dtype) ? float32 : dtype;
}

}  // namespace

int parameter_count(RandomKind kind) { return row_of(kind).parameters; }

DType parameter_dtype(RandomKind kind, DType dtype) {
  if (kind == RandomKind::kBelow) return uint64;
  if (kind == RandomKind::kBernoulli) return float32;
  return kind == RandomKind::kPoisson ? float64 : dtype;
}

std::string RandomOp::name() const { return row_of(kind_).name; }
int RandomOp::cost() const { return row_of(kind_).cost; }

Props RandomOp::props() const {
  Props props{{"dtype", std::string(damo::name(dtype_))}};
  if (digits_ > 0) props.push_back({"digits", std::int64_t{digits_}});
  if (shape_) props.push_back({"shape", std::vector<std::int64_t>(shape_->begin(), shape_->end())});
  return props;
}

void require_draw_fits(const std::string& name, const Shape& whole, const Shape& drawn, const Shape& drawn_dims) {
  bool fits = whole.rank() == drawn.rank();
  for (int axis = 0; fits && axis < whole.rank(); ++axis) {
    fits = whole[axis] == drawn[axis] || (drawn_dims[axis] != 1 && (whole[axis] == kUnknown || drawn[axis] == kUnknown));
  }
  if (!fits) throw ShapeError(name + ": parameters of shape " + to_string(whole) + " do not broadcast to a draw of shape " + to_string(drawn), "draw that shape");
}

Shape RandomOp::output_shape(std::span<const Shape> dims, std::span<const Shape> shapes) const {
  std::vector<Shape> own_dims, own_shapes;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].rank() == 0 && (shape_ || i + 1 < dims.size())) continue;  // key, counter and number: no part of what an error tells
    own_dims.push_back(dims[i]), own_shapes.push_back(shapes[i]);
  }
  if (shape_) own_dims.push_back(*shape_), own_shapes.push_back(*shape_);
  const Shape drawn = own_shapes.back(), whole = KernelOp::output_shape(own_dims, own_shapes);
  require_draw_fits(name(), whole, drawn, own_dims.back());
  return whole;
}

Apply RandomOp::make_node(Inputs inputs) const {
  inputs.require_count(3 + parameter_count(kind_) + (shape_ ? 0 : 1));
  std::vector<Shape> shapes;
  for (const Variable& input : inputs) shapes.push_back(input.dims());
  for (int i = 0; i < 3; ++i) require_dtype(inputs.at(i), uint64), require_rank(inputs.at(i), 0);
  return {*this, {inputs.begin(), inputs.end()}, {{dtype_, output_shape(shapes, shapes)}}};
}

std::string RandomOp::code() const {
  std::string text = row_of(kind_).code;
  if (kind_ == RandomKind::kBits) text = dtype_ == uint32 ? "random_word(KEY)" : "random_word64(KEY)";
  replace(text, "DIGITS", std::to_string(digits_));
  replace(text, "KEY", "x0, x1 + x2, x3");
  return text;
}

void RandomOp::lower(KernelBuilder& kernel) const {
  Step step;
  step.name = name();
  step.compute = computed_in(kind_, dtype_);
  step.result = dtype_;
  step.rounds = is_half(dtype_);
  step.cost = cost();
  step.inputs = {kernel.input(0).number, kernel.input(1).number, kernel.input(2).number, kernel.ordinal().number};
  step.inputs_as = {uint64, uint64, uint64, int64};
  for (int i = 0; i < parameter_count(kind_); ++i) {
    const KernelBuilder::Value parameter = kernel.input(3 + i);
    step.inputs.push_back(parameter.number);
    if (kind_ == RandomKind::kBernoulli && parameter.dtype == float64) step.compute = float64;
    step.inputs_as.push_back(kind_ == RandomKind::kBelow ? uint64 : step.compute);
  }
  step.code = code();
  kernel.output(kernel.append(std::move(step)));
}

Gradients RandomOp::gradient(const Apply& node, std::span<const Variable>) const {
  Gradients gradients(node.inputs().size(), Gradient::disconnected());
  if (kind_ != RandomKind::kGamma && kind_ != RandomKind::kTruncatedNormal) return gradients;
  for (int i = 0; i < parameter_count(kind_); ++i) {
    gradients[static_cast<std::size_t>(3 + i)] = Gradient::not_defined("its draws are chosen by rejection, which has no derivative by this parameter; scale and shift them, or disconnected_grad(parameter)");
  }
  return gradients;
}

Apply DropoutOp::make_node(Inputs inputs) const {
  inputs.require_count(6);
  return {*this, {inputs.begin(), inputs.end()}, {inputs.at(0).type()}};
}

void DropoutOp::lower(KernelBuilder& kernel) const {
  const KernelBuilder::Value x = kernel.input(0);
  Step step;
  step.name = name();
  step.compute = is_half(x.dtype) ? float32 : x.dtype;
  step.result = x.dtype;
  step.cost = cost();
  step.inputs = {x.number, kernel.input(1).number, kernel.input(2).number, kernel.input(3).number, kernel.ordinal().number, kernel.input(4).number, kernel.input(5).number};
  step.inputs_as = {step.compute, uint64, uint64, uint64, int64, uint64, step.compute};
  step.code = "random_dropout<T>(x1, x2 + x3, x4, x5, math::exact_mul(x0, x6))";
  kernel.output(kernel.append(std::move(step)));
}

Gradients DropoutOp::gradient(const Apply& node, std::span<const Variable> output_gradients) const {
  Gradients gradients(node.inputs().size(), Gradient::disconnected());
  std::vector<Variable> inputs(node.inputs().begin(), node.inputs().end());
  inputs[0] = output_gradients[0];
  gradients[0] = shared_from_this()->apply(inputs, node.where()).output();
  return gradients;
}

}  // namespace damo
