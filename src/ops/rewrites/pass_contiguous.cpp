#include "ops/rewrites/pass_contiguous.hpp"

#include <damo/kernel_op.hpp>
#include "ops/concatenate_op.hpp"
#include "ops/fused_op.hpp"
#include "ops/reshape_op.hpp"

namespace damo {
namespace {

bool is_in_order(const FunctionGraph& graph, ValueId value) {
  const NodeId owner = graph.owner(value);
  if (owner == NodeId::kNone) return false;
  const Op& op = graph.op(owner);
  return dynamic_cast<const KernelOp*>(&op) || dynamic_cast<const FusedOp*>(&op) || dynamic_cast<const ConcatenateOp*>(&op) || dynamic_cast<const ReshapingOp*>(&op);
}

}  // namespace

FunctionGraph pass_contiguous(FunctionGraph graph) {
  bool has_changed = false;
  for (NodeId node : graph.nodes()) {
    if (graph.op(node).passes_through(0) != 0 || !is_in_order(graph, graph.inputs(node)[0])) continue;
    graph.replace(graph.outputs(node)[0], graph.inputs(node)[0]);
    has_changed = true;
  }
  if (has_changed) graph.prune();
  return graph;
}

}  // namespace damo
