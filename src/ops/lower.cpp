#include "ops/lower.hpp"

#include <algorithm>
#include <unordered_map>

#include "ops/reduce_op.hpp"

namespace damo {
namespace {

constexpr std::size_t kNameLength = 60;

bool is_literal(const ConstantPtr& constant) { return constant && constant->is_scalar(); }

/// "mul_add_tanh", shortened in the middle of long chains: "mul_add_tanh_and_17_more".
std::string name_of(const std::vector<Step>& steps) {
  std::string name;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (name.size() + steps[i].name.size() > kNameLength) return name + "_and_" + std::to_string(steps.size() - i) + "_more";
    name += (i > 0 ? "_" : "") + steps[i].name;
  }
  return name;
}

}  // namespace

std::vector<int> array_inputs(const Apply& node) {
  std::vector<int> inputs;
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    if (!is_literal(node.inputs()[i].constant())) inputs.push_back(static_cast<int>(i));
  }
  return inputs;
}

KernelSpec lower(const ElementwiseOp& op, const Apply& node) {
  KernelSpec spec;
  std::vector<DType> dtypes;
  for (const Variable& input : node.inputs()) {
    dtypes.push_back(input.dtype());
    if (is_literal(input.constant())) spec.constants.push_back(input.constant()->scalar());
    else spec.inputs.push_back(input.dtype());
  }
  std::vector<int> values;
  int next_input = 0, next_constant = spec.input_count();
  for (const Variable& input : node.inputs()) values.push_back(is_literal(input.constant()) ? next_constant++ : next_input++);
  spec.steps.push_back(op.step(dtypes, std::move(values)));
  spec.stores = {next_constant};
  spec.outputs = {node.output().dtype()};
  spec.name = op.name();
  return spec;
}

/// Inputs that have one element a row, by their types.
std::vector<bool> row_inputs(const FunctionGraph& graph) {
  int rank = 0;
  std::uint32_t axes = 0;
  for (NodeId node : graph.nodes()) {
    const auto* reduction = dynamic_cast<const ReduceOp*>(&graph.op(node));
    if (reduction) rank = graph.type(graph.inputs(node)[0]).dims.rank(), axes = reduction->axes();
  }
  std::vector<bool> rows;
  for (ValueId input : graph.inputs()) {
    const Shape& dims = graph.type(input).dims;
    bool is_row = axes != 0;
    for (int axis = 0; axis < dims.rank(); ++axis) is_row &= !(axes >> (rank - dims.rank() + axis) & 1u) || dims[axis] == 1;
    rows.push_back(is_row);
  }
  return rows;
}

KernelSpec lower(const FunctionGraph& graph) {
  KernelSpec spec;
  std::unordered_map<ValueId, int> number;
  for (ValueId input : graph.inputs()) {
    number.emplace(input, spec.input_count());
    spec.inputs.push_back(graph.type(input).dtype);
  }
  spec.rows = row_inputs(graph);
  const std::vector<NodeId> order = graph.nodes();  // built inputs first
  for (NodeId node : order) {
    for (ValueId input : graph.inputs(node)) {
      if (!is_literal(graph.constant(input)) || number.contains(input)) continue;
      number.emplace(input, spec.input_count() + static_cast<int>(spec.constants.size()));
      spec.constants.push_back(graph.constant(input)->scalar());
    }
  }
  for (NodeId node : order) {
    std::vector<DType> dtypes;
    std::vector<int> values;
    for (ValueId input : graph.inputs(node)) {
      dtypes.push_back(graph.type(input).dtype);
      values.push_back(number.at(input));
    }
    const ValueId output = graph.outputs(node)[0];
    if (const auto* reduction = dynamic_cast<const ReduceOp*>(&graph.op(node))) {
      number.emplace(output, append_reduction(spec, reduction->kind(), values[0], dtypes[0], graph.type(output).dtype));
    } else {
      number.emplace(output, spec.first_step() + static_cast<int>(spec.steps.size()));
      spec.steps.push_back(static_cast<const ElementwiseOp&>(graph.op(node)).step(dtypes, std::move(values)));
    }
  }
  for (ValueId output : graph.outputs()) {
    spec.stores.push_back(number.at(output));
    spec.outputs.push_back(graph.type(output).dtype);
  }
  spec.name = name_of(spec.steps);
  return spec;
}

KernelSpec lower_node(const FunctionGraph& graph, NodeId node) {
  FunctionGraph alone;
  std::vector<ValueId> inputs;
  for (ValueId input : graph.inputs(node)) {
    inputs.push_back(is_literal(graph.constant(input)) ? alone.add_constant(graph.constant(input)) : alone.add_input(graph.type(input)));
  }
  const TensorType types[] = {graph.type(graph.outputs(node)[0])};
  alone.add_output(alone.outputs(alone.add(graph.op_ptr(node), inputs, types, graph.where(node)))[0]);
  return lower(alone);
}

}  // namespace damo
