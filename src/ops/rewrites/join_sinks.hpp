// join_sinks: like kernels that nothing in the graph waits for become one launch (JoinedOp): the steps of an optimizer over its
// tensors. A sink is an elementwise node whose outputs are results or new values of shared variables alone, so no sink
// waits for another; one that reads a shared variable which another node updates is left out. Like ones have kernels of one text (have_one_text): sizes, addresses and numbers may differ.
//
// It never computes anything else, or in another order within an element. What it costs: the joined kernel runs when
// all of its inputs are there, so they are held together. Groups of less than four are not worth that. Runs after fuse_elementwise; linear in the graph.
// See tests/ops/rewrites/join_sinks_test.cpp.
#pragma once
#include <damo/graph.hpp>

namespace damo {

FunctionGraph join_sinks(FunctionGraph graph);

}  // namespace damo
