// forward_shapes: what is read for its shape alone is not computed. `second(x, 0)`, the count of a mean, index_along and reshape_like read no
// element of their first (reshape_like: second) operand; gradients are full of them. Four steps, linear in the graph:
//
//   1. A fill, `second(x, a)`, goes behind elementwise functions of it: f(second(x, a)) is second(x, f(a)). And it becomes its value a where the other
//      operands of its reader have the fill's shape anyway: so the gradient of mean(cross_entropy) by logits reads no loss.
//   2. A count is the size of an input, or of what lies in memory in any case, that has the counted extents: a number that the host knows when shapes are bound, and kernels get
//      among their arguments (size_op.hpp). So a mean's gradient, and each step of training, waits for no kernel that counts.
//   3. A value that is needed for its shape alone gives way to one of the same shape that is an input, or is computed in any case.
//   4. What else is counted, as the axes of a product of which each operand has one, gives way to the value of the same shape that is there first, even where it is computed in
//      any case: a count then waits for less.
//
// Conditions. All steps: both shapes are equal by the types, by extents that both take from one value, or because nodes that stay check it
// (SymbolicShapes): an error of shapes at a call stays an error. Step 1 takes f of one output whose other operands are constants of rank 0, and keeps
// the dtype and the rank: a, the fill and f's result have one dtype, so that f computes on a what it computed on each element, rounded as there. A fill also
// gives its axes, one of which may have a single element: its value takes its place only beside an operand of its rank. Step 2 takes a count whose kept axes have extent 1, or that
// is read beside an operand which is known to have their extents; views of what a kernel makes are no sources, as rules may yet turn the two round. Step 4 changes the
// operand of a count alone, which depends on the extents and no element; the value of another dtype is cast, which no element is computed for; what follows
// from the counted value has a greater depth than what takes its place, so no cycle arises. tests/ops/rewrites/forward_shapes_test.cpp.
#pragma once
#include <damo/graph.hpp>

namespace damo {

FunctionGraph forward_shapes(FunctionGraph graph);

}  // namespace damo
