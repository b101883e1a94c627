// Values that a kernel makes again rather than read: masks of places, as a causal one, which one kernel made and left in memory for the others that read it, as a softmax leaves it for its gradient behind a product.
//
// A value is free if
//   - each array that it follows from has fewer elements, an eighth or less as far as extents are known, or gives its shape alone (index_along)
//   - these are in memory whoever makes the value: inputs, shared variables, or results of nodes that no fused kernel has
//   - making it takes kFreeCost instructions or less, which a kernel that waits for memory has to spare for a byte that it does not read and another kernel does not write
//
// Each node of another kernel that reads it, in its own shape, gets copies of the nodes that make it: one reader may then move to wherever its other inputs are. The kernels are then planned anew, so that nothing is said here of which nodes may share one; no path of the graph is a new
// one, as what a free value follows from came before its readers already. Values are the same: each copy computes what the node did. See tests/ops/rewrites/fusion_repeats_test.cpp.
#pragma once
#include <span>

#include <damo/graph.hpp>

namespace damo {

inline constexpr int kFreeCost = 6;

/// kernel_of: the planned kernel of a node, which is an elementwise op or a reduction; -1 of all others. Whether any were copied.
bool repeat_free_values(FunctionGraph& graph, std::span<const int> kernel_of);

}  // namespace damo
