// apply_rules: the worklist under all rules.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include <damo/log.hpp>
#include <damo/rewrite.hpp>
#include "graph/order.hpp"

namespace damo {

/// What a rule builds, until it is part of the graph; and which nodes are still needed.
class Site::Build {
 public:
  explicit Build(FunctionGraph& graph) : graph_(graph), readings_(static_cast<std::size_t>(graph.value_limit())), is_dead_(static_cast<std::size_t>(graph.node_limit())) {
    for (int i = 0; i < graph.value_limit(); ++i) readings_[static_cast<std::size_t>(i)] = static_cast<int>(graph.uses(static_cast<ValueId>(i)).size());
    for (int i = 0; i < graph.node_limit(); ++i) is_dead_[static_cast<std::size_t>(i)] = !graph.is_alive(static_cast<NodeId>(i));
  }

  int readings(ValueId value) const { return readings_[static_cast<std::size_t>(value)]; }
  bool is_dead(NodeId node) const { return is_dead_[static_cast<std::size_t>(node)]; }

  Variable operand(ValueId value) {
    Variable& variable = operands_[value];
    if (!variable) {
      const ConstantPtr& constant = graph_.constant(value);
      variable = constant ? damo::constant(*constant) : damo::input(graph_.type(value));
      values_.emplace(variable.id(), value);
    }
    return variable;
  }

  /// Adds what the Variable stands for to the graph; gives its value. made: the new nodes, inputs before users.
  ValueId import(const Variable& root, SourceLine where, std::vector<NodeId>& made) {
    std::vector<std::pair<Variable, std::size_t>> stack{{root, 0}};
    while (!stack.empty()) {
      auto& [variable, next] = stack.back();
      if (values_.contains(variable.id())) {
        stack.pop_back();
      } else if (!variable.has_owner()) {
        if (!variable.is_constant()) throw GraphError("a rule built on a Variable that is no operand of its site", "take it from site.operand()");
        values_.emplace(variable.id(), add_constant(variable.constant()));
        kept_.push_back(variable);
        stack.pop_back();
      } else if (const Apply node = variable.owner(); next < node.inputs().size()) {
        const Variable input = node.inputs()[next++];
        stack.emplace_back(input, 0);
      } else {
        made.push_back(add(node, where));
        for (int i = 0; i < node.output_count(); ++i) values_.emplace(node.output(i).id(), graph_.outputs(made.back())[static_cast<std::size_t>(i)]);
        stack.pop_back();
      }
    }
    return values_.at(root.id());
  }

  /// Every reader of old reads new_value. touched: nodes to which something happened.
  void replace(ValueId old, ValueId new_value, std::vector<NodeId>& touched) {
    for (const Use& use : graph_.uses(old)) {
      if (use.node != NodeId::kNone && !is_dead(use.node)) touched.push_back(use.node);
    }
    graph_.replace(old, new_value);
    readings_[static_cast<std::size_t>(new_value)] += std::exchange(readings_[static_cast<std::size_t>(old)], 0);
    std::vector<NodeId> unread{graph_.owner(old)};
    while (!unread.empty()) {
      const NodeId node = unread.back();
      unread.pop_back();
      const auto outputs = graph_.outputs(node);
      if (is_dead(node) || std::any_of(outputs.begin(), outputs.end(), [&](ValueId output) { return readings(output) > 0; })) continue;
      is_dead_[static_cast<std::size_t>(node)] = true;
      for (ValueId input : graph_.inputs(node)) {
        const NodeId owner = graph_.owner(input);
        if (const int left = --readings_[static_cast<std::size_t>(input)]; owner == NodeId::kNone || left > 1) continue;
        else if (left == 0) unread.push_back(owner);
        else touch_readers(input, touched);
      }
    }
  }

  void forget() {
    if (operands_.empty() && values_.empty()) return;
    operands_.clear();
    values_.clear();
    kept_.clear();
  }

 private:
  /// What may be rewritten where a value has one reader may be so now.
  void touch_readers(ValueId value, std::vector<NodeId>& touched) const {
    for (const Use& use : graph_.uses(value)) {
      if (use.node != NodeId::kNone && !is_dead(use.node)) touched.push_back(use.node);
    }
  }

  ValueId add_constant(const ConstantPtr& constant) {
    const ValueId value = graph_.add_constant(constant);
    readings_.resize(static_cast<std::size_t>(graph_.value_limit()));
    return value;
  }

