// unfuse: the nodes that fused and joined kernels stand for, in their place; fuse_elementwise may then group them otherwise.
#pragma once
#include <damo/graph.hpp>

namespace damo {

/// Linear in the graph.
FunctionGraph unfuse(FunctionGraph graph);

}  // namespace damo
