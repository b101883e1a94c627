// What explain() says of one node of a Function's graph.
#pragma once
#include <string>
#include <vector>

#include <damo/graph.hpp>
#include <damo/options.hpp>

namespace damo {

/// A fused op's formulas, one for each output and each value that is used twice: "z = tanh(t1) * x". At most `limit`,
/// then "... 12 more". Empty for other ops.
std::vector<std::string> formulas_of(const FunctionGraph& graph, NodeId node, std::size_t limit);

/// Where the node's ops were written: "model.cpp:12, 14, 15".
std::string lines_of(const FunctionGraph& graph, NodeId node);

/// "12 bytes an element", and how many inputs are broadcast, as far as types tell.
std::string traffic_of(const FunctionGraph& graph, NodeId node);

/// Why the node's neighbours are no part of its kernel: "feeds dimshuffle: not elementwise". Empty for ops that never
/// fuse.
std::vector<std::string> borders_of(const FunctionGraph& graph, NodeId node, const Options& options);

}  // namespace damo