  NodeId add(const Apply& node, SourceLine where) {
    std::vector<ValueId> inputs;
    std::vector<TensorType> types;
    for (const Variable& input : node.inputs()) inputs.push_back(values_.at(input.id()));
    for (const Variable& output : node.outputs()) types.push_back(output.type());
    kept_.push_back(node.output());
    const NodeId added = graph_.add(node.op_ptr(), inputs, types, where);
    readings_.resize(static_cast<std::size_t>(graph_.value_limit()));
    is_dead_.resize(static_cast<std::size_t>(graph_.node_limit()));
    for (ValueId input : inputs) ++readings_[static_cast<std::size_t>(input)];
    return added;
  }

  FunctionGraph& graph_;
  std::vector<int> readings_;  // by value: by nodes that are not dead, and by outputs
  std::vector<char> is_dead_;  // by node: nothing reads it any more
  std::unordered_map<ValueId, Variable> operands_;
  std::unordered_map<std::size_t, ValueId> values_;  // by Variable
  std::vector<Variable> kept_;  // an id is a Variable's as long as it lives
};

int Site::readings(ValueId value) const { return build_.readings(value); }

bool Site::all_readers(ValueId value, const std::function<bool(NodeId)>& holds) const {
  const auto uses = graph_.uses(value);
  return std::all_of(uses.begin(), uses.end(), [&](const Use& use) { return use.node != NodeId::kNone && (build_.is_dead(use.node) || holds(use.node)); });
}

Variable Site::operand(ValueId value) { return build_.operand(value); }

namespace {

constexpr int kTimedQuestions = 16, kMostGrowth = 4, kSmallGrowth = 1000;

/// Whether a value of the one type may stand where the other was promised, by all that is known of extents.
bool may_replace(const TensorType& from, const TensorType& to) {
  if (from.dtype != to.dtype || from.rank() != to.rank()) return false;
  for (int axis = 0; axis < from.rank(); ++axis) {
    if (from.dims[axis] != to.dims[axis] && (from.dims[axis] != kUnknown || to.dims[axis] == 1)) return false;
  }
  return true;
}

class RuleDriver {
 public:
  RuleDriver(FunctionGraph& graph, std::span<const Rule> rules, std::span<const std::string> disabled) : graph_(graph), rules_(rules), build_(graph), nodes_before_(graph.node_count()), limit_(graph.node_limit() + kMostGrowth * nodes_before_ + kSmallGrowth) {
    for (const Rule& rule : rules) {
      reports.push_back({rule.name});
      is_on_.push_back(std::find(disabled.begin(), disabled.end(), rule.name) == disabled.end());
      if (!rule.reads) of_all_ |= bit_of(is_on_.size() - 1);
    }
  }

  void run() {
    for (NodeId node : some_order(graph_)) {
      look(node);
      while (!again_.empty() && graph_.node_limit() <= limit_) {
        const NodeId next = again_.back();
        again_.pop_back();
        is_queued_[static_cast<std::size_t>(next)] = false;
        look(next);
      }
      if (graph_.node_limit() <= limit_) continue;
      const auto most = std::max_element(reports.begin(), reports.end(), [](const RuleReport& a, const RuleReport& b) { return a.applied < b.applied; });
      log(LogLevel::kWarning, "rewrite rules made a graph of " + std::to_string(nodes_before_) + " nodes too large, " + most->name + " applied " + std::to_string(most->applied) +
                                  " times; the rest of the graph stays as it is");
      return;
    }
  }

  std::vector<RuleReport> reports;
  bool has_changed = false;

 private:
  /// What the rules say of an op.
  struct OpRules {
    std::vector<int> asked;
    std::uint64_t readers = 0;  // bits of the rules that want it among a node's inputs
  };
  /// Of rules 64 apart it is one, so that a rule may be asked in vain.
  static std::uint64_t bit_of(std::size_t rule) { return std::uint64_t{1} << rule % 64; }

