// Values that a kernel makes again rather than read: masks of places, as a causal one, which one kernel made and left in memory for the others that read it, as a softmax leaves it for its gradient behind a product; and
// what follows from one array in a few instructions, as scaled scores, in whose place a reader reads that array.
//
// A value is free if making it takes kFreeCost instructions or less, which a kernel that waits for memory has to spare for a byte that it does not read and another kernel does not write, and each array that it follows
// from is in memory whoever makes the value: an input, a shared variable, or a result of a node that no fused kernel has; or has few elements that a kernel makes, as a row's mean or logsumexp, beside an array of the
// second kind below: these are then written in the value's place. Of these arrays
//   - each gives its shape alone (index_along), or has fewer elements, an eighth or less as far as extents are known
//   - but for one, which has the value's extents and elements that are no larger. Then all readers make the value again, else it is written all the same, and the array is no view, which may lie
//     across the value, nor a shared variable, whose new value would have to wait for them, nor what a take gives, which is best read once
//
// Each node of another kernel that reads it, in its own shape, gets copies of the nodes that make it: one reader may then move to wherever its other inputs are. The kernels are then planned anew, so that nothing is said
// here of which nodes may share one; no path of the graph is a new one, as what a free value follows from came before its readers already. Each copy computes what the node did. What a kernel
// makes is rounded otherwise than what it reads, as within any kernel: 16-bit floats are not rounded where they are not stored, and a product may be part of a fused multiply-add (Options::fp_contract). See tests/ops/rewrites/fusion_repeats_test.cpp, tests/function/repeated_masks_test.cpp.
#pragma once
#include <span>

#include <damo/graph.hpp>

namespace damo {

inline constexpr int kFreeCost = 6;

/// kernel_of: the planned kernel of a node, which is an elementwise op or a reduction; -1 of all others. Whether any were copied.
bool repeat_free_values(FunctionGraph& graph, std::span<const int> kernel_of);

}  // namespace damo
