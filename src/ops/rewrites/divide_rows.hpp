// divide_rows: rows that are reduced, and of which equal parts go different ways, are computed part by part beside each other, over a space of the parts' extent:
//
//   n = x * r(mean(sqr(x), 1)); n[:, :64] * c - n[:, 64:] * s     becomes work on a = x[:, :64] and b = x[:, 64:], with r(mean(sqr(a) + sqr(b), 1) / 2)
//   norm(concatenate({a, b}, 1))                                  becomes concatenate({.. a .., .. b ..}, 1), likewise
//
// So a norm whose halves are turned into each other, as queries and keys are, and gates of a norm are one kernel that reads each element once; as a whole the rows would be written for the views that look at their parts,
// or for the parts to be put together. divide_among_parts (divide_among_parts.hpp) does the same where nothing is reduced.
//
// A space: the values of one shape that elementwise work and reductions along the divided axis connect, by way of what rows have in common too. All of its work moves; what somebody else needs as a whole is put together of its parts.
// Condition:
//   - the axis' extent is known, and a common divisor of where parts begin gives kMostPartsOfRows of them at most, of kLeastRun bytes of neighbours each at least
//   - elementwise work reads a part of what the space computes, and no stretch of several parts; or a part of an array beside values of its rows; or what is put together is reduced, and concatenate has nothing else to do
//   - arrays that are cut lie in memory: they are inputs, views, or made by ops that are no generated kernels and that no kernel would take in (fuse_takes, fuse_pads)
//   - along the axis there are only sums, means of floats, greatest and least values, any and all; a row has kMostOfARow elements at most, since longer ones are read once in forms that a kernel is
//     told by (moments.hpp, exponential_sums.hpp); of greatest and least values all reduced extents are known, so that no error is lost
//   - reductions along other axes alone, as the gradient by a weight, are divided too where they may be in the rows' kernel (fusion_reductions.hpp); others read what is put together
// Values are exact but for sums and means, which are joined in another order (in pairs of parts first, in the dtype that sums have), and of means by a division more.
//
// Near-linear in the graph, since a value of a space that stays whole is looked at once for each axis; one that is divided has kMostMoved nodes at most. See tests/ops/rewrites/divide_rows_test.cpp.
#pragma once
#include <damo/graph.hpp>

namespace damo {

FunctionGraph divide_rows(FunctionGraph graph);

}  // namespace damo