  const OpRules& rules_for(OpId id) {
    while (rules_of_.size() <= static_cast<std::size_t>(id)) {  // rules make nodes of other ops
      const Op& op = graph_.op(static_cast<OpId>(rules_of_.size()));
      OpRules& of = rules_of_.emplace_back();
      for (std::size_t i = 0; i < rules_.size(); ++i) {
        const Rule& rule = rules_[i];
        const bool is_named = std::any_of(rule.ops.begin(), rule.ops.end(), [&](const OpPtr& named) { return named.get() == &op; });
        if (is_on_[i] && (is_named || (rule.takes && rule.takes(op)))) of.asked.push_back(static_cast<int>(i));
        if (is_on_[i] && (!rule.reads || rule.reads(op))) of.readers |= bit_of(i);
      }
    }
    return rules_of_[static_cast<std::size_t>(id)];
  }

  /// Bits of the rules that some input of the node lets ask.
  std::uint64_t rules_by_inputs(NodeId node) {
    std::uint64_t bits = of_all_;
    for (ValueId input : graph_.inputs(node)) {
      if (const NodeId owner = graph_.owner(input); owner != NodeId::kNone) bits |= rules_for(graph_.op_id(owner)).readers;
    }
    return bits;
  }

  void look(NodeId node) {
    if (static_cast<std::size_t>(node) >= is_looked_at_.size()) {
      is_looked_at_.resize(static_cast<std::size_t>(graph_.node_limit()));
      is_queued_.resize(static_cast<std::size_t>(graph_.node_limit()));
    }
    is_looked_at_[static_cast<std::size_t>(node)] = true;
    if (build_.is_dead(node) || graph_.outputs(node).size() != 1) return;
    const std::uint64_t allowed = rules_by_inputs(node);
    for (int rule : rules_for(graph_.op_id(node)).asked) {
      if (allowed & bit_of(static_cast<std::size_t>(rule)) && ask(rule, node)) return;
    }
  }

  bool ask(int number, NodeId node) {
    RuleReport& report = reports[static_cast<std::size_t>(number)];
    const bool is_timed = report.asked++ % kTimedQuestions == 0;
    const auto start = is_timed ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
    Site site(graph_, node, build_);
    const Variable made = rules_[static_cast<std::size_t>(number)].rewrite(site);
    if (made) replace(node, made, rules_[static_cast<std::size_t>(number)].name);
    build_.forget();  // what a rule that does not apply has looked at, too
    if (is_timed) report.milliseconds += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    report.applied += static_cast<bool>(made);
    return static_cast<bool>(made);
  }

  void replace(NodeId node, const Variable& made, const std::string& rule) {
    const ValueId old = graph_.outputs(node)[0];
    if (!may_replace(graph_.type(old), made.type())) {
      throw TypeError("rule " + rule + ": a " + to_string(graph_.type(old)) + " cannot be replaced by a " + to_string(made.type()), "leave the node as it is where types differ");
    }
    std::vector<NodeId> added, touched;
    const ValueId value = build_.import(made, graph_.where(node), added);
    build_.replace(old, value, touched);
    has_changed = true;
    is_looked_at_.resize(static_cast<std::size_t>(graph_.node_limit()));
    is_queued_.resize(static_cast<std::size_t>(graph_.node_limit()));
    for (NodeId reader : touched) {
      if (is_looked_at_[static_cast<std::size_t>(reader)]) queue(reader);  // else its turn comes
    }
    for (auto last = added.rbegin(); last != added.rend(); ++last) queue(*last);
  }

  void queue(NodeId node) {
    if (std::exchange(is_queued_[static_cast<std::size_t>(node)], true)) return;
    again_.push_back(node);
  }

  FunctionGraph& graph_;
  std::span<const Rule> rules_;
  Site::Build build_;
  const int nodes_before_, limit_;
  std::vector<bool> is_on_;
  std::vector<OpRules> rules_of_;  // by op
  std::uint64_t of_all_ = 0;       // bits of the rules that any input lets ask
  std::vector<NodeId> again_;
  std::vector<char> is_looked_at_, is_queued_;
};

}  // namespace

FunctionGraph apply_rules(FunctionGraph graph, std::span<const Rule> rules, std::span<const std::string> disabled, std::vector<RuleReport>* reports) {
  RuleDriver driver(graph, rules, disabled);
  driver.run();
  for (RuleReport& report : driver.reports) {  // as if each question had taken as long as those that were timed
    if (report.asked > 0) report.milliseconds *= report.asked / static_cast<double>((report.asked - 1) / kTimedQuestions + 1);
  }
  if (reports) *reports = std::move(driver.reports);
  if (!driver.has_changed) return graph;
  graph.prune();
  return merge_duplicates(std::move(graph));
}

}  // namespace damo
