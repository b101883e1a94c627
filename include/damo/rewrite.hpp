// Pass: a named function from FunctionGraph to FunctionGraph. run_passes() gives each its switch, time, verification.
// A user's own passes go in Options::passes. See tests/graph/rewrite/pass_test.cpp.
//
//   Pass drop_double_negation{"drop_double_negation", [](FunctionGraph graph) { ...graph.replace(...); return graph; }};
//
// Rule: a rewrite of one node, of a few lines; a pass may be a list of them. It looks at a node and what computes its inputs, and
// says in plain ops what stands in its place. See docs/rewrites.md for Damo's own and tests/graph/rewrite/rule_test.cpp.
//
//   Rule drop_abs{.name = "drop_abs_of_exp", .ops = {op_of("abs")}, .rewrite = [](Site& site) {
//     return site.made_by(site.input(0), *op_of("exp")) ? site.operand(site.input(0)) : Variable();
//   }};
//   Options{.passes = {{.name = "mine", .rules = {drop_abs}}}}
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <damo/graph.hpp>

namespace damo {

/// The node that a rule is asked about, and what is around it.
class Site {
 public:
  class Build;  // src/graph/rewrite/rules.cpp
  Site(const FunctionGraph& graph, NodeId node, Build& build) : graph_(graph), node_(node), build_(build) {}

  const FunctionGraph& graph() const { return graph_; }
  NodeId node() const { return node_; }
  const Op& op() const { return graph_.op(node_); }
  ValueId input(int i) const { return graph_.inputs(node_)[static_cast<std::size_t>(i)]; }
  std::span<const ValueId> inputs() const { return graph_.inputs(node_); }
  ValueId output() const { return graph_.outputs(node_)[0]; }
  const TensorType& type(ValueId value) const { return graph_.type(value); }

  /// Whether that very op computes the value: Damo's rows are one op each (elementwise.hpp).
  bool made_by(ValueId value, const Op& op) const {
    const NodeId owner = graph_.owner(value);
    return owner != NodeId::kNone && &graph_.op(owner) == &op;
  }
  /// The op that computes the value if it is a T, else null.
  template <class T>
  const T* made_by(ValueId value) const {
    const NodeId owner = graph_.owner(value);
    return owner == NodeId::kNone ? nullptr : dynamic_cast<const T*>(&graph_.op(owner));
  }
  /// Of the node that computes the value.
  ValueId input_of(ValueId value, int i = 0) const { return graph_.inputs(graph_.owner(value))[static_cast<std::size_t>(i)]; }
  /// The value of a constant of rank 0; null for all others.
  const ConstantData* number(ValueId value) const {
    return graph_.is_literal(value) ? graph_.constant(value).get() : nullptr;
  }
  /// How often the value is read, by nodes that are still needed and by the graph's outputs.
  int readings(ValueId value) const;
  /// Whether every reader that is still needed is a node for which holds() is true; false for one of the graph's outputs.
  bool all_readers(ValueId value, const std::function<bool(NodeId)>& holds) const;

  /// The value in what the rule builds.
  Variable operand(ValueId value);

 private:
  const FunctionGraph& graph_;
  NodeId node_;
  Build& build_;
};

struct Rule {
  std::string name;            ///< DAMO_DISABLE and Options::disable take it
  std::vector<OpPtr> ops = {};  ///< it is asked about nodes of these very ops,
  std::function<bool(const Op&)> takes = {};  ///< and of ops for which this is true; asked once an op
  /// Where it is given, of those nodes alone of which some input is computed by an op for which this is true; asked once an op.
  std::function<bool(const Op&)> reads = {};
  /// What stands in the node's place, a node of one output: ops on operands of the site. Empty: the rule does not apply. The dtype and
  /// rank must be the node's, and an extent known where the node's is. Must not make anew what it matched.
  std::function<Variable(Site&)> rewrite;
};

struct RuleReport {
  std::string name;
  int asked = 0, applied = 0;
  double milliseconds = 0;  ///< about: every 16th question is timed
};

/// Asks each rule about each node, in topological order, and about new nodes, and readers of what changed, again; no other node twice. The first rule
/// that applies wins. Linear in the graph where rules look at a bounded number of nodes; ends, with a warning, when the rules have added
/// four times the graph's nodes and 1,000. What nothing reads any more is removed and duplicates are merged. Throws TypeError for a
/// rule that gives another type.
FunctionGraph apply_rules(FunctionGraph graph, std::span<const Rule> rules, std::span<const std::string> disabled = {}, std::vector<RuleReport>* reports = nullptr);

struct Pass {
  std::string name;  ///< a verb; DAMO_DISABLE=name,name2 switches passes off
  std::function<FunctionGraph(FunctionGraph)> run = {};
  std::vector<Rule> rules = {};  ///< instead of run
};

struct PassReport {
  std::string name;
  bool ran = true;
  double milliseconds = 0;
  int nodes_before = 0, nodes_after = 0;
  std::vector<RuleReport> rules = {};
};

/// In order, but those that disabled or DAMO_DISABLE names. After each pass the graph must be acyclic and have inputs and outputs of the
/// same dtypes and ranks; else GraphError or TypeError naming the pass.
FunctionGraph run_passes(FunctionGraph graph, std::span<const Pass> passes, std::vector<PassReport>* reports = nullptr, std::span<const std::string> disabled = {});

/// The outputs with each given Variable replaced by its value, all at once: values are taken as they are written, what they
/// read is not replaced. Nodes that depend on a replaced Variable are built anew, by their ops' make_node; the user's graph stays. Linear
/// in the graph. Throws TypeError or ShapeError for a value of another dtype, rank or known extent, GraphError for a Variable
/// that is given twice or, unless allow_unused, that no output reads.
std::vector<Variable> substitute(std::span<const Variable> outputs, std::span<const Assignment> givens, bool allow_unused = false);

/// Nodes with equal ops on the same inputs become one, equal constants too. Linear in the graph.
FunctionGraph merge_duplicates(FunctionGraph graph);

}  // namespace damo
