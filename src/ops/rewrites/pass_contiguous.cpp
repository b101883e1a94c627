#include "ops/rewrites/pass_contiguous.hpp"

#include <memory>

#include <damo/kernel_op.hpp>
#include "ops/concatenate_op.hpp"
#include "ops/dimshuffle_op.hpp"
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

/// Whether the value is a kernel's result with its axes, but for the last one, in another order.
bool is_in_other_order(const FunctionGraph& graph, ValueId value) {
  const NodeId owner = graph.owner(value);
  const auto* view = owner == NodeId::kNone ? nullptr : dynamic_cast<const DimShuffleOp*>(&graph.op(owner));
  if (!view || !view->keeps_runs(graph.type(graph.inputs(owner)[0]))) return false;
  const NodeId maker = graph.owner(graph.inputs(owner)[0]);
  return maker != NodeId::kNone && (dynamic_cast<const KernelOp*>(&graph.op(maker)) || dynamic_cast<const FusedOp*>(&graph.op(maker)));
}

}  // namespace

FunctionGraph pass_contiguous(FunctionGraph graph) {
  bool has_changed = false;
  for (NodeId node : graph.nodes()) {
    if (graph.op(node).passes_through(0) != 0) continue;
    const ValueId from = graph.inputs(node)[0], to = graph.outputs(node)[0];
    if (is_in_order(graph, from)) {
      graph.replace(to, from);
    } else if (is_in_other_order(graph, from)) {
      const ValueId inputs[] = {from};
      const TensorType types[] = {graph.type(to)};
      graph.replace(to, graph.outputs(graph.add(std::make_shared<const ConcatenateOp>(0), inputs, types, graph.where(node)))[0]);
    } else {
      continue;
    }
    has_changed = true;
  }
  if (has_changed) graph.prune();
  return graph;
}

}  // namespace damo
