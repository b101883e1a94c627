#include "ops/rewrites/sink_branches.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "ops/loop/ifelse_op.hpp"

namespace damo {
namespace {

std::size_t at(NodeId node) { return static_cast<std::size_t>(node); }

/// A branch with what only it needs, and what it reads of the graph.
struct Sunk {
  FunctionGraph graph;
  std::vector<ValueId> inputs;
};

Sunk sink(const FunctionGraph& graph, NodeId choice, const IfElseOp& op, std::size_t branch, const std::vector<NodeId>& order) {
  const int first = op.first_input(branch), end = first + static_cast<int>(op.branch(branch).inputs().size());
  std::vector<char> sinks(static_cast<std::size_t>(graph.node_limit()), 0);
  const auto is_own = [&](const Use& use) {
    if (use.node == NodeId::kNone) return false;
    return use.node == choice ? use.position >= first && use.position < end : sinks[at(use.node)] != 0;
  };
  std::vector<NodeId> inside;
  for (auto node = std::find(order.rbegin(), order.rend(), choice); node != order.rend(); ++node) {
    if (*node == choice) continue;
    const auto outputs = graph.outputs(*node);
    sinks[at(*node)] = std::all_of(outputs.begin(), outputs.end(), [&](ValueId output) {
      const auto uses = graph.uses(output);
      return std::all_of(uses.begin(), uses.end(), is_own);
    });
    if (sinks[at(*node)]) inside.push_back(*node);
  }
  std::reverse(inside.begin(), inside.end());
  Sunk sunk;
  std::map<ValueId, ValueId> places;
  const auto place = [&](ValueId value) {
    const auto [found, is_new] = places.try_emplace(value);
    if (!is_new) return found->second;
    if (const ConstantPtr& constant = graph.constant(value)) return found->second = sunk.graph.add_constant(constant);
    sunk.inputs.push_back(value);
    return found->second = sunk.graph.add_input(graph.type(value), graph.name(value));
  };
  for (NodeId node : inside) {
    std::vector<ValueId> inputs;
    for (ValueId input : graph.inputs(node)) inputs.push_back(place(input));
    std::vector<TensorType> types;
    for (ValueId output : graph.outputs(node)) types.push_back(graph.type(output));
    const NodeId made = sunk.graph.add(graph.op_ptr(node), inputs, types, graph.where(node));
    for (std::size_t i = 0; i < types.size(); ++i) places[graph.outputs(node)[i]] = sunk.graph.outputs(made)[i];
  }
  for (int i = first; i < end; ++i) sunk.graph.add_output(place(graph.inputs(choice)[static_cast<std::size_t>(i)]));
  return sunk;
}

/// Whether the branches are as ifelse() made them.
bool hands_on(const IfElseOp& op) { return op.branch(0).node_count() == 0 && op.branch(1).node_count() == 0; }

}  // namespace

FunctionGraph sink_branches(FunctionGraph graph) {
  const auto choice_of = [&](NodeId node) { return graph.is_alive(node) ? dynamic_cast<const IfElseOp*>(&graph.op(node)) : nullptr; };
  if (!graph.has_op<IfElseOp>()) return graph;
  const std::vector<NodeId> order = graph.toposort();
  for (auto node = order.rbegin(); node != order.rend(); ++node) {
    const IfElseOp* op = choice_of(*node);
    if (!op || !hands_on(*op)) continue;
    Sunk then = sink(graph, *node, *op, 0, order), otherwise = sink(graph, *node, *op, 1, order);
    if (then.graph.node_count() + otherwise.graph.node_count() == 0) continue;
    std::vector<ValueId> inputs{graph.inputs(*node)[0]};
    inputs.insert(inputs.end(), then.inputs.begin(), then.inputs.end());
    inputs.insert(inputs.end(), otherwise.inputs.begin(), otherwise.inputs.end());
    const std::vector<ValueId> outputs(graph.outputs(*node).begin(), graph.outputs(*node).end());
    const std::vector<TensorType> types = op->types();
    const NodeId made = graph.add(std::make_shared<const IfElseOp>(types, std::move(then.graph), std::move(otherwise.graph)), inputs, types, graph.where(*node));
    for (std::size_t i = 0; i < outputs.size(); ++i) graph.replace(outputs[i], graph.outputs(made)[i]);
    graph.prune();
  }
  return graph;
}

}  // namespace damo
