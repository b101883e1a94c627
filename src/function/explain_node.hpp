// What explain() says of one node of a Function's graph.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include <damo/graph.hpp>
#include <damo/options.hpp>
#include "ops/rewrites/fusion_record.hpp"
#include "runtime/exec/program.hpp"

namespace damo {

/// The page's numbers of nodes, from 1.
using NodeNumbers = std::unordered_map<NodeId, std::size_t>;

inline constexpr std::size_t kMostFormulas = 8;  ///< more make nobody wiser

/// A fused op's formulas, one for each output and each value that is used twice: "z = tanh(t1) * v2". v2: what node 2
/// computes, v2.1: its second output. At most `limit`, then "... 12 more". Empty for other ops.
std::vector<std::string> formulas_of(const FunctionGraph& graph, NodeId node, const NodeNumbers& numbers,
                                     std::size_t limit);

/// Where the node's ops were written: "model.cpp:12, 14, 15".
std::string lines_of(const FunctionGraph& graph, NodeId node);

/// What the node reads of its input: of one from which its kernel takes slices itself these, of one that it reads amid a frame what a pad would give, else the input.
const TensorType& type_read(const FunctionGraph& graph, NodeId node, std::size_t input);

/// "12 bytes an element", and how many inputs are broadcast, as far as types tell.
std::string traffic_of(const FunctionGraph& graph, NodeId node);

/// "overwrites total in place", or "copies total first: it is an input of the function", for each such output; of a shared variable
/// that is updated where it lies neither.
std::vector<std::string> overwrites_of(const FunctionGraph& graph, NodeId node, const NodeNumbers& numbers, const Program& program,
                                       const ProgramNode& planned);

/// Why the node's neighbours are no part of its kernel, as the fuser wrote it down: "feeds 2 dimshuffle: not elementwise: a view", "gives result 0".
/// Empty for ops that never fuse.
std::vector<std::string> borders_of(const FunctionGraph& graph, NodeId node, const NodeNumbers& numbers, const Options& options, const FusionRecord& record);

/// Instructions an element, by the rows' costs; 0 for ops that are not elementwise.
int cost_of(const FunctionGraph& graph, NodeId node);

}  // namespace damo
