// pass_contiguous: contiguous(x) is x where a kernel, or concatenate, has written x: in C order, into memory of its own. A node that passes its input on costs nothing within a graph, but
// what leaves the function has memory of its own, into which it would copy. Behind the other rewrites, as they may yet put a view in the place of what makes x. Exact.
// See tests/ops/rewrites/pass_contiguous_test.cpp.
#pragma once
#include <damo/graph.hpp>

namespace damo {

FunctionGraph pass_contiguous(FunctionGraph graph);

}  // namespace damo
