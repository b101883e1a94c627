// Pictures of a graph: as a text tree, for Graphviz, and as a drawing that needs no other program.
//
//   std::cout << debugprint(y);                      // what the user wrote
//   std::cout << debugprint(f.graph());              // as it runs: after rewrites and fusion
//   std::ofstream("graph.svg") << to_svg(f.graph());
//
//   tanh [id A] float32 (?, ?) 'z'
//    └─ add [id B] float32 (?, ?)
//       ├─ x [id C] float32 (?, ?)
//       └─ mul [id D] float32 (?, ?)
//          ├─ 1.5 [id E] float32 ()
//          └─ x [id C] float32 (?, ?)
//
// A node that was shown before is named by its id and closed with "···". The graphs inside fused ops follow, each once.
// An output of a node with several is marked by its number: "fused.1". Every walk is iterative: a chain of 1,000,000
// nodes is fine. Nothing here changes a graph. See tests/graph/print_test.cpp.
#pragma once
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>

#include <damo/graph.hpp>

namespace damo {

struct PrintOptions {
  std::size_t lines = 1000;   ///< at most this many lines of nodes, then "... N more nodes"
  int depth = 60;             ///< nodes deeper below the outputs are not shown; their readers end with "..."
  bool source_lines = false;  ///< add where each node was built: "(model.cpp:12)"
  bool inner_graphs = true;   ///< list what fused ops stand for
};

/// A tree from the outputs down to the inputs, as Theano's debugprint. Throws GraphError for an empty Variable.
std::string debugprint(const FunctionGraph& graph, const PrintOptions& options = {});
std::string debugprint(std::span<const Variable> outputs, const PrintOptions& options = {});
inline std::string debugprint(std::initializer_list<Variable> outputs, const PrintOptions& options = {}) {
  return debugprint(std::span(outputs.begin(), outputs.size()), options);
}
inline std::string debugprint(const Variable& output, const PrintOptions& options = {}) {
  return debugprint(std::span(&output, 1), options);
}

/// The graph in Graphviz's language, through Boost.Graph: dot -Tsvg draws it. Fused ops are clusters with their inner
/// nodes; edges carry dtype and shape.
std::string to_dot(const FunctionGraph& graph);
std::string to_dot(std::span<const Variable> outputs);
inline std::string to_dot(std::initializer_list<Variable> outputs) {
  return to_dot(std::span(outputs.begin(), outputs.size()));
}
inline std::string to_dot(const Variable& output) { return to_dot(std::span(&output, 1)); }

/// A drawing by Damo itself: layers from inputs to outputs, fused ops as boxes with their ops inside, dtype and shape
/// on edges, a tooltip on each node (op, types, the line that built it). Scalar constants stand inside the ops that
/// read them. It suits light and dark pages. Of a graph with more than node_limit nodes only the first and last are
/// drawn, and the drawing says so.
std::string to_svg(const FunctionGraph& graph, int node_limit = 300);
std::string to_svg(std::span<const Variable> outputs, int node_limit = 300);
inline std::string to_svg(std::initializer_list<Variable> outputs, int node_limit = 300) {
  return to_svg(std::span(outputs.begin(), outputs.size()), node_limit);
}
inline std::string to_svg(const Variable& output, int node_limit = 300) {
  return to_svg(std::span(&output, 1), node_limit);
}

}  // namespace damo
