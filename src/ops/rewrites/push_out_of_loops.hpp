// push_out_of_loops: what a loop need not do step by step is done once for all steps.
//
//   before the loop   A product of what follows from sequences and from values that all steps share becomes one product over all steps, whose rows the
//                     loop reads: dot(x_t, w) for every t is one dot of (steps, ...). What the product reads goes with it, and so does an elementwise
//                     op that alone reads it and gives values of its extents. In a gradient's loop the states of the loop before are sequences too.
//   behind the loop   A sum over steps of products is one product that sums over the steps too (the gradient of a weight that all steps share), a sum over steps of
//                     sums is a sum. An output that no step reads and that comes from a product (dot(h_t, v)) is computed of all rows at once.
//
// Condition: the number of steps follows from extents or is known when the graph is built, all of them are made (no `until`, no truncated gradient), and the
// ops are elementwise, dimshuffle, subtensor and contraction, whose value at one step depends on that step's rows alone: a leading axis changes none of its elements. An output
// that goes has one row a step: one that is as long as a sequence, of which a given number of steps may leave rows unread, stays. Rows
// that a product gives are the same products; a sum over steps is rounded as that of a longer product.
//
// Memory: rows of all steps. Before the loop: where a row of the product has at most kMostGrowth times the elements of the rows that it is made of, which are
// all in memory as well. Behind: of a sum where the rows that must be kept for it, and are not there yet, have together no more elements than the sum itself, which
// each step would read and write; of an output where they have at most kMostGrowth times as many as its own. An extent that is not known counts as 1. Linear in the
// loops' steps. See tests/loop/push_out_test.cpp.
#pragma once
#include <damo/graph.hpp>

namespace damo {

FunctionGraph push_out_of_loops(FunctionGraph graph);

}  // namespace damo
