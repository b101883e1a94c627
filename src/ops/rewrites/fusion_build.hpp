// Cutting a fusion group to size, and putting one FusedOp in its place.
#pragma once
#include <vector>

#include <damo/graph.hpp>
#include <damo/options.hpp>

namespace damo {

/// members in topological order -> runs of it within the limits.
std::vector<std::vector<NodeId>> split_group(const FunctionGraph& graph, const std::vector<NodeId>& members, const FusionLimits& limits);

/// The members' uses from outside read the new node; the members are left for prune().
void replace_by_fused(FunctionGraph& graph, const std::vector<NodeId>& members);

}  // namespace damo
