// The passes of function(), in their order: for its graph, and for the graphs within it (InnerGraphOp), without the user's own passes.
#pragma once
#include <vector>

#include <damo/options.hpp>

namespace damo {

FunctionGraph rewrite_graph(FunctionGraph graph, const Options& options, Device device, std::vector<PassReport>* reports = nullptr);

}  // namespace damo
