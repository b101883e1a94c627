// pass_contiguous: contiguous(x) is x where a kernel, or concatenate, has written x: in C order, into memory of its own. A node that passes its input on costs nothing within a graph, but
// what leaves the function has memory of its own, into which it would copy. Behind the other rewrites, as they may yet put a view in the place of what makes x. Exact.
//
// Where a generated kernel has written x and the node looks at its axes in another order, as heads of attention behind a norm, it becomes a concatenation of that alone: the kernel then writes each element
// where it is to lie (runtime/exec/parts_plan.hpp), and nothing is left to copy. So is what concatenate puts together of kernels' results, part by part. Only where DimShuffleOp::keeps_runs: pieces of few bytes, which a kernel of rows would write one by
// one, a copy by tiles moves sooner.
//
// A reshape of contiguous(view) that only takes axes apart, as for groups of the columns of a slice, is a view of any array (take_apart_op.hpp): where kernels alone read it, nothing is copied.
// Sums over several of its axes are joined as these lie in memory, so their last bits may be others than a copy's.
//
// See tests/ops/rewrites/pass_contiguous_test.cpp.
#pragma once
#include <damo/graph.hpp>

namespace damo {

FunctionGraph pass_contiguous(FunctionGraph graph);

}  // namespace damo
