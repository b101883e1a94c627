// Makes a graph that fails smaller for as long as it fails.
#pragma once
#include <functional>

#include "graph_spec.hpp"

namespace damo::testing {

/// fails: whether a graph still shows the fault. Asked at most `budget` times.
GraphSpec shrunk(GraphSpec graph, const std::function<bool(const GraphSpec&)>& fails, int budget = 400);

}  // namespace damo::testing
