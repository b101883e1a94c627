// The order in which a graph's nodes run.
#pragma once
#include <vector>

#include <damo/graph.hpp>

namespace damo {

/// A topological order in which a node that overwrites a value (Op::overwrites), or gives a shared variable its new value,
/// waits, where it can, for the value's other readers: then the value need not be copied. One that gives a shared variable its new value waits for nodes that may refuse what
/// they are given (Op::may_refuse), too, for it may write over the old value. Graphs without such nodes keep FunctionGraph::toposort(). Costs the readers of each overwritten value beside the sort.
std::vector<NodeId> execution_order(const FunctionGraph& graph);

}  // namespace damo
