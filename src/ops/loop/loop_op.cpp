#include "ops/loop/loop_op.hpp"

#include <algorithm>
#include <utility>

#include <damo/ops/math.hpp>
#include "ops/gradient_parts.hpp"
#include "ops/loop/loop_thunk.hpp"

namespace damo {
namespace {

Shape rows_of(Shape dims) {
  dims.erase(0);
  return dims;
}

Shape with_rows(Shape dims, std::int64_t rows) {
  dims.insert(0, rows);
  return dims;
}

/// What is known of either.
Shape known_of(Shape a, const Shape& b) {
  for (int axis = 0; axis < a.rank(); ++axis) {
    if (a[axis] == kUnknown) a[axis] = b[axis];
  }
  return a;
}

FunctionGraph graph_of(const LoopPlan& plan, const LoopBody& body) {
  std::vector<Variable> inputs = body.inputs, outputs = body.outputs;
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    if (plan.outputs[i].kind != LoopOutput::Kind::kSum) continue;
    inputs.push_back(input(outputs[i].type(), "sum", outputs[i].where()));
    const At at(outputs[i].where());
    outputs[i] = add(at(inputs.back()), at(outputs[i]));
  }
  return FunctionGraph(inputs, outputs, true);
}

}  // namespace

LoopOp::LoopOp(LoopPlan plan, LoopBody body, std::string name)
    : plan_(std::move(plan)), body_(std::move(body)), name_(std::move(name)), graph_(graph_of(plan_, body_)), shapes_(std::make_shared<const InnerShapes>(graph_)) {}

OpPtr LoopOp::with_graphs(std::vector<FunctionGraph> graphs) const {
  auto op = std::make_shared<LoopOp>(*this);
  op->graph_ = std::move(graphs.front());
  op->shapes_ = std::make_shared<const InnerShapes>(op->graph_);
  op->kernel_ = nullptr;
  return op;
}

OpPtr LoopOp::with_kernel(std::shared_ptr<const LoopKernel> kernel) const {
  auto op = std::make_shared<LoopOp>(*this);
  op->kernel_ = std::move(kernel);
  return op;
}

Props LoopOp::props() const {
  Props props;
  if (plan_.count >= 0) props.emplace_back("steps", plan_.count);
  if (plan_.is_backward) props.emplace_back("backward", true);
  if (plan_.most >= 0) props.emplace_back("last", plan_.most);
  if (plan_.has_until) props.emplace_back("until", true);
  if (kernel_) props.emplace_back("one_kernel", true);
  props.emplace_back("nodes", std::int64_t{graph_.node_count()});
  std::vector<std::int64_t> kept;
  for (const LoopOutput& output : plan_.outputs) kept.push_back(output.keep);
  if (std::any_of(kept.begin(), kept.end(), [](std::int64_t rows) { return rows >= 0; })) props.emplace_back("keeps", kept);
  return props;
}

void LoopOp::refuse_rows(std::size_t sequence, std::int64_t rows, std::int64_t count) const {
  const std::int64_t extra = plan_.sequences[sequence].extra;
  const std::string taps = extra == 0 ? "" : " and taps that reach over " + std::to_string(extra) + " more";
  throw ShapeError(name_ + ": sequence " + std::to_string(sequence) + " has " + std::to_string(rows) + " rows for " + std::to_string(count) + " steps" + taps,
                   plan_.is_exact ? "give sequences of as many rows, or the number of steps" : "give it more rows, or fewer steps");
}

std::int64_t LoopOp::count(std::span<const Shape> inputs) const {
  if (plan_.has_count_input) return -1;
  std::int64_t count = plan_.count;
  if (plan_.counter >= 0) {
    const std::int64_t rows = inputs[static_cast<std::size_t>(plan_.counter)][0], extra = plan_.sequences[static_cast<std::size_t>(plan_.counter)].extra;
    if (rows == kUnknown) return -1;
    if (rows < extra) throw ShapeError(name_ + ": sequence " + std::to_string(plan_.counter) + " has " + std::to_string(rows) + " rows, its taps reach over " + std::to_string(extra + 1), "give it more rows");
    count = rows - extra;
  }
  require_rows(inputs, count);
  return count;
}

void LoopOp::require_rows(std::span<const Shape> inputs, std::int64_t count) const {
  for (std::size_t i = 0; i < plan_.sequences.size(); ++i) {
    const std::int64_t rows = inputs[static_cast<std::size_t>(plan_.first_sequence()) + i][0], needed = count + plan_.sequences[i].extra;
    if (rows != kUnknown && (rows < needed || (plan_.is_exact && rows > needed))) refuse_rows(i, rows, count);
  }
}

