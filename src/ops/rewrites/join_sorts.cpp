#include "ops/rewrites/join_sorts.hpp"

#include <map>
#include <memory>
#include <utility>

#include "ops/sort/sort_op.hpp"

namespace damo {

FunctionGraph join_sorts(FunctionGraph graph) {
  if (!graph.has_op<SortOp>() || !graph.has_op<ArgsortOp>()) return graph;
  graph.prune();
  std::map<std::pair<ValueId, bool>, std::pair<NodeId, NodeId>> found;  // of a value and a direction
  for (NodeId node : graph.nodes()) {
    const ValueId x = graph.inputs(node).empty() ? ValueId::kNone : graph.inputs(node)[0];
    if (const auto* sort = dynamic_cast<const SortOp*>(&graph.op(node)); sort && !sort->has_order()) found.try_emplace({x, sort->descending()}, NodeId::kNone, NodeId::kNone).first->second.first = node;
    if (const auto* order = dynamic_cast<const ArgsortOp*>(&graph.op(node)); order && order->is_whole()) found.try_emplace({x, order->descending()}, NodeId::kNone, NodeId::kNone).first->second.second = node;
  }
  bool has_changed = false;
  for (const auto& [of, nodes] : found) {
    const auto [sort, order] = nodes;
    if (sort == NodeId::kNone || order == NodeId::kNone) continue;
    const ValueId inputs[] = {of.first}, outputs[] = {graph.outputs(sort)[0], graph.outputs(order)[0]};
    const TensorType types[] = {graph.type(outputs[0]), graph.type(outputs[1])};
    const NodeId joined = graph.add(std::make_shared<const SortOp>(of.second, true), inputs, types, graph.where(sort));
    for (std::size_t i = 0; i < 2; ++i) graph.replace(outputs[i], graph.outputs(joined)[i]);
    has_changed = true;
  }
  if (has_changed) graph.prune();
  return graph;
}

}  // namespace damo
