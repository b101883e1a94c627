// Woven parts: what concatenate puts together in runs of less than a sector of memory, as stack along the last axis does. A part that is written alone leaves each sector half full, and whoever writes the next one
// moves all sectors again. So parts of one type that elementwise work makes are in one group (fusion_groups.hpp), as far as nothing that one waits for keeps them apart, and what concatenate would copy is such work too: identity(x).
//
// Condition: extents are known, and parts are few. What is written where it lies by a kernel, or by another op that writes windows, stays. Exact. See tests/ops/rewrites/woven_parts_test.cpp.
#pragma once
#include <damo/graph.hpp>

namespace damo {

/// Whether the node is a concatenate of woven parts, all of one type.
bool is_woven(const FunctionGraph& graph, NodeId node);
/// The node that makes a part, perhaps behind a view that only turns axes; kNone of a leaf.
NodeId maker_of_part(const FunctionGraph& graph, ValueId part);
/// Copies of woven parts become elementwise work.
void copy_woven_parts(FunctionGraph& graph);

}  // namespace damo
