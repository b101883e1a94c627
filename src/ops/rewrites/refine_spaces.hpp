// refine_spaces: elementwise work and reductions that a reshape parts are computed over one space, whose axes are the finest of theirs, so that one kernel may hold them: a
// norm over groups of channels, whose weights have an axis of channels.
//
//   mean(reshape(x, {n, 32, 8 * 64}), 2) ... reshape(_, {n, 256, 64}) * w       becomes work over (n, 32, 8, 64): w is seen as (32, 8, 1), the mean goes over axes 2 and 3
//
// So is work behind a reshape that would copy what a dimshuffle looks at, as patches or heads put in order: its nodes read the view.
//
//   reshape(dimshuffle(x, {0, 2, 1, 3}), {n, 256}) * w                            becomes work over (n, 8, 4, 8): x is looked at as dimshuffle has it, w as (8, 4, 8)
//
// Of a view that repeats elements, as `repeat` has one, elementwise work alone is done so.
//
// A reduction of a value that the space's nodes read, as the gradient by a bias, is over that space too, and may then be in their kernel.
//
// Condition: the reshapes only put neighbouring axes together or take one apart, so that the ends of all axes, counted in elements from the last axis, divide one another; extents are
// known but for the first axis, which then is the rest of both shapes behind as many elements, so that no error of the reshape's is lost, and all of a space's values say so, so that none of theirs is; there is a reduction among the nodes (without one lift_reshape moves the reshape away) or such a view, which
// nodes of one space alone read, all of its elements, and which keeps_runs where they reduce; every reduction is Damo's own, and every other node an elementwise
// row, a dropout, whose draws follow from the number of an element, or a place along axes, of which operands of another rank than the space's are seen through a view. Nothing is copied for it: taking axes apart is a view of any array, and putting together a view of what a
// kernel wrote. Exact: each element is computed of the same elements, and joined in the same order; but sums over several axes of a view
// are joined as these lie in memory, so their last bits may be others than a copy's.
//
// Linear in the graph. See tests/ops/rewrites/refine_spaces_test.cpp.
#pragma once
#include <damo/graph.hpp>

namespace damo {

FunctionGraph refine_spaces(FunctionGraph graph);

}  // namespace damo
