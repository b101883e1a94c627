#include "ops/rewrites/push_out_of_loops.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <damo/elementwise.hpp>
#include <damo/rewrite.hpp>
#include "graph/order.hpp"
#include "ops/contraction_op.hpp"
#include "ops/dimshuffle_op.hpp"
#include "ops/elementwise_op.hpp"
#include "ops/loop/loop_op.hpp"
#include "ops/loop/stacked.hpp"
#include "ops/reduce_op.hpp"
#include "ops/subtensor_op.hpp"

namespace damo {
namespace {

using Kind = LoopOutput::Kind;
using Ids = std::unordered_set<std::size_t>;

constexpr double kMostGrowth = 16;

double elements(const Variable& variable) {
  double count = 1;
  for (std::int64_t extent : variable.dims()) count *= extent == kUnknown ? 1.0 : static_cast<double>(extent);
  return count;
}

bool is_zero_fill(const FunctionGraph& graph, ValueId value) {
  const NodeId owner = graph.owner(value);
  if (owner == NodeId::kNone || &graph.op(owner) != op_of("second").get()) return false;
  const ConstantPtr& number = graph.constant(graph.inputs(owner)[1]);
  return number && number->is_scalar() && number->scalar().as_double() == 0;
}

class PushOut {
 public:
  PushOut(FunctionGraph& graph, NodeId node)
      : graph_(graph), node_(node), loop_(static_cast<const LoopOp&>(graph.op(node))), plan_(loop_.plan()), body_(loop_.body()), where_(graph.where(node)) {}

  bool run() {
    if (plan_.has_until || plan_.has_count_input || plan_.most >= 0 || !has_known_rows()) return false;
    read_step();
    find_products();
    find_outputs();
    if (before_.empty() && pushed_.empty()) return false;
    rebuild();
    graph_.prune();
    return true;
  }

 private:
  enum class Timing : std::uint8_t { kShared, kBefore, kInside };  ///< the same at all steps; from sequences, by ops that stack; all else

  /// Whether the rows that steps read of each sequence follow from its own extent or from a number.
  bool has_known_rows() const { return plan_.count >= 0 || plan_.is_tight || (plan_.counter == 0 && plan_.sequences.size() == 1); }

  void read_step() {
    for (std::size_t i = 0; i < body_.inputs.size(); ++i) {
      const bool is_row = i < plan_.sequences.size();
      timing_.emplace(body_.inputs[i].id(), is_row ? Timing::kBefore : i < plan_.own_inputs() ? Timing::kInside : Timing::kShared);
      place_.emplace(body_.inputs[i].id(), i);
    }
    order_ = needed_nodes(body_.outputs);
    for (const Apply& node : order_) {
      Timing timing = node.outputs().size() == 1 && can_stack(node.op()) ? Timing::kShared : Timing::kInside;
      for (const Variable& input : node.inputs()) {
        timing = std::max(timing, timing_of(input));
        readers_[input.id()].push_back(node.output(0).id());
      }
      for (const Variable& output : node.outputs()) timing_.emplace(output.id(), timing);
    }
    for (const Variable& output : body_.outputs) readers_[output.id()].push_back(0);  // no node's
  }

  Timing timing_of(const Variable& variable) const {
    if (variable.is_constant()) return Timing::kShared;
    const auto found = timing_.find(variable.id());
    return found == timing_.end() ? Timing::kInside : found->second;
  }

  // Before the loop.

  void find_products() {
    for (const Apply& node : order_) {
      const Variable& made = node.output(0);
      if (timing_of(made) != Timing::kBefore) continue;
      if (plain_product(node.op()) ? fits_before(node) : goes_along(node)) before_.insert(made.id());
    }
  }

  bool fits_before(const Apply& product) const {
    Ids seen;
    double rows = 0;
    std::vector<Variable> waiting{product.output(0)};
    while (!waiting.empty()) {
      const Variable variable = std::move(waiting.back());
      waiting.pop_back();
      if (timing_of(variable) != Timing::kBefore || !seen.insert(variable.id()).second) continue;
      if (!place_.contains(variable.id())) waiting.insert(waiting.end(), variable.owner().inputs().begin(), variable.owner().inputs().end());
      else rows += elements(variable);
    }
    double most = elements(product.output(0));
    for (const Variable& input : product.inputs()) most = timing_of(input) == Timing::kBefore ? std::max(most, elements(input)) : most;
    return most <= kMostGrowth * rows;
  }

