// Orders of nodes where any will do that has inputs before users. A graph as it was built, and one to which a pass has only added sinks, is
// numbered so: then nothing needs to be sorted.
#pragma once
#include <vector>

#include <damo/graph.hpp>

namespace damo {

bool is_numbered_in_order(const FunctionGraph& graph);
/// By number where that is an order, else FunctionGraph::toposort().
std::vector<NodeId> some_order(const FunctionGraph& graph);

}  // namespace damo
