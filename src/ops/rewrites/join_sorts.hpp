// join_sorts: a `sort` and an `argsort` of the same value in the same direction, as a function with the gradient of a sort has them, are one node, which
// gives elements and places: the order is found once, and nothing is taken by position. Exact: SortOp has the elements as they come at argsort's places. Where only one of them is read it stays
// what it is, since elements alone cost half of an order. Linear in the graph. See tests/ops/rewrites/join_sorts_test.cpp.
#pragma once
#include <damo/graph.hpp>

namespace damo {

FunctionGraph join_sorts(FunctionGraph graph);

}  // namespace damo