  /// Whether it is elementwise and alone reads such a value, of its own type.
  bool goes_along(const Apply& node) const {
    if (!dynamic_cast<const ElementwiseOp*>(&node.op())) return false;
    return std::any_of(node.inputs().begin(), node.inputs().end(), [&](const Variable& input) {
      return before_.contains(input.id()) && readers_.at(input.id()).size() == 1 && input.type() == node.output(0).type();
    });
  }

  // Behind the loop.

  /// The rows that must be kept for what is pushed out.
  struct Need {
    std::vector<Variable> kept;
    double elements = 0;                ///< of the kept ones
    std::vector<std::size_t> outputs;   ///< whose rows are there
  };

  void find_outputs() {
    for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
      if (plan_.outputs[i].kind != Kind::kSum) continue;
      Need need;
      if (can_sum(body_.outputs[i], need) && need.elements <= elements(body_.outputs[i])) accept(i, need);
    }
    // An output's product goes if nothing that stays in the loop reads it: those that turn out to stay are what the others are asked against.
    std::vector<char> stays(plan_.outputs.size(), false);
    for (std::size_t i : read_) stays[i] = true;
    for (bool changes = true; changes;) {
      changes = false;
      const Ids needed = needed_inside(stays);
      for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
        if (plan_.outputs[i].kind != Kind::kRows || stays[i]) continue;
        Need need;
        if (has_plain_rows(plan_.outputs[i]) && has_product(body_.outputs[i], needed) && can_follow(body_.outputs[i], needed, need) && need.elements <= kMostGrowth * elements(body_.outputs[i])) continue;
        stays[i] = changes = true;
      }
    }
    const Ids needed = needed_inside(stays);
    for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
      if (plan_.outputs[i].kind != Kind::kRows || stays[i]) continue;
      Need need;
      can_follow(body_.outputs[i], needed, need);
      accept(i, need);
    }
    // Something must count the steps, and tell sequences that do not fit.
    if (pushed_.size() == plan_.outputs.size() && kept_.empty()) pushed_.clear();
  }

  void accept(std::size_t output, const Need& need) {
    pushed_.insert(output);
    read_.insert(need.outputs.begin(), need.outputs.end());
    for (const Variable& variable : need.kept) {
      if (kept_ids_.insert(variable.id()).second) kept_.push_back(variable);
    }
  }

  /// One row a step. Those of an output that is as long as a sequence may be more where the number of steps is given.
  bool has_plain_rows(const LoopOutput& rows) const {
    if (rows.keep >= 0 || rows.offset != 0) return false;
    if (rows.like < 0) return true;
    const std::int64_t extent = graph_.type(graph_.inputs(node_)[static_cast<std::size_t>(plan_.first_sequence() + rows.like)]).dims[0];
    return plan_.sequences[static_cast<std::size_t>(rows.like)].extra == 0 && (plan_.count < 0 || plan_.count == extent);
  }

  /// What the outputs that stay, and the rows that are kept, are computed from.
  Ids needed_inside(const std::vector<char>& stays) const {
    std::vector<Variable> ends = kept_;
    for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
      if (plan_.outputs[i].kind == Kind::kRows ? stays[i] != 0 : !pushed_.contains(i)) ends.push_back(body_.outputs[i]);
    }
    Ids needed;
    for (const Apply& node : needed_nodes(ends)) {
      for (const Variable& output : node.outputs()) needed.insert(output.id());
    }
    return needed;
  }

  /// Whether a product that follows from the loop's states, and that the loop itself does not need, is among what the value is computed from by ops that stack.
  bool has_product(const Variable& value, const Ids& needed) const {
    if (timing_of(value) != Timing::kInside || !value.has_owner() || needed.contains(value.id()) || !can_stack(value.owner().op())) return false;
    const Apply node = value.owner();
    if (plain_product(node.op())) return true;
    return std::any_of(node.inputs().begin(), node.inputs().end(), [&](const Variable& input) { return has_product(input, needed); });
  }

  bool can_follow(const Variable& value, const Ids& needed, Need& need) const {
    if (timing_of(value) == Timing::kShared) return true;
    if (!has_product(value, needed)) return can_keep(value, need);
    const Apply node = value.owner();
    return std::all_of(node.inputs().begin(), node.inputs().end(), [&](const Variable& input) { return can_follow(input, needed, need); });
  }

  /// Whether the sum over steps is one of products or of sums.
  bool can_sum(const Variable& term, Need& need) const {
    if (!term.has_owner() || term.is_constant()) return false;
    const Apply node = term.owner();
    if (&node.op() == op_of("add").get()) {
      return std::all_of(node.inputs().begin(), node.inputs().end(), [&](const Variable& input) { return input.type() == term.type() && can_sum(input, need); });
    }
    if (dynamic_cast<const DimShuffleOp*>(&node.op())) return can_sum(node.input(0), need);
    if (const Apply* product = wide_product(node)) return can_sum_product(*product, need);
    if (plain_product(node.op())) return can_sum_product(node, need);
    const auto* reduction = dynamic_cast<const ReduceOp*>(&node.op());
    return reduction && reduction->kind() == ReductionKind::kSum && timing_of(node.input(0)) != Timing::kShared && can_keep(node.input(0), need);
  }

  bool can_sum_product(const Apply& node, Need& need) const {
    return std::all_of(node.inputs().begin(), node.inputs().end(), [&](const Variable& input) { return timing_of(input) != Timing::kShared && can_keep(input, need); });
  }

  /// The product of 16-bit floats of which the node is the float32; null if it is none.
  const Apply* wide_product(const Apply& node) const {
    const auto* op = dynamic_cast<const ElementwiseOp*>(&node.op());
    if (!op || !op->cast_to() || *op->cast_to() != float32 || itemsize(node.input(0).dtype()) != 2 || !node.input(0).has_owner()) return nullptr;
    const auto found = std::find_if(order_.begin(), order_.end(), [&](const Apply& other) { return other.output(0).is_same(node.input(0)); });
    return found != order_.end() && plain_product(found->op()) ? &*found : nullptr;
  }

  /// Always: but what is not there yet is new rows.
  bool can_keep(const Variable& value, Need& need) const {
    if (const auto* view = value.has_owner() ? dynamic_cast<const DimShuffleOp*>(&value.owner().op()) : nullptr; view && can_stack(*view)) return can_keep(value.owner().input(0), need);
    if (place_.contains(value.id()) && place_.at(value.id()) < plan_.sequences.size()) return true;
    if (before_.contains(value.id()) || kept_ids_.contains(value.id())) return true;
    if (const auto rows = rows_there(value)) {
      need.outputs.push_back(rows->output);
      return true;
    }
    if (std::any_of(need.kept.begin(), need.kept.end(), [&](const Variable& kept) { return kept.is_same(value); })) return true;
    need.elements += elements(value);
    need.kept.push_back(value);
    return true;
  }

  /// Rows of a state or of an output of the loop.
  struct Rows {
    std::size_t output;
    std::int64_t first, extra;  ///< as LoopSequence has them
  };
  std::optional<Rows> rows_there(const Variable& value) const {
    std::size_t lag = plan_.sequences.size();
    for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
      const LoopOutput& output = plan_.outputs[i];
      const std::size_t first_lag = std::exchange(lag, lag + output.lags.size());
      if (output.keep >= 0 || pushed_.contains(i)) continue;
      if (output.kind == Kind::kRows && has_plain_rows(output) && body_.outputs[i].is_same(value)) return Rows{i, 0, 0};
      if (output.kind != Kind::kState) continue;
      if (body_.outputs[i].is_same(value)) return Rows{i, plan_.written_row(output, 0), output.depth};
      for (std::size_t k = 0; k < output.lags.size(); ++k) {
        if (body_.inputs[first_lag + k].is_same(value)) return Rows{i, plan_.read_row(output, 0, output.lags[k]), output.depth};
      }
    }
    return {};
  }

  // The graph around.

  void rebuild() {
    LoopPlan plan = plan_;
    LoopBody body{body_.inputs, body_.outputs};
    std::vector<ValueId> inputs(graph_.inputs(node_).begin(), graph_.inputs(node_).end());
    for (const Variable& variable : kept_) {
      body.outputs.push_back(variable);
      plan.outputs.emplace_back();
    }
    add_sequences(plan, body, inputs);
    std::vector<char> wanted;
    for (std::size_t i = 0; i < plan.outputs.size(); ++i) wanted.push_back(!pushed_.contains(i));
    const LoopOp whole(plan, body, loop_.name());
    const TrimmedLoop trimmed = trim(whole, static_cast<int>(inputs.size()), wanted, plan.outputs);
    std::vector<ValueId> used;
    for (int input : trimmed.inputs) used.push_back(inputs[static_cast<std::size_t>(input)]);
    const NodeId made = graph_.add(trimmed.op, used, where_);
    made_.assign(plan.outputs.size(), ValueId::kNone);
    for (std::size_t i = 0; i < trimmed.outputs.size(); ++i) made_[static_cast<std::size_t>(trimmed.outputs[i])] = graph_.outputs(made)[i];
    const std::vector<ValueId> old(graph_.outputs(node_).begin(), graph_.outputs(node_).end());
    for (std::size_t i = 0; i < old.size(); ++i) graph_.replace(old[i], pushed_.contains(i) ? behind(i) : made_[i]);
  }

  /// What is computed before the loop becomes sequences of it, where its step still reads it.
  void add_sequences(LoopPlan& plan, LoopBody& body, std::vector<ValueId>& inputs) {
    std::vector<Assignment> givens;
    for (const Apply& node : order_) {
      const Variable& value = node.output(0);
      if (before_.contains(value.id())) givens.push_back({value, input(value.type(), value.name(), value.where())});
    }
    std::vector<Variable> staying;
    for (std::size_t i = 0; i < body.outputs.size(); ++i) {
      if (!pushed_.contains(i)) staying.push_back(body.outputs[i]);
    }
    Ids read;
    const std::vector<Variable> substituted = substitute(staying, givens, true);
    for (const Variable& output : substituted) read.insert(output.id());
    for (const Apply& node : needed_nodes(substituted)) {
      for (const Variable& input : node.inputs()) read.insert(input.id());
    }
    body.outputs = substitute(body.outputs, givens, true);
    const auto at = static_cast<std::ptrdiff_t>(plan_.sequences.size());
    std::ptrdiff_t added = 0;
    for (const Assignment& given : givens) {
      if (!read.contains(given.value.id())) continue;
      plan.sequences.push_back({0, 0});
      body.inputs.insert(body.inputs.begin() + at + added, given.value);
      inputs.insert(inputs.begin() + plan_.first_sequence() + at + added, stack_of(given.variable).value);
      ++added;
    }
    // Of the others no output that stays reads any; those that go are not computed here.
    for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
      if (pushed_.contains(i)) body.outputs[i] = body_.outputs[i];
    }
  }

  /// Rows [offset, offset + count) of count + extra, or of more where the count is a number.
  ValueId part(ValueId all, std::int64_t offset, std::int64_t extra) {
    const std::int64_t rows = graph_.type(all).dims[0];
    if (plan_.count >= 0 ? offset == 0 && rows == plan_.count : extra == 0) return all;
    Index index(offset, plan_.count >= 0 ? std::optional(offset + plan_.count) : offset == extra ? std::nullopt : std::optional(offset - extra));
    return graph_.outputs(graph_.add(std::make_shared<const SubtensorOp>(std::vector{index}), std::span(&all, 1), where_))[0];
  }

  Stacked stack_of(const Variable& value) {
    if (const auto found = stacks_.find(value.id()); found != stacks_.end()) return found->second;
    return stacks_.emplace(value.id(), make_stack(value)).first->second;
  }

  /// The walk goes no deeper than the step's chain of ops.
  Stacked make_stack(const Variable& value) {
    if (value.is_constant()) return {graph_.add_constant(value.constant()), false};
    if (const auto found = place_.find(value.id()); found != place_.end() && timing_of(value) != Timing::kInside) {
      const std::size_t i = found->second;
      if (timing_of(value) == Timing::kShared) return {graph_.inputs(node_)[static_cast<std::size_t>(plan_.first_other()) + i - plan_.own_inputs()], false};
      const ValueId all = graph_.inputs(node_)[static_cast<std::size_t>(plan_.first_sequence()) + i];
      return {part(all, plan_.sequences[i].offset, plan_.sequences[i].extra), true};
    }
    if (!made_.empty()) {
      for (std::size_t i = 0; i < kept_.size(); ++i) {
        if (kept_[i].is_same(value)) return {made_[plan_.outputs.size() + i], true};
      }
      if (const auto rows = rows_there(value)) return {part(made_[rows->output], rows->first, rows->extra), true};
    }
    const Apply node = value.owner();
    if (timing_of(value) == Timing::kShared) {
      std::vector<ValueId> inputs;
      for (const Variable& input : node.inputs()) inputs.push_back(stack_of(input).value);
      return {graph_.outputs(graph_.add(node.op().shared_from_this(), inputs, node.where()))[0], false};
    }
    std::vector<Stacked> inputs;
    for (const Variable& input : node.inputs()) inputs.push_back(stack_of(input));
    return {add_stacked(graph_, node, inputs), true};
  }

  ValueId behind(std::size_t i) {
    if (plan_.outputs[i].kind == Kind::kRows) return stack_of(body_.outputs[i]).value;
    const ValueId begun = graph_.inputs(node_)[static_cast<std::size_t>(plan_.initial_input(i))], sum = sum_of(body_.outputs[i]);
    return is_zero_fill(graph_, begun) ? sum : add(begun, sum, where_);
  }

  ValueId add(ValueId a, ValueId b, SourceLine where) {
    const ValueId both[] = {a, b};
    return graph_.outputs(graph_.add(op_of("add"), both, where))[0];
  }

  ValueId sum_of(const Variable& term) {
    const Apply node = term.owner();
    if (&node.op() == op_of("add").get()) return add(sum_of(node.input(0)), sum_of(node.input(1)), node.where());
    if (const auto* view = dynamic_cast<const DimShuffleOp*>(&node.op())) return add_dimshuffle(graph_, sum_of(node.input(0)), view->pattern(), node.where());
    const Apply* wide = wide_product(node);
    if (wide || plain_product(node.op())) {
      const Apply& product = wide ? *wide : node;
      return add_summed_product(graph_, product, stack_of(product.input(0)).value, stack_of(product.input(1)).value, term.dtype());
    }
    const std::uint32_t axes = static_cast<const ReduceOp&>(node.op()).reduced_axes().value() << 1 | 1u;
    const ValueId stack = stack_of(node.input(0)).value;
    const ValueId reduced = graph_.outputs(graph_.add(std::make_shared<const ReduceOp>(ReductionKind::kSum, axes), std::span(&stack, 1), node.where()))[0];
    std::vector<std::int64_t> pattern;
    for (int axis = 1; axis <= term.rank(); ++axis) pattern.push_back(axis);
    return add_dimshuffle(graph_, reduced, std::move(pattern), node.where());
  }

  FunctionGraph& graph_;
  NodeId node_;
  const LoopOp& loop_;
  const LoopPlan& plan_;
  const LoopBody& body_;
  SourceLine where_;
  std::vector<Apply> order_;                                         // of the step
  std::unordered_map<std::size_t, Timing> timing_;                   // by Variable
  std::unordered_map<std::size_t, std::size_t> place_;               // of the step's inputs
  std::unordered_map<std::size_t, std::vector<std::size_t>> readers_;
  Ids before_;                                                       // computed for all steps before the loop
  std::unordered_set<std::size_t> pushed_;                           // outputs that are computed behind it,
  std::unordered_set<std::size_t> read_;                             // from rows of these
  std::vector<Variable> kept_;                                       // and of these of the step's values
  Ids kept_ids_;
  std::vector<ValueId> made_;                                        // of the new node: by output, the kept ones behind the others
  std::unordered_map<std::size_t, Stacked> stacks_;
};

}  // namespace

FunctionGraph push_out_of_loops(FunctionGraph graph) {
  if (!graph.has_op<LoopOp>()) return graph;
  std::vector<NodeId> loops;
  for (NodeId node : graph.nodes()) {
    if (dynamic_cast<const LoopOp*>(&graph.op(node))) loops.push_back(node);
  }
  for (NodeId node : loops) {
    if (graph.is_alive(node)) PushOut(graph, node).run();
  }
  return graph;
}

}  // namespace damo
