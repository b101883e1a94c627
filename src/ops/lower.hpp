// lower: nodes whose ops describe their kernels -> KernelSpec. Names no target.
#pragma once
#include <damo/graph.hpp>
#include <damo/kernel_op.hpp>
#include "runtime/kernel/spec.hpp"

namespace damo {

/// Whether a constant is a number in a kernel's text or arguments rather than an array.
inline bool is_literal(const ConstantPtr& constant) { return constant && constant->is_scalar(); }

/// The op of a node of which it is known that it describes its kernel.
inline const KernelOp& kernel_op(const FunctionGraph& graph, NodeId node) { return static_cast<const KernelOp&>(graph.op(node)); }

/// Whether the node reads input number i at places that it computes (KernelOp::reads_table).
inline bool reads_table(const FunctionGraph& graph, NodeId node, int i) {
  const auto* op = node == NodeId::kNone ? nullptr : dynamic_cast<const KernelOp*>(&graph.op(node));
  return op && op->reads_table(i);
}
/// Whether the node reads some input so, and whether it reads this value so.
bool reads_tables(const FunctionGraph& graph, NodeId node);
bool reads_as_table(const FunctionGraph& graph, NodeId node, ValueId value);
/// Whether nodes of a kernel's graph read an input of it so. Then none of them reads it as elements: what is read in both ways is two inputs.
bool is_table(const FunctionGraph& graph, ValueId input);

/// The axes that make the rows of a graph of KernelOps over one space; 0 if nothing is reduced. Reductions over other axes join across rows.
std::uint32_t row_axes(const FunctionGraph& graph);
/// Those that its other reductions go over, which join across rows; 0 if there are none.
std::uint32_t across_axes(const FunctionGraph& graph);
/// Whether one of the graph's KernelOps reduces or scans, over no axes perhaps.
bool has_reductions(const FunctionGraph& graph);

/// On a node's inputs, which are array parameters but for scalar constants.
KernelSpec lower(const KernelOp& op, const Apply& node);

/// Of a graph of KernelOps over one space: its inputs are the kernel's, its outputs the stores; scalar constants become literals.
KernelSpec lower(const FunctionGraph& graph);

/// Those readings of numbers in the graph that lower makes arguments of its kernel, in the order of KernelSpec::numbers.
std::vector<Use> number_arguments(const FunctionGraph& graph);

/// For each parameter of the spec that lower made of this node, which of the node's inputs it is.
std::vector<int> array_inputs(const Apply& node);

}  // namespace damo
