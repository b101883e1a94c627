// fuse_takes: kernels find slices that they read where positions say, instead of reading a copy of them: what take() of rows begins, as embeddings do, is read once from the table. A TakeOp whose
// readers all find its slices goes away; a reader becomes a FusedOp with the table and the positions among its inputs (FusedOp::takes).
//
// Condition, of a take:
//   - its slices are longer than one element and, as far as that is known, no shorter than a kernel finds (kLeastSliceBytes of runtime/kernel/taken.hpp);
//   - it is read by kernels alone: elementwise ones, those that reduce the last axis and none of the positions', and those that reduce others than the last, as the sums over bags of an embedding do; without scans, and not
//     for its shape. Else it would be copied all the same;
//   - it is read by one of them. Or by several, each of which finds the slices again, none of them reducing others than the last axis: that reads no more than reading the copy again, and spares its writing. Then none of them may be one that will want a
//     copy of its own, so rows are known to have from 32 to 8192 elements; and what is taken from is no temporary, which would have to live until the last of them has run.
// Values are those of the ops. The kernel of a call for whose arrays finding slices does not serve gets a copy, made by the op's own kernel (ops/kernel_thunk.cpp): then nothing is won or lost.
// Positions are checked_positions still, whose op finds those that are not on the axis. Behind fuse_elementwise, as its groups do not follow from this; linear in the graph.
// Tests: tests/ops/rewrites/fuse_takes_test.cpp, tests/function/take_fusion_test.cpp.
#pragma once
#include <damo/graph.hpp>
#include <damo/options.hpp>
#include "ops/rewrites/fusion_record.hpp"

namespace damo {

/// record: what it says of nodes that become others is said of these.
FunctionGraph fuse_takes(FunctionGraph graph, const FusionLimits& limits, FusionRecord* record = nullptr);

}  // namespace damo
