#include "ops/contraction_op.hpp"

#include <numeric>
#include <optional>
#include <vector>

#include <damo/ops/cast.hpp>
#include <damo/ops/reduce.hpp>
#include <damo/ops/shape.hpp>
#include <damo/thunk.hpp>
#include "ops/gradient_parts.hpp"
#include "ops/reduce_op.hpp"
#include "runtime/exec/code_requests.hpp"
#include "runtime/exec/version_table.hpp"

namespace damo {
namespace {

constexpr const char* kActivations[] = {"none", "gelu_tanh"};

class ContractionThunk {
 public:
  ContractionThunk(const ContractionForm& form, std::vector<Cell*> cells, ThunkContext& context)
      : form_(form), cells_(std::move(cells)), bound_({cells_.begin(), cells_.end()}), device_(context.device()), stream_(context.stream()) {}

  void operator()() {
    const bool has_start = cells_.size() == 4;
    bound().run(cells_[0]->array(), cells_[1]->array(), has_start ? &cells_[2]->array() : nullptr, cells_.back()->array(), stream_.handle());
  }

  /// The library looks for its ways to compute the product while kernels compile.
  void prepare() { bound(); }
  /// See ThunkContext::foresee_code.
  std::vector<CompileRequest> code() const {
    const std::optional<ArrayLayout> start = this->start();
    return Contraction::code(device_.backend(), form_, cells_[0]->dtype(), cells_[1]->dtype(), layout(*cells_[0]), layout(*cells_[1]), cells_.back()->shape(), start ? &*start : nullptr);
  }
  /// See ThunkContext::foresee_memory.
  ThunkMemory memory() { return {.workspace = bound().workspace_bytes()}; }

 private:
  const Contraction& bound() {
    const Contraction* const known = bound_.find();
    return known ? *known : bound_.add(bind());
  }
  static ArrayLayout layout(const Cell& cell) { return {&cell.shape(), &cell.strides()}; }
  std::optional<ArrayLayout> start() const { return cells_.size() == 4 ? std::optional(layout(*cells_[2])) : std::nullopt; }
  Contraction bind() const {
    const std::optional<ArrayLayout> start = this->start();
    return Contraction(device_.backend(), form_, cells_[0]->dtype(), cells_[1]->dtype(), layout(*cells_[0]), layout(*cells_[1]), cells_.back()->shape(), start ? &*start : nullptr);
  }

