// sink_branches: what only one branch of an ifelse needs goes into the branch, so that it is computed only where that branch is taken. What something
// else needs too stays outside, and so do inputs, shared variables and updates. Branches within branches follow when the inner graphs are rewritten.
// Linear in the graph for each ifelse. See tests/loop/ifelse_test.cpp.
#pragma once
#include <damo/graph.hpp>

namespace damo {

FunctionGraph sink_branches(FunctionGraph graph);

}  // namespace damo
