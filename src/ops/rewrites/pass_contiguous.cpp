#include "ops/rewrites/pass_contiguous.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <damo/kernel_op.hpp>
#include "ops/concatenate_op.hpp"
#include "ops/dimshuffle_op.hpp"
#include "ops/fused_op.hpp"
#include "ops/reshape_op.hpp"
#include "ops/take_apart_op.hpp"

namespace damo {
namespace {

bool is_in_order(const FunctionGraph& graph, ValueId value) {
  const NodeId owner = graph.owner(value);
  if (owner == NodeId::kNone) return false;
  const Op& op = graph.op(owner);
  return dynamic_cast<const KernelOp*>(&op) || dynamic_cast<const FusedOp*>(&op) || dynamic_cast<const ConcatenateOp*>(&op) || dynamic_cast<const ReshapingOp*>(&op);
}

bool is_made_by_kernel(const FunctionGraph& graph, ValueId value) {
  const NodeId maker = graph.owner(value);
  return maker != NodeId::kNone && (dynamic_cast<const KernelOp*>(&graph.op(maker)) || dynamic_cast<const FusedOp*>(&graph.op(maker)));
}

/// What kernels write where it is to lie, in place of a value that has the axes of their result, or of what is put together of their results, but for the last one, in another order. kNone: it has none of these.
ValueId written_in_other_order(FunctionGraph& graph, ValueId value, const TensorType& type, SourceLine where) {
  const NodeId owner = graph.owner(value);
  const auto* view = owner == NodeId::kNone ? nullptr : dynamic_cast<const DimShuffleOp*>(&graph.op(owner));
  if (!view || view->keeps_order()) return ValueId::kNone;
  const ValueId seen = graph.inputs(owner)[0];
  std::vector<ValueId> parts = {seen};
  std::int64_t axis = 0;
  const auto* concatenate = graph.owner(seen) == NodeId::kNone ? nullptr : dynamic_cast<const ConcatenateOp*>(&graph.op(graph.owner(seen)));
  if (concatenate) {
    const auto place = std::find(view->pattern().begin(), view->pattern().end(), concatenate->axis());
    if (place == view->pattern().end() || graph.uses(seen).size() > 1) return ValueId::kNone;
    axis = place - view->pattern().begin();
    parts.assign(graph.inputs(graph.owner(seen)).begin(), graph.inputs(graph.owner(seen)).end());
  }
  if (!std::all_of(parts.begin(), parts.end(), [&](ValueId part) { return is_made_by_kernel(graph, part) && view->keeps_runs(graph.type(part)); })) return ValueId::kNone;
  const OpPtr turn = graph.op_ptr(owner);
  for (ValueId& part : parts) {
    const ValueId inputs[] = {part};
    part = concatenate ? graph.outputs(graph.add(turn, inputs, graph.where(owner)))[0] : value;
  }
  const TensorType types[] = {type};
  return graph.outputs(graph.add(std::make_shared<const ConcatenateOp>(static_cast<int>(axis)), parts, types, where))[0];
}

/// The parts of which the axes of a reshape are, where it does no more than take axes apart; the first extents may be unknown, where all that follows says that they are equal.
std::optional<std::vector<TakeApartOp::Part>> parts_of(const Shape& from, const Shape& to) {
  std::vector<TakeApartOp::Part> parts;
  int axis = 0, part = 0;
  if (from.rank() > 0 && to.rank() > 0 && from[0] == kUnknown && to[0] == kUnknown) parts.push_back({axis++, kUnknown}), ++part;
  std::int64_t left = 1;  // of the axis that is being taken apart
  for (; part < to.rank(); ++part) {
    const std::int64_t extent = to[part];
    if (extent == kUnknown || extent == 0) return {};
    if (extent == 1) {
      parts.push_back({});
      continue;
    }
    while (left == 1 && axis < from.rank()) left = from[axis++];
    if (left == kUnknown || left < extent || left % extent != 0) return {};
    parts.push_back({axis - 1, extent});
    left /= extent;
  }
  if (left != 1) return {};
  for (; axis < from.rank(); ++axis) {
    if (from[axis] != 1) return {};
  }
  return parts;
}

/// A reshape that takes the axes of a view apart, for kernels, which read any strides: nothing is copied for it.
bool take_apart(FunctionGraph& graph, NodeId node) {
  if (!dynamic_cast<const ReshapingOp*>(&graph.op(node))) return false;
  const ValueId ordered = graph.inputs(node)[0], made = graph.outputs(node)[0];
  const NodeId copies = graph.owner(ordered);
  if (copies == NodeId::kNone || graph.op(copies).passes_through(0) != 0 || graph.is_output(made)) return false;
  const ValueId x = graph.inputs(copies)[0];
  if (graph.owner(x) == NodeId::kNone || graph.op(graph.owner(x)).view_of(0) < 0 || dynamic_cast<const ReshapingOp*>(&graph.op(graph.owner(x)))) return false;
  for (const Use& use : graph.uses(made)) {
    const Op& reader = graph.op(use.node);
    if (!dynamic_cast<const KernelOp*>(&reader) && !dynamic_cast<const FusedOp*>(&reader)) return false;
  }
  if (graph.inputs(node).size() > 1 && !graph.type(made).dims.is_known()) return false;  // a shape that only a call shows is compared by the reshape
  auto parts = parts_of(graph.type(x).dims, graph.type(made).dims);
  if (!parts) return false;
  const ValueId inputs[] = {x};
  graph.replace(made, graph.outputs(graph.add(std::make_shared<const TakeApartOp>(std::move(*parts)), inputs, graph.where(node)))[0]);
  return true;
}

}  // namespace

FunctionGraph pass_contiguous(FunctionGraph graph) {
  bool has_changed = false;
  for (NodeId node : graph.nodes()) {
    if (take_apart(graph, node)) {
      has_changed = true;
      continue;
    }
    if (graph.op(node).passes_through(0) != 0) continue;
    const ValueId from = graph.inputs(node)[0], to = graph.outputs(node)[0];
    if (is_in_order(graph, from)) {
      graph.replace(to, from);
    } else if (const ValueId written = written_in_other_order(graph, from, graph.type(to), graph.where(node)); written != ValueId::kNone) {
      graph.replace(to, written);
    } else {
      continue;
    }
    has_changed = true;
  }
  if (has_changed) graph.prune();
  return graph;
}

}  // namespace damo
