#include "ops/elementwise_op.hpp"

#include <algorithm>

#include <damo/graph.hpp>
#include "graph/base/computed_dtype.hpp"
#include "ops/comparisons.hpp"
#include "ops/promotion.hpp"
#include "ops/rows.hpp"

namespace damo {
namespace {

std::string takes_what(Domain domain) {
  switch (domain) {
    case Domain::kNumbers: return "takes numbers";
    case Domain::kFloats: return "takes floating dtypes";
    case Domain::kIntegersAndBool: return "takes integers and bool";
    case Domain::kIntegers: return "takes integers";
    default: return "takes every dtype";
  }
}

std::string remedy(Domain domain) {
  if (domain == Domain::kIntegersAndBool) return "compare first, or cast(x, int32)";
  if (domain == Domain::kIntegers) return "cast(x, int32)";
  return domain == Domain::kNumbers ? "cast(x, int32), or use and_, or_, xor_, invert for bools" : "cast(x, float32)";
}

std::vector<DType> dtypes_of(std::span<const Variable> variables) {
  std::vector<DType> dtypes;
  for (const Variable& variable : variables) dtypes.push_back(variable.dtype());
  return dtypes;
}

}  // namespace

void check_takes(const ElementwiseRow& row, DType common) {
  if (takes(row, common)) return;
  require_computed(row.name, common);
  throw TypeError(row.name + " " + takes_what(row.domain) + ", not " + std::string(damo::name(common)), remedy(row.domain));
}

void check_condition(const ElementwiseRow& row, DType condition) {
  if (!row.condition_first || condition == bool_) return;
  throw TypeError(row.name + ": the condition must be bool, it is " + std::string(damo::name(condition)), "compare it: neq(x, 0)");
}

Props ElementwiseOp::props() const {
  if (cast_to_) return {{"dtype", std::string(damo::name(*cast_to_))}};
  return {};
}

bool ElementwiseOp::equals(const Op& other) const {
  const auto* that = dynamic_cast<const ElementwiseOp*>(&other);
  return that && (that->row_ == row_ || *that->row_ == *row_) && that->cast_to_ == cast_to_;
}

std::size_t ElementwiseOp::hash() const {
  return std::hash<std::string>()(row_->name) * 31 + (cast_to_ ? static_cast<std::size_t>(*cast_to_) + 1 : 0);
}

DType ElementwiseOp::promoted(std::span<const DType> inputs) const {
  Promotables operands;
  for (std::size_t i = row_->condition_first ? 1 : 0; i < inputs.size(); ++i) operands.push_back({inputs[i]});
  return cast_to_ ? result_type(operands) : promoted_dtype(*row_, std::move(operands));
}

Step ElementwiseOp::step(std::span<const DType> inputs, std::vector<int> values) const {
  const DType common = promoted(inputs);
  Step step;
  step.name = row_->name;
  step.compute = cast_to_ ? inputs[0] : computed_in(*row_, common);
  step.result = cast_to_ ? *cast_to_ : result_of(*row_, common);
  step.code = cast_to_ ? "x0" : code_for(*row_, step.compute);
  if (!cast_to_ && compares_unlike_signs(*row_, inputs)) {
    const bool signed_first = is_signed(inputs[0]);
    step.compute = uint64;
    step.inputs_as = signed_first ? std::vector{int64, uint64} : std::vector{uint64, int64};
    step.code = code_of_unlike_signs(*row_, signed_first);
  }
  step.condition_first = row_->condition_first;
  step.rounds = cast_to_.has_value();
  step.inputs = std::move(values);
  if (!is_builtin(*row_)) step.row = {row_->file.empty() ? row_->name : row_->file, row_->line};
  step.cost = row_->cost;
  return step;
}

Apply ElementwiseOp::make_node(Inputs inputs) const {
  inputs.require_count(cast_to_ ? 1 : arity(*row_));
  const std::vector<Variable> variables(inputs.begin(), inputs.end());
  check_condition(*row_, variables[0].dtype());
  const std::vector<DType> dtypes = dtypes_of(variables);
  const DType common = promoted(dtypes);
  if (!cast_to_) check_takes(*row_, common);
  std::vector<Shape> shapes;
  for (const Variable& variable : variables) shapes.push_back(variable.dims());
  return {*this, variables, {{step(dtypes, {}).result, output_shape(shapes)}}};
}

void ElementwiseOp::lower(KernelBuilder& kernel) const {
  std::vector<DType> dtypes;
  std::vector<int> values;
  for (int i = 0; i < kernel.input_count(); ++i) {
    dtypes.push_back(kernel.input(i).dtype);
    values.push_back(kernel.input(i).number);
  }
  kernel.output(kernel.append(step(dtypes, std::move(values))));
}

}  // namespace damo
