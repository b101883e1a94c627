#include "ops/rewrites/fuse_loops.hpp"

#include "ops/loop/loop_kernel.hpp"
#include "ops/loop/loop_op.hpp"

namespace damo {

FunctionGraph fuse_loops(FunctionGraph graph, const FusionLimits& limits) {
  if (!graph.has_op<LoopOp>()) return graph;
  bool has_changed = false;
  for (NodeId node : graph.nodes()) {
    const auto* loop = dynamic_cast<const LoopOp*>(&graph.op(node));
    if (!loop || loop->kernel()) continue;
    auto kernel = loop_kernel(*loop, limits);
    if (!kernel) continue;
    const std::vector<ValueId> inputs(graph.inputs(node).begin(), graph.inputs(node).end()), outputs(graph.outputs(node).begin(), graph.outputs(node).end());
    std::vector<TensorType> types;
    for (ValueId output : outputs) types.push_back(graph.type(output));
    const NodeId made = graph.add(loop->with_kernel(std::move(kernel)), inputs, types, graph.where(node));
    for (std::size_t i = 0; i < outputs.size(); ++i) graph.replace(outputs[i], graph.outputs(made)[i]);
    has_changed = true;
  }
  if (has_changed) graph.prune();
  return graph;
}

}  // namespace damo
