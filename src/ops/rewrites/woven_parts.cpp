#include "ops/rewrites/woven_parts.hpp"

#include <cstdint>

#include "ops/concatenate_op.hpp"
#include "ops/dimshuffle_op.hpp"
#include "ops/rewrites/match.hpp"

namespace damo {
namespace {

constexpr std::int64_t kSector = 32;  // bytes
constexpr std::size_t kMostWoven = 8;

/// Whether concatenate would copy the part.
bool is_copied(const FunctionGraph& graph, ValueId part) {
  const NodeId owner = graph.owner(part);
  if (owner == NodeId::kNone) return true;
  const int viewed = graph.op(owner).view_of(graph.owner_index(part));
  return viewed >= 0 ? is_copied(graph, graph.inputs(owner)[static_cast<std::size_t>(viewed)]) : !graph.op(owner).may_write_window(graph.owner_index(part));
}

}  // namespace

bool is_woven(const FunctionGraph& graph, NodeId node) {
  const auto* op = dynamic_cast<const ConcatenateOp*>(&graph.op(node));
  const auto parts = graph.inputs(node);
  if (!op || parts.size() < 2 || parts.size() > kMostWoven || !graph.type(parts[0]).dims.is_known()) return false;
  const TensorType& type = graph.type(parts[0]);
  std::int64_t run = static_cast<std::int64_t>(itemsize(type.dtype));
  for (int axis = op->axis(); axis < type.rank(); ++axis) {
    if (type.dims[axis] <= 0 || type.dims[axis] >= kSector) return false;
    run *= type.dims[axis];
    if (run >= kSector) return false;
  }
  for (ValueId part : parts) {
    if (!(graph.type(part) == type)) return false;
  }
  return true;
}

NodeId maker_of_part(const FunctionGraph& graph, ValueId part) {
  NodeId owner = graph.owner(part);
  while (owner != NodeId::kNone && dynamic_cast<const DimShuffleOp*>(&graph.op(owner))) owner = graph.owner(graph.inputs(owner)[0]);
  return owner;
}

void copy_woven_parts(FunctionGraph& graph) {
  if (!graph.has_op<ConcatenateOp>()) return;
  for (NodeId node : graph.nodes()) {
    if (!is_woven(graph, node)) continue;
    for (std::size_t i = 0; i < graph.inputs(node).size(); ++i) {
      const ValueId part = graph.inputs(node)[i];
      if (!is_copied(graph, part)) continue;
      // In the space of another part's work, which may be behind a view, so that one kernel may have both.
      ValueId copied = part;
      for (ValueId other : graph.inputs(node)) {
        const NodeId view = graph.owner(other), own = graph.owner(part), maker = maker_of_part(graph, other);
        if (view == NodeId::kNone || own == NodeId::kNone || maker == view || maker == NodeId::kNone || !dynamic_cast<const KernelOp*>(&graph.op(maker))) continue;
        const auto *behind = dynamic_cast<const DimShuffleOp*>(&graph.op(view)), *same = dynamic_cast<const DimShuffleOp*>(&graph.op(own));
        if (behind && same && behind->pattern() == same->pattern()) copied = graph.inputs(own)[0];
      }
      const ValueId inputs[] = {copied};
      const ValueId moved[] = {graph.outputs(graph.add(rows().identity, inputs, graph.where(node)))[0]};
      graph.set_input(node, static_cast<int>(i), copied == part ? moved[0] : graph.outputs(graph.add(graph.op_ptr(graph.owner(part)), moved, graph.where(node)))[0]);
    }
  }
}

}  // namespace damo
