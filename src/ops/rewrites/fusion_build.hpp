// Putting one FusedOp in the place of the members of a kernel.
#pragma once
#include <vector>

#include <damo/graph.hpp>

namespace damo {

/// Gives the new node. members: in the order in which the kernel runs them. Their uses from outside read it; they themselves are left
/// for prune().
NodeId replace_by_fused(FunctionGraph& graph, const std::vector<NodeId>& members);

}  // namespace damo
