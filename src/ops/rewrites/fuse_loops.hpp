// fuse_loops: loops whose steps are elementwise run as one kernel with the loop inside, instead of a step's kernels at each step
// (ops/loop/loop_kernel.hpp has the condition). What steps hand on then stays in registers, rows that nothing reads are not written, and no
// launch stands between two steps. Linear in the graph.
// See tests/loop/loop_kernel_test.cpp.
#pragma once
#include <damo/graph.hpp>
#include <damo/options.hpp>

namespace damo {

FunctionGraph fuse_loops(FunctionGraph graph, const FusionLimits& limits);

}  // namespace damo