Shapes LoopOp::step_shapes(std::span<const Shape> inputs) const {
  std::vector<Shape> rows;
  const auto first = static_cast<std::size_t>(plan_.first_sequence());
  for (std::size_t i = 0; i < plan_.sequences.size(); ++i) rows.push_back(rows_of(inputs[first + i]));
  for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
    if (plan_.outputs[i].kind != LoopOutput::Kind::kState) continue;
    rows.insert(rows.end(), plan_.outputs[i].lags.size(), rows_of(inputs[static_cast<std::size_t>(plan_.initial_input(i))]));
  }
  for (std::size_t i = static_cast<std::size_t>(plan_.first_other()); i < inputs.size(); ++i) rows.push_back(inputs[i]);
  for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
    if (plan_.outputs[i].kind == LoopOutput::Kind::kSum) rows.push_back(inputs[static_cast<std::size_t>(plan_.initial_input(i))]);
  }
  const Shapes made = (*shapes_)(rows);
  for (std::size_t i = 0; made && i < plan_.outputs.size(); ++i) {
    if (plan_.outputs[i].kind == LoopOutput::Kind::kRows) continue;
    const Shape& initial = inputs[static_cast<std::size_t>(plan_.initial_input(i))];
    const Shape begun = plan_.outputs[i].kind == LoopOutput::Kind::kState ? rows_of(initial) : initial;
    if ((*made)[i] == begun) continue;
    throw ShapeError(name_ + ": the step gives output " + std::to_string(i) + " the shape " + to_string((*made)[i]) + ", it began with " + to_string(begun),
                     "give an initial value of the shape that steps give");
  }
  return made;
}

Shape LoopOp::output_shape(std::size_t i, std::span<const Shape> inputs, std::int64_t count, const Shape& row) const {
  const LoopOutput& output = plan_.outputs[i];
  if (output.kind == LoopOutput::Kind::kSum) return row;
  if (output.like >= 0) return with_rows(row, inputs[static_cast<std::size_t>(plan_.first_sequence() + output.like)][0]);
  if (count < 0) return with_rows(row, kUnknown);
  const std::int64_t all = count + (output.keeps_initial ? output.depth : 0);
  return with_rows(row, output.keep < 0 ? all : std::min(output.keep, all));
}

TensorType LoopOp::output_type(std::size_t i, Inputs inputs, std::int64_t count) const {
  const TensorType& made = body_.outputs[i].type();
  std::vector<Shape> dims;
  for (const Variable& input : inputs) dims.push_back(input.dims());
  Shape row = made.dims;
  if (const int initial = plan_.initial_input(i); initial >= 0) {
    const Shape& begun = dims[static_cast<std::size_t>(initial)];
    row = known_of(plan_.outputs[i].kind == LoopOutput::Kind::kState ? rows_of(begun) : begun, row);
  }
  return {made.dtype, output_shape(i, dims, plan_.has_until ? -1 : count, row)};
}

Apply LoopOp::make_node(Inputs inputs) const {
  inputs.require_count(plan_.first_other() + static_cast<int>(body_.inputs.size() - plan_.own_inputs()));
  std::vector<Shape> dims;
  for (const Variable& input : inputs) dims.push_back(input.dims());
  const std::int64_t count = this->count(dims);
  if (plan_.has_count_input && plan_.count >= 0) require_rows(dims, plan_.count);
  for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
    if (plan_.outputs[i].kind != LoopOutput::Kind::kState) continue;
    const Variable& initial = inputs.at(plan_.initial_input(i));
    if (initial.dims()[0] == kUnknown || initial.dims()[0] == plan_.outputs[i].depth) continue;
    throw ShapeError(name_ + ": the initial value of output " + std::to_string(i) + ", " + describe(initial) + ", has " + std::to_string(initial.dims()[0]) + " rows for taps that reach back " +
                         std::to_string(plan_.outputs[i].depth),
                     "give as many rows, the oldest first");
  }
  std::vector<TensorType> types;
  for (std::size_t i = 0; i < plan_.outputs.size(); ++i) types.push_back(output_type(i, inputs, count));
  return {*this, {inputs.begin(), inputs.end()}, std::move(types)};
}

Shapes LoopOp::infer_shape(const Apply&, std::span<const Shape> inputs) const {
  const std::int64_t count = this->count(inputs);
  if (count < 0 || plan_.has_until) return {};
  for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
    if (plan_.outputs[i].kind != LoopOutput::Kind::kState) continue;
    const std::int64_t rows = inputs[static_cast<std::size_t>(plan_.initial_input(i))][0];
    if (rows != plan_.outputs[i].depth) {
      throw ShapeError(name_ + ": the initial value of output " + std::to_string(i) + " has " + std::to_string(rows) + " rows for taps that reach back " + std::to_string(plan_.outputs[i].depth),
                       "give as many rows, the oldest first");
    }
  }
  const Shapes rows = step_shapes(inputs);
  if (!rows) return {};
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < plan_.outputs.size(); ++i) shapes.push_back(output_shape(i, inputs, count, (*rows)[i]));
  return shapes;
}

Thunk LoopOp::make_thunk(const Apply& node, ThunkContext& context) const { return loop_thunk(*this, node, context); }

}  // namespace damo
