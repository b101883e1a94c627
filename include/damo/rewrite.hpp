// Pass: a named function from FunctionGraph to FunctionGraph. run_passes() gives each its switch, time, verification.
// A user's own passes go in Options::passes. See tests/graph/rewrite/pass_test.cpp.
//
//   Pass drop_double_negation{"drop_double_negation", [](FunctionGraph graph) { ...graph.replace(...); return graph; }};
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <damo/graph.hpp>

namespace damo {

struct Pass {
  std::string name;  ///< a verb; DAMO_DISABLE=name,name2 switches passes off
  std::function<FunctionGraph(FunctionGraph)> run;
};

struct PassReport {
  std::string name;
  bool ran = true;
  double milliseconds = 0;
  int nodes_before = 0, nodes_after = 0;
};

/// In order. After each pass the graph must be acyclic and have inputs and outputs of the same dtypes and ranks; else
/// GraphError or TypeError naming the pass.
FunctionGraph run_passes(FunctionGraph graph, std::span<const Pass> passes, std::vector<PassReport>* reports = nullptr);

/// The outputs with each given Variable replaced by its value, all at once: values are taken as they are written, what they
/// read is not replaced. Nodes that depend on a replaced Variable are built anew, by their ops' make_node; the user's graph stays. Linear
/// in the graph. Throws TypeError or ShapeError for a value of another dtype, rank or known extent, GraphError for a Variable
/// that is given twice or, unless allow_unused, that no output reads.
std::vector<Variable> substitute(std::span<const Variable> outputs, std::span<const Assignment> givens, bool allow_unused = false);

/// Nodes with equal ops on the same inputs become one, equal constants too. Linear in the graph.
FunctionGraph merge_duplicates(FunctionGraph graph);

}  // namespace damo
