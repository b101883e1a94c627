// lower: elementwise nodes -> KernelSpec. Names no target.
#pragma once
#include <damo/graph.hpp>
#include "ops/elementwise_op.hpp"
#include "runtime/kernel/spec.hpp"

namespace damo {

/// Whether a constant is a number in a kernel's text or arguments rather than an array.
inline bool is_literal(const ConstantPtr& constant) { return constant && constant->is_scalar(); }

/// Of one node: its inputs are array parameters, scalar constants literals.
KernelSpec lower(const ElementwiseOp& op, const Apply& node);

/// Of a graph of ElementwiseOps: its inputs are the kernel's, its outputs the stores; scalar constants become literals.
KernelSpec lower(const FunctionGraph& graph);

/// The kernel of one of the graph's outputs alone. inputs: for each array that it reads, which of the graph's inputs.
struct OutputSpec {
  KernelSpec spec;
  std::vector<int> inputs;
};
OutputSpec lower_output(const FunctionGraph& graph, int output);

/// For each parameter of the spec that lower made of this node, which of the node's inputs it is.
std::vector<int> array_inputs(const Apply& node);

}  // namespace damo
