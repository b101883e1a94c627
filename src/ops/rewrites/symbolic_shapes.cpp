#include "ops/rewrites/symbolic_shapes.hpp"

#include <damo/kernel_op.hpp>

namespace damo {

SymbolicShapes::SymbolicShapes(const FunctionGraph& graph, const std::vector<NodeId>& nodes) : shapes_(static_cast<std::size_t>(graph.value_limit())) {
  symbol(1);
  for (NodeId node : nodes) {
    for (ValueId input : graph.inputs(node)) {
      auto& shape = shapes_[static_cast<std::size_t>(input)];
      if (graph.owner(input) == NodeId::kNone && shape.empty()) shape = fresh(graph.type(input).dims);
    }
    const auto* op = dynamic_cast<const KernelOp*>(&graph.op(node));
    if (op && !op->reduced_axes()) {
      elementwise(graph, node);
    } else if (op) {
      const std::uint32_t axes = *op->reduced_axes();
      std::vector<int> shape = shapes_[static_cast<std::size_t>(graph.inputs(node)[0])];
      const Shape& made = graph.type(graph.outputs(node)[0]).dims;  // of index_along the axes stay
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if ((axes >> axis & 1u) && made[static_cast<int>(axis)] == 1) shape[axis] = kOne;
      }
      shapes_[static_cast<std::size_t>(graph.outputs(node)[0])] = std::move(shape);
    } else {
      for (ValueId output : graph.outputs(node)) shapes_[static_cast<std::size_t>(output)] = fresh(graph.type(output).dims);
    }
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

void SymbolicShapes::elementwise(const FunctionGraph& graph, NodeId node) {
  const Shape& dims = graph.type(graph.outputs(node)[0]).dims;
  std::vector<int> shape(static_cast<std::size_t>(dims.rank()), kOne);
  for (ValueId input : graph.inputs(node)) {
    const std::vector<int>& operand = shapes_[static_cast<std::size_t>(input)];
    const std::size_t missing = shape.size() - operand.size();
    for (std::size_t axis = 0; axis < operand.size(); ++axis) {
      int& common = shape[missing + axis];
      const int own = find(operand[axis]);
      if (own == kOne || own == common) continue;
      if (common == kOne) common = own;
      else parent_[static_cast<std::size_t>(own)] = find(common), common = find(common);
    }
  }
  for (int axis = 0; axis < dims.rank(); ++axis) {  // an op may know more of its shape than its operands show
    if (shape[static_cast<std::size_t>(axis)] == kOne && dims[axis] != 1) shape[static_cast<std::size_t>(axis)] = symbol(dims[axis]);
  }
  shapes_[static_cast<std::size_t>(graph.outputs(node)[0])] = std::move(shape);
}

}  // namespace damo
