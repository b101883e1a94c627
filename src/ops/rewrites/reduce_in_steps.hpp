// reduce_in_steps: a reduction over some axes of a row and some across rows, beside a group of rows over the same space, is done in two steps, so that the first is in the group's kernel
// (fusion_reductions.hpp) and the second has little left.
//
//   rows along axis 2, and sum(y, {0, 2})          becomes sum(sum(y, 2), 0)             the gradient by the weight of a channel that is normed alone
//   rows along axes 2 to 4, and sum(y, {0, 3, 4})  becomes sum(sum(y, 0), {3, 4})        the same of groups of channels
//   sum(x, 1) and max(x)                           becomes max(max(x, 1), 0)
//
// The rows are those whose values elements are made of again (a mean that is subtracted), if these are along the same axes throughout the space's connected nodes; where there are none, those along the
// fewest axes with the last among them. Where such values are along several axes, as the means of rows and of columns of a matrix that is centred, the first step is another reduction of the value that is there, if its axes are among
// those of the reduction: of mean(x, 0), mean(x, 1) and mean(x) the last is a mean of one of the others.
//
// Condition:
//   - the reduction is a `sum`, `mean`, `max`, `min`, `any` or `all`; of `max` and `min` all extents are known
//   - it has no NeededRows
//   - a `sum` or `mean` is neither of 16 bits nor of less, since what the first step gives would be rounded to these
//   - the first step joins kFewestJoined elements at least, as far as extents are known
// Values are exact but for sums and means, which are joined in another order, and means, which are rounded once more.
//
// Near-linear in the graph. See tests/ops/rewrites/reduce_in_steps_test.cpp.
#pragma once
#include <damo/graph.hpp>

namespace damo {

FunctionGraph reduce_in_steps(FunctionGraph graph);

}  // namespace damo
