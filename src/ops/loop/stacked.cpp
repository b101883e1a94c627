#include "ops/loop/stacked.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "ops/contraction_op.hpp"
#include "ops/dimshuffle_op.hpp"
#include "ops/elementwise_op.hpp"
#include "ops/subtensor_op.hpp"

namespace damo {
namespace {

/// Axes [from, from + count).
void append(std::vector<std::int64_t>& pattern, std::int64_t from, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) pattern.push_back(from + i);
}

/// (steps, ...) with axes of extent 1 behind that of the steps, so that the others stay aligned from the right with those of `rank` axes.
ValueId aligned(FunctionGraph& graph, ValueId x, int rank, SourceLine where) {
  const int own = graph.type(x).rank() - 1;
  if (own == rank) return x;
  std::vector<std::int64_t> pattern{0};
  pattern.insert(pattern.end(), static_cast<std::size_t>(rank - own), kNewAxis);
  append(pattern, 1, own);
  return add_dimshuffle(graph, x, std::move(pattern), where);
}

/// (1, ...)
ValueId with_one_step(FunctionGraph& graph, ValueId x, SourceLine where) {
  std::vector<std::int64_t> pattern{kNewAxis};
  append(pattern, 0, graph.type(x).rank());
  return add_dimshuffle(graph, x, std::move(pattern), where);
}

ValueId add_stacked_product(FunctionGraph& graph, const ContractionOp& op, std::span<const Stacked> inputs, SourceLine where) {
  ValueId both[] = {inputs[0].value, inputs[1].value};
  OpPtr made = op.shared_from_this();
  if (op.form().batch > 0 || inputs[1].has_steps) {  // else the steps are more rows of x
    ContractionForm form = op.form();
    ++form.batch;
    made = std::make_shared<const ContractionOp>(op.name(), form);
    for (int i = 0; i < 2; ++i) {
      if (!inputs[static_cast<std::size_t>(i)].has_steps) both[i] = with_one_step(graph, both[i], where);
    }
  }
  return graph.outputs(graph.add(made, both, where))[0];
}

}  // namespace

const ContractionOp* plain_product(const Op& op) {
  const auto* product = dynamic_cast<const ContractionOp*>(&op);
  return product && !product->has_start() && product->form().alpha == 1 && product->form().activation == Activation::kNone ? product : nullptr;
}

bool can_stack(const Op& op) {
  return dynamic_cast<const ElementwiseOp*>(&op) || dynamic_cast<const DimShuffleOp*>(&op) || dynamic_cast<const SubtensorOp*>(&op) || plain_product(op);
}

ValueId add_dimshuffle(FunctionGraph& graph, ValueId x, std::vector<std::int64_t> pattern, SourceLine where) {
  return graph.outputs(graph.add(std::make_shared<const DimShuffleOp>(std::move(pattern)), std::span(&x, 1), where))[0];
}

ValueId add_stacked(FunctionGraph& graph, const Apply& node, std::span<const Stacked> inputs) {
  const SourceLine where = node.where();
  const auto made = [&](const OpPtr& op, std::span<const ValueId> values) { return graph.outputs(graph.add(op, values, where))[0]; };
  if (const ContractionOp* product = plain_product(node.op())) return add_stacked_product(graph, *product, inputs, where);
  if (const auto* op = dynamic_cast<const DimShuffleOp*>(&node.op())) {
    std::vector<std::int64_t> pattern{0};
    for (std::int64_t axis : op->pattern()) pattern.push_back(axis == kNewAxis ? axis : axis + 1);
    return add_dimshuffle(graph, inputs[0].value, std::move(pattern), where);
  }
  if (const auto* op = dynamic_cast<const SubtensorOp*>(&node.op())) {
    std::vector<Index> indices{Index(std::nullopt, std::nullopt)};
    indices.insert(indices.end(), op->indices().begin(), op->indices().end());
    return made(std::make_shared<const SubtensorOp>(std::move(indices)), std::span(&inputs[0].value, 1));
  }
  std::vector<ValueId> values;
  for (const Stacked& input : inputs) values.push_back(input.has_steps ? aligned(graph, input.value, node.output().rank(), where) : input.value);
  return made(node.op().shared_from_this(), values);
}

ValueId add_summed_product(FunctionGraph& graph, const Apply& node, ValueId x, ValueId y, DType result) {
  const auto& op = dynamic_cast<const ContractionOp&>(node.op());
  ContractionForm form = op.form();
  const int batch = form.batch, rows = node.input(0).rank() - batch - form.summed;
  // x: (steps, batch, rows, summed) as (batch, rows, steps, summed), y: (steps, batch, summed, columns) as (batch, steps, summed, columns).
  std::vector<std::int64_t> of_x, of_y;
  append(of_x, 1, batch + rows);
  of_x.push_back(0);
  append(of_x, 1 + batch + rows, form.summed);
  append(of_y, 1, batch);
  of_y.push_back(0);
  append(of_y, 1 + batch, node.input(1).rank() - batch);
  ++form.summed;
  form.result = result;
  const ValueId both[] = {add_dimshuffle(graph, x, std::move(of_x), node.where()), add_dimshuffle(graph, y, std::move(of_y), node.where())};
  return graph.outputs(graph.add(std::make_shared<const ContractionOp>(op.name(), form), both, node.where()))[0];
}

}  // namespace damo
