// Putting one FusedOp in the place of the members of a kernel.
#pragma once
#include <vector>

#include <damo/graph.hpp>

namespace damo {

/// members: in the order in which the kernel runs them. Their uses from outside read the new node; they themselves are left
/// for prune().
void replace_by_fused(FunctionGraph& graph, const std::vector<NodeId>& members);

}  // namespace damo
