#include "ops/rewrites/symbolic_shapes.hpp"

#include <algorithm>

#include <damo/kernel_op.hpp>
#include "ops/dimshuffle_op.hpp"
#include "ops/rewrites/match.hpp"
#include "ops/subtensor_op.hpp"

namespace damo {

SymbolicShapes::SymbolicShapes(const FunctionGraph& graph, const std::vector<NodeId>& nodes, const Checks* checks)
    : graph_(graph), checks_(checks), shapes_(static_cast<std::size_t>(graph.value_limit())), is_sure_(shapes_.size(), true) {
  symbol(1);
  for (NodeId node : nodes) {
    for (ValueId input : graph.inputs(node)) {
      auto& shape = shapes_[static_cast<std::size_t>(input)];
      if (graph.owner(input) == NodeId::kNone && shape.empty()) shape = fresh(graph.type(input).dims);
    }
    const auto* op = dynamic_cast<const KernelOp*>(&graph.op(node));
    if (op && !op->reduced_axes()) {
      elementwise(node);
    } else if (op) {
      const std::uint32_t axes = *op->reduced_axes();
      std::vector<int> shape = shapes_[static_cast<std::size_t>(graph.inputs(node)[0])];
      const Shape& made = graph.type(graph.outputs(node)[0]).dims;  // of index_along the axes stay
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if ((axes >> axis & 1u) && made[static_cast<int>(axis)] == 1) shape[axis] = kOne;
      }
      shapes_[static_cast<std::size_t>(graph.outputs(node)[0])] = std::move(shape);
    } else if (const auto* view = dynamic_cast<const DimShuffleOp*>(&graph.op(node))) {
      const std::vector<int>& shape = shapes_[static_cast<std::size_t>(graph.inputs(node)[0])];
      std::vector<int> turned;
      for (std::int64_t axis : view->pattern()) turned.push_back(axis < 0 ? kOne : shape[static_cast<std::size_t>(axis)]);
      shapes_[static_cast<std::size_t>(graph.outputs(node)[0])] = std::move(turned);
    } else {
      const bool is_part = dynamic_cast<const SubtensorOp*>(&graph.op(node)) != nullptr;
      for (ValueId output : graph.outputs(node)) {
        shapes_[static_cast<std::size_t>(output)] = is_part ? part_of(node) : fresh(graph.type(output).dims);
        is_sure_[static_cast<std::size_t>(output)] = stays(node);
      }
    }
    if (stays(node)) continue;
    const auto inputs = graph.inputs(node);
    if (std::all_of(inputs.begin(), inputs.end(), [&](ValueId input) { return is_sure(input); })) continue;
    for (ValueId output : graph.outputs(node)) is_sure_[static_cast<std::size_t>(output)] = false;
  }
}

std::vector<int> SymbolicShapes::of(ValueId value) const {
  std::vector<int> shape = shapes_[static_cast<std::size_t>(value)];
  for (int& axis : shape) axis = find(axis);
  return shape;
}

/// Of a known extent always the same, of an unknown one a new one.
int SymbolicShapes::symbol(std::int64_t extent) {
  const int next = static_cast<int>(parent_.size());
  if (extent != kUnknown) {
    const auto [found, is_new] = known_.try_emplace(extent, next);
    if (!is_new) return found->second;
  }
  parent_.push_back(next);
  return next;
}

int SymbolicShapes::find(int symbol) const {
  while (parent_[static_cast<std::size_t>(symbol)] != symbol) {
    int& parent = parent_[static_cast<std::size_t>(symbol)];
    parent = parent_[static_cast<std::size_t>(parent)];
    symbol = parent;
  }
  return symbol;
}

std::vector<int> SymbolicShapes::fresh(const Shape& dims) {
  std::vector<int> shape;
  for (std::int64_t extent : dims) shape.push_back(symbol(extent));
  return shape;
}

/// Axes that an index leaves as they are keep their extents.
std::vector<int> SymbolicShapes::part_of(NodeId node) {
  const std::vector<Index>& indices = static_cast<const SubtensorOp&>(graph_.op(node)).indices();
  const std::vector<int>& from = shapes_[static_cast<std::size_t>(graph_.inputs(node)[0])];
  std::vector<int> shape = fresh(graph_.type(graph_.outputs(node)[0]).dims);
  std::size_t own = 0;
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    if (axis < indices.size() && indices[axis].is_position()) continue;
    if (axis >= indices.size() || takes_all(indices[axis])) shape[own] = from[axis];
    ++own;
  }
  return shape;
}

/// Operands that do not count say what an axis is only where no other one does.
void SymbolicShapes::elementwise(NodeId node) {
  const ValueId output = graph_.outputs(node)[0];
  std::vector<int> shape(static_cast<std::size_t>(graph_.type(output).rank()), kOne);
  const auto inputs = graph_.inputs(node);
  const bool is_kept = stays(node);
  const auto join = [&](std::size_t input, bool counts) {
    const std::vector<int>& operand = shapes_[static_cast<std::size_t>(inputs[input])];
    for (std::size_t axis = 0; axis < operand.size(); ++axis) {
      int& common = shape[shape.size() - operand.size() + axis];
      const int own = find(operand[axis]);
      if (own == kOne || own == common) continue;
      if (common == kOne) common = own;
      else if (!is_kept) is_sure_[static_cast<std::size_t>(output)] = false;
      else if (counts) parent_[static_cast<std::size_t>(own)] = find(common), common = find(common);
    }
  };
  const auto& op = static_cast<const KernelOp&>(graph_.op(node));
  const auto counts = [&](std::size_t input) { return !checks_ || checks_->counts(node, static_cast<int>(input)); };
  for (const bool first : {true, false}) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!op.reads_table(static_cast<int>(i)) && counts(i) == first) join(i, first);
    }
  }
  const Shape& dims = graph_.type(output).dims;
  for (int axis = 0; axis < dims.rank(); ++axis) {  // an op may know more of its shape than its operands show
    if (shape[static_cast<std::size_t>(axis)] == kOne && dims[axis] != 1) shape[static_cast<std::size_t>(axis)] = symbol(dims[axis]);
  }
  shapes_[static_cast<std::size_t>(output)] = std::move(shape);
}

}  // namespace damo
