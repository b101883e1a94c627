#include "ops/lower.hpp"

#include <algorithm>
#include <unordered_map>

namespace damo {
namespace {

constexpr std::size_t kNameLength = 60;

/// "mul_add_tanh", shortened in the middle of long chains: "mul_add_tanh_and_17_more".
std::string name_of(const std::vector<Step>& steps) {
  std::string name;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (name.size() + steps[i].name.size() > kNameLength) return name + "_and_" + std::to_string(steps.size() - i) + "_more";
    name += (i > 0 ? "_" : "") + steps[i].name;
  }
  return name;
}

/// For each node whether the value needs it. Nodes are numbered inputs first.
std::vector<bool> needed_by(const FunctionGraph& graph, ValueId value) {
  std::vector<bool> needed(static_cast<std::size_t>(graph.node_limit()), false);
  const auto need = [&](ValueId input) {
    if (graph.owner(input) != NodeId::kNone) needed[static_cast<std::size_t>(graph.owner(input))] = true;
  };
  need(value);
  for (std::size_t i = needed.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (ValueId input : graph.inputs(static_cast<NodeId>(i))) need(input);
  }
  return needed;
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
  spec.stages[0].steps.push_back(op.step(dtypes, std::move(values)));
  spec.stores = {next_constant};
  spec.outputs = {node.output().dtype()};
  spec.name = op.name();
  return spec;
}

KernelSpec lower(const FunctionGraph& graph) {
  KernelSpec spec;
  std::unordered_map<ValueId, int> number;
  for (ValueId input : graph.inputs()) {
    number.emplace(input, spec.input_count());
    spec.inputs.push_back(graph.type(input).dtype);
  }
  const std::vector<NodeId> order = graph.nodes();  // built inputs first
  for (NodeId node : order) {
    for (ValueId input : graph.inputs(node)) {
      if (!is_literal(graph.constant(input)) || number.contains(input)) continue;
      number.emplace(input, spec.input_count() + static_cast<int>(spec.constants.size()));
      spec.constants.push_back(graph.constant(input)->scalar());
    }
  }
  int next = spec.input_count() + static_cast<int>(spec.constants.size());
  for (NodeId node : order) {
    std::vector<DType> dtypes;
    std::vector<int> values;
    for (ValueId input : graph.inputs(node)) {
      dtypes.push_back(graph.type(input).dtype);
      values.push_back(number.at(input));
    }
    spec.stages[0].steps.push_back(static_cast<const ElementwiseOp&>(graph.op(node)).step(dtypes, std::move(values)));
    number.emplace(graph.outputs(node)[0], next++);
  }
  for (ValueId output : graph.outputs()) {
    spec.stores.push_back(number.at(output));
    spec.outputs.push_back(graph.type(output).dtype);
  }
  spec.name = name_of(spec.stages[0].steps);
  return spec;
}

OutputSpec lower_output(const FunctionGraph& graph, int output) {
  const ValueId value = graph.outputs()[static_cast<std::size_t>(output)];
  const std::vector<bool> needed = needed_by(graph, value);
  OutputSpec part;
  FunctionGraph alone;
  std::unordered_map<ValueId, ValueId> copy;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const ValueId input = graph.inputs()[i];
    const auto uses = graph.uses(input);
    const bool is_read = std::any_of(uses.begin(), uses.end(), [&](const Use& use) { return use.node != NodeId::kNone && needed[static_cast<std::size_t>(use.node)]; });
    if (!is_read) continue;
    part.inputs.push_back(static_cast<int>(i));
    copy.emplace(input, alone.add_input(graph.type(input)));
  }
  for (NodeId node : graph.nodes()) {
    if (!needed[static_cast<std::size_t>(node)]) continue;
    std::vector<ValueId> inputs;
    for (ValueId input : graph.inputs(node)) {
      if (!copy.contains(input)) copy.emplace(input, alone.add_constant(graph.constant(input)));
      inputs.push_back(copy.at(input));
    }
    const ValueId result = graph.outputs(node)[0];
    const TensorType types[] = {graph.type(result)};
    copy.emplace(result, alone.outputs(alone.add(graph.op_ptr(node), inputs, types, graph.where(node)))[0]);
  }
  alone.add_output(copy.at(value));
  part.spec = lower(alone);
  return part;
}

}  // namespace damo
