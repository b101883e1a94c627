// fuse_elementwise: groups elementwise nodes, and reductions among them, into FusedOps. Every group is convex, so the graph
// stays acyclic:
//
//   1. Each node gets a level. An edge keeps the level if both ends may share a kernel and raises it otherwise. So a
//      path that leaves a group and comes back would have to end on a higher level than it began.
//   2. Nodes of one level that an edge joins, that read the same value over the same iteration space, or whose values concatenate puts between each other (woven_parts.hpp), form a group.
//   3. A node whose readers are all on one higher level moves up to them, which saves writing and reading its value.
//   4. Groups and reductions over one space become one group (fusion_reductions.hpp); it is left whole, or the reductions
//      stay kernels of their own.
//   5. The steps of other groups are put in an order that holds few values at once (fusion_order.hpp). A group that one kernel could not
//      carry without loss is cut into runs of that order, where the fewest bytes cross (fusion_cut.hpp).
//   6. What kernels make again at less cost than they read it is copied to each of them, and the kernels are planned anew (fusion_repeats.hpp).
//
// Linear in the graph. Shapes that broadcast share a kernel only if the smaller side is cheap to compute again. The
// pass wrapper verifies the result with Boost.Graph; tests/ops/rewrites/fusion_test.cpp checks convexity by reachability.
#pragma once
#include <damo/graph.hpp>
#include <damo/options.hpp>
#include "ops/rewrites/fusion_record.hpp"

namespace damo {

/// record: where the reasons go for which kernels side by side are two.
FunctionGraph fuse_elementwise(FunctionGraph graph, const FusionLimits& limits, FusionRecord* record = nullptr);

}  // namespace damo
