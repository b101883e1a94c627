// Orders of nodes where any will do that has inputs before users. A graph as it was built, and one to which a pass has only added sinks, is
// numbered so: then nothing needs to be sorted.
#pragma once
#include <span>
#include <unordered_set>
#include <vector>

#include <damo/graph.hpp>
#include <damo/op.hpp>

namespace damo {

bool is_numbered_in_order(const FunctionGraph& graph);
/// By number where that is an order, else FunctionGraph::toposort().
std::vector<NodeId> some_order(const FunctionGraph& graph);

/// Of a graph as the user builds it: the nodes that the outputs need, inputs before users; the walk ends at Variables whose ids are in ends.
std::vector<Apply> needed_nodes(std::span<const Variable> outputs, const std::unordered_set<std::size_t>& ends = {});

}  // namespace damo