  ContractionForm form_;
  std::vector<Cell*> cells_;  // x, y, c if there is one, the result
  VersionTable<Contraction> bound_;
  Device device_;
  Stream stream_;
};

/// Axes [from, from + count) of a value.
void append(std::vector<int>& pattern, int from, int count) {
  for (int i = 0; i < count; ++i) pattern.push_back(from + i);
}

/// A sum over the batch axes that were stretched.
Variable unstretched(const Variable& gradient, const Variable& of, int batch, SourceLine line) {
  std::uint32_t axes = 0;
  for (int i = 0; i < batch; ++i) {
    if (of.dims()[i] == 1 && gradient.dims()[i] != 1) axes |= 1u << i;
  }
  return axes == 0 ? gradient : reduce(ReductionKind::kSum, gradient, axes, line);
}

}  // namespace

Props ContractionOp::props() const {
  Props props{{"batch", std::int64_t{form_.batch}}, {"summed", std::int64_t{form_.summed}}, {"dtype", std::string(damo::name(form_.result))}};
  if (form_.tf32) props.push_back({"tf32", true});
  if (form_.alpha != 1) props.push_back({"alpha", form_.alpha});
  if (form_.beta != 0) props.push_back({"beta", form_.beta});
  if (form_.activation != Activation::kNone) props.push_back({"activation", std::string(kActivations[static_cast<int>(form_.activation)])});
  if (overwrites_) props.push_back({"in_place", true});
  return props;
}

bool ContractionOp::equals(const Op& other) const {
  const auto* that = dynamic_cast<const ContractionOp*>(&other);
  return that && that->props() == props();
}

Apply ContractionOp::make_node(Inputs inputs) const {
  inputs.require_count(has_start() ? 3 : 2);
  if (!is_float8(inputs.at(0).dtype()) || !is_float8(inputs.at(1).dtype())) require_dtype(inputs.at(1), inputs.at(0).dtype());
  if (has_start()) require_dtype(inputs.at(2), form_.result);
  std::vector<Shape> shapes;
  for (const Variable& input : inputs) shapes.push_back(input.dims());
  return {*this, {inputs.begin(), inputs.end()}, {{form_.result, shape(shapes)}}};
}

Shapes ContractionOp::infer_shape(const Apply& node, std::span<const Shape> inputs) const {
  const Shape product = contraction_shape(name_, form_, inputs[0], inputs[1]);
  const auto batches = [&](const Shape& shape) { return Shape(std::span(shape.begin(), static_cast<std::size_t>(form_.batch))); };
  const Shape dims[] = {batches(node.input(0).dims()), batches(node.input(1).dims())}, shapes[] = {batches(inputs[0]), batches(inputs[1])};
  try {
    broadcast_values(dims, shapes);  // as elsewhere in a graph: what stretches is known
  } catch (const ShapeError& error) {
    throw ShapeError(name_ + ": of the batches, " + error.parts().message, error.parts().remedy);
  }
  if (!has_start()) return {{product}};
  const Shape with_start[] = {contraction_shape(name_, form_, node.input(0).dims(), node.input(1).dims()), node.input(2).dims()}, of_call[] = {product, inputs[2]};
  return {{broadcast_values(with_start, of_call)}};  // as the sum that this was
}

Shape ContractionOp::shape(std::span<const Shape> inputs) const {
  const Shape product = contraction_shape(name_, form_, inputs[0], inputs[1]);
  if (!has_start()) return product;
  const Shape both[] = {product, inputs[2]};
  return broadcast_shapes(both);
}

Thunk ContractionOp::make_thunk(const Apply& node, ThunkContext& context) const {
  std::vector<Cell*> cells;
  for (const Variable& input : node.inputs()) cells.push_back(&context.storage(input));
  cells.push_back(&context.storage(node.output()));
  context.promise_repeatable();
  context.promise_contained();
  const auto thunk = std::make_shared<ContractionThunk>(form_, std::move(cells), context);
  context.foresee_calls([thunk](const WantKernel&) { thunk->prepare(); });
  context.foresee_code([thunk] { return CodeRequests{thunk->code()}; });
  context.foresee_memory([thunk] { return thunk->memory(); });
  return [thunk] { (*thunk)(); };
}

/// Contractions again, of views: each operand is read as it lies.
Gradients ContractionOp::gradient(const Apply& node, std::span<const Variable> output_gradients) const {
  const Variable &x = node.input(0), &y = node.input(1);
  const SourceLine line = node.where();
  const At at(line);
  if (has_start() || form_.activation != Activation::kNone) return Gradients(node.inputs().size(), Gradient::not_defined("fuse_products made it, after gradients were taken"));
  if (!is_floating(form_.result) || !is_floating(x.dtype())) return Gradients{Gradient::disconnected(), Gradient::disconnected()};
  // 8-bit operands' gradients are float32 (gradient.hpp), and are multiplied as the result's dtype is: y is read anew, its numbers are the same there.
  const bool of_float8 = is_float8(x.dtype());
  const DType multiplied = of_float8 ? form_.result : x.dtype();
  const Variable g = cast(at(output_gradients[0]), multiplied);
  const int batch = form_.batch, summed = form_.summed, rows = x.rank() - batch - summed, columns = y.rank() - batch - summed;
  const auto form_of = [&](int over) {
    ContractionForm form = form_;
    form.summed = over;
    form.result = of_float8 ? float32 : x.dtype();
    return form;
  };
  // x: the sum over columns of g (batch, rows, columns) and y (batch, columns, summed); y: over rows of x and g.
  std::vector<int> turned;
  append(turned, 0, batch);
  append(turned, batch + summed, columns);
  append(turned, batch, summed);
  const Variable of_x = contract(name_, form_of(columns), g, cast(at(dimshuffle(at(y), turned)), multiplied), line);
  turned.clear();
  append(turned, 0, batch);
  append(turned, batch + rows, summed);
  append(turned, batch, rows);
  const Variable of_y = contract(name_, form_of(rows), cast(at(dimshuffle(at(x), turned)), multiplied), g, line);
  return std::vector<Variable>{unstretched(of_x, x, batch, line), unstretched(of_y, y, batch, line)};
}

Variable contract(const std::string& name, const ContractionForm& form, const Variable& x, const Variable& y, SourceLine line) {
  const Variable inputs[] = {x, y};
  return std::make_shared<const ContractionOp>(name, form)->apply(inputs, line).output();
}

}  // namespace damo
