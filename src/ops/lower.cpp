#include "ops/lower.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ops/number_arguments.hpp"

namespace damo {
namespace {

constexpr std::size_t kNameLength = 60;
constexpr std::size_t kBytesOfNumbers = 3968, kBytesOfArray = 32;  // every GPU takes arguments of 4 KB

/// The numbers that a graph's nodes read, each in the order in which the nodes read them.
struct Literals {
  std::vector<ValueId> arguments, constants;
};

/// Whether each of its readers takes the number as an argument. One that reads numbers alone is computed by the compiler.
bool may_be_argument(const FunctionGraph& graph, ValueId value) {
  const auto uses = graph.uses(value);
  return std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
    const auto inputs = graph.inputs(use.node);
    const bool has_array = std::any_of(inputs.begin(), inputs.end(), [&](ValueId input) { return !is_literal(graph.constant(input)); });
    return has_array && may_be_argument(static_cast<const ElementwiseOp&>(graph.op(use.node)), use.position, graph.constant(value)->scalar());
  });
}

Literals literals_of(const FunctionGraph& graph, const std::vector<NodeId>& order) {
  Literals literals;
  const std::size_t arrays = graph.inputs().size() + graph.outputs().size();
  std::size_t room = kBytesOfNumbers - std::min(kBytesOfNumbers, kBytesOfArray * arrays);
  std::unordered_set<ValueId> found;
  for (NodeId node : order) {
    for (ValueId input : graph.inputs(node)) {
      if (!is_literal(graph.constant(input)) || !found.insert(input).second) continue;
      const std::size_t bytes = std::max<std::size_t>(itemsize(graph.type(input).dtype), 4);
      const bool is_argument = bytes <= room && may_be_argument(graph, input);
      if (is_argument) room -= bytes;
      (is_argument ? literals.arguments : literals.constants).push_back(input);
    }
  }
  return literals;
}

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

KernelSpec lower(const FunctionGraph& graph) {
  KernelSpec spec;
  std::unordered_map<ValueId, int> number;
  for (ValueId input : graph.inputs()) {
    number.emplace(input, spec.input_count());
    spec.inputs.push_back(graph.type(input).dtype);
  }
  const std::vector<NodeId> order = graph.nodes();  // built inputs first
  const Literals literals = literals_of(graph, order);
  int next = spec.input_count();
  for (ValueId value : literals.arguments) {
    number.emplace(value, next++);
    spec.numbers.push_back(graph.constant(value)->scalar());
  }
  for (ValueId value : literals.constants) {
    number.emplace(value, next++);
    spec.constants.push_back(graph.constant(value)->scalar());
  }
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

KernelSpec lower(const ElementwiseOp& op, const Apply& node) {
  FunctionGraph graph;
  std::vector<ValueId> inputs;
  for (const Variable& input : node.inputs()) {
    inputs.push_back(is_literal(input.constant()) ? graph.add_constant(input.constant()) : graph.add_input(input.type()));
  }
  const TensorType types[] = {node.output().type()};
  graph.add_output(graph.outputs(graph.add(op.shared_from_this(), inputs, types, {}))[0]);
  return lower(graph);
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
