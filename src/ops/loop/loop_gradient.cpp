// The gradient of a loop: a loop that goes the other way. At position p it reads what step p read, the gradients that arrive at what step p gave,
// from outside and from the steps that read it, and gives those of what step p read: rows for sequences, states for lags (which the steps before add to their own), sums
// for others. What step p gave to a state is read from the state's row too, where a gradient is made of it, as that of tanh is, and not computed once more.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <damo/gradient.hpp>
#include <damo/ops/cast.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/shape.hpp>
#include <damo/rewrite.hpp>
#include "ops/elementwise_op.hpp"
#include "ops/gradient_parts.hpp"
#include "ops/loop/loop_op.hpp"
#include "ops/subtensor_op.hpp"

namespace damo {
namespace {

using Kind = LoopOutput::Kind;

/// The row that computes a value, empty if none does.
std::string row_name(const Variable& variable) {
  if (!variable.has_owner()) return {};
  const auto* op = dynamic_cast<const ElementwiseOp*>(&variable.owner().op());
  return op ? op->row().name : std::string();
}

/// Whether it is known to be 0 when the graph is built.
bool is_zero(const Variable& variable) {
  if (const ConstantPtr& constant = variable.constant()) return constant->is_scalar() && constant->scalar().as_double() == 0;
  const std::string row = row_name(variable);
  if (row == "second") return is_zero(variable.owner().input(1));
  if (row == "add") return is_zero(variable.owner().input(0)) && is_zero(variable.owner().input(1));
  return false;
}

/// The gradient of one output that arrives, in the form that costs least.
struct Arriving {
  Variable all;       ///< of all rows of the node's output
  Variable computed;  ///< of those that steps wrote; that of the others is 0
  Variable last;      ///< of the one that the last step wrote; that of the others is 0
  bool is_none() const { return !all && !computed && !last; }
};

/// What is written into zeros: set_subtensor(zeros, [index], value); null if it is nothing of the kind.
const WriteSubtensorOp* written_into_zeros(const Variable& variable) {
  if (!variable.has_owner()) return nullptr;
  const Apply node = variable.owner();
  const auto* op = dynamic_cast<const WriteSubtensorOp*>(&node.op());
  return op && op->write() == WindowWrite::kSet && op->indices().size() == 1 && is_zero(node.input(0)) ? op : nullptr;
}

Arriving arriving(const LoopPlan& plan, const LoopOutput& output, const Variable& gradient) {
  if (!gradient || is_zero(gradient)) return {};
  if (output.kind == Kind::kSum || plan.is_backward) return {.all = gradient, .computed = {}, .last = {}};
  Variable inner = gradient;
  if (const auto* op = written_into_zeros(inner); op && output.depth > 0 && !op->indices()[0].is_position()) {
    const Slice& slice = op->indices()[0].slice();
    if (slice.start == output.depth && !slice.stop && slice.step == 1 && inner.owner().input(1).rank() == gradient.rank()) inner = inner.owner().input(1);
  }
  if (is_zero(inner)) return {};
  if (const auto* op = written_into_zeros(inner); op && op->indices()[0].is_position() && op->indices()[0].position() == -1 && output.kind == Kind::kState) {
    const Variable value = inner.owner().input(1);
    if (value.rank() + 1 == gradient.rank()) return {.all = {}, .computed = {}, .last = value};
  }
  if (inner.is_same(gradient)) return {.all = gradient, .computed = {}, .last = {}};
  return {.all = {}, .computed = inner, .last = {}};
}

class LoopGradient {
 public:
  LoopGradient(const LoopOp& op, const Apply& node, std::span<const Variable> gradients)
      : op_(op), plan_(op.plan()), body_(op.body()), node_(node), gradients_(gradients), at_(node.where()) {
    for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
      arriving_.push_back(is_floating(node.output(static_cast<int>(i)).dtype()) ? arriving(plan_, plan_.outputs[i], gradients[i]) : Arriving());
    }
    std::size_t at = plan_.sequences.size();
    for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
      for (std::size_t k = 0; k < plan_.outputs[i].lags.size(); ++k) lags_.push_back({i, plan_.outputs[i].lags[k], at++});
    }
  }

  Gradients build() {
    find_terms();
    begin_plan();
    for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
      if (is_live_[i]) add_arriving(i);
    }
    add_outputs();
    std::vector<Variable> leading = count_;
    leading.insert(leading.end(), sequences_.begin(), sequences_.end());
    leading.insert(leading.end(), initials_.begin(), initials_.end());
    if (outputs_.empty()) return collect({});
    std::vector<Assignment> known = adjoints();
    known.insert(known.end(), written_.begin(), written_.end());
    std::vector<Variable> own = own_sequences_;
    own.insert(own.end(), own_lags_.begin(), own_lags_.end());
    for (const Assignment& other : other_values()) others_.push_back(other);
    const Apply made = make_loop(made_plan_, own, substitute(substitute(outputs_, known, true), others_, true), leading, op_.name() + "_gradient", node_.where());
    return collect(made.outputs());
  }

 private:
  struct Lag {
    std::size_t output;
    std::int64_t lag;
    std::size_t input;  ///< of the step
  };

  /// The gradients of the step's inputs from stand-ins for those of its outputs. An output whose gradient turns out to be 0 at every step is left out.
  void find_terms() {
    is_live_.assign(plan_.outputs.size(), false);
    for (std::size_t i = 0; i < plan_.outputs.size(); ++i) is_live_[i] = is_floating(body_.outputs[i].dtype()) && (!arriving_[i].is_none() || plan_.outputs[i].kind == Kind::kState);
    for (bool changes = true; changes;) {
      changes = false;
      std::vector<Variable> outputs;
      adjoint_.assign(plan_.outputs.size(), {});
      std::vector<Variable> adjoints;
      for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
        if (!is_live_[i]) continue;
        outputs.push_back(body_.outputs[i]);
        adjoint_[i] = input(body_.outputs[i].type(), "gradient", node_.where());
        adjoints.push_back(adjoint_[i]);
      }
      terms_.assign(body_.inputs.size(), {});
      reasons_.assign(body_.inputs.size(), {});
      if (outputs.empty()) return;
      differentiate(outputs, adjoints);
      for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
        const bool is_read = std::any_of(lags_.begin(), lags_.end(), [&](const Lag& lag) { return lag.output == i && terms_[lag.input]; });
        if (!is_live_[i] || is_read || !arriving_[i].is_none()) continue;
        is_live_[i] = false;
        changes = true;
      }
    }
  }

  void differentiate(std::span<const Variable> outputs, std::span<const Variable> adjoints) {
    std::vector<Variable> wanted;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < body_.inputs.size(); ++i) {
      if (!is_floating(body_.inputs[i].dtype())) continue;
      wanted.push_back(body_.inputs[i]);
      places.push_back(i);
    }
    const auto take = [&](std::size_t i, const Variable& term) {
      if (!is_zero(term)) terms_[i] = term;
    };
    try {
      const std::vector<Variable> terms = lop(outputs, adjoints, wanted, Disconnected::kZero, node_.where());
      for (std::size_t i = 0; i < terms.size(); ++i) take(places[i], terms[i]);
      return;
    } catch (const GraphError&) {  // by one of them it is not defined, which need not be one that is asked for
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      try {
        take(places[i], lop(outputs, adjoints, std::span(&wanted[i], 1), Disconnected::kZero, node_.where()).front());
      } catch (const GraphError& error) {
        if (places[i] >= plan_.sequences.size() && places[i] < plan_.own_inputs()) throw;
        reasons_[places[i]] = error.parts().message;
      }
    }
  }

  void begin_plan() {
    made_plan_.is_backward = !plan_.is_backward;
    made_plan_.most = plan_.most >= 0 ? plan_.most : plan_.truncation;
    for (std::size_t i = 0; i < plan_.sequences.size(); ++i) add_sequence(node_.input(plan_.first_sequence() + static_cast<int>(i)), body_.inputs[i], plan_.sequences[i]);
    if (plan_.has_until) {  // how many steps there were
      const bool is_state = plan_.outputs[0].kind == Kind::kState;
      const Variable first = node_.output(0);
      Shape dims = first.dims();
      dims.erase(0);
      made_plan_.counter = add_sequence(first, input({first.dtype(), dims}), {0, is_state ? plan_.outputs[0].depth : 0});
    } else if (plan_.has_count_input) {
      made_plan_.has_count_input = true;
      count_.push_back(node_.input(0));
    } else {
      made_plan_.count = plan_.count;
      made_plan_.counter = plan_.counter;
      made_plan_.is_tight = plan_.is_tight;
    }
    for (const Lag& lag : lags_) {
      const LoopOutput& state = plan_.outputs[lag.output];
      add_sequence(node_.output(static_cast<int>(lag.output)), body_.inputs[lag.input], {plan_.read_row(state, 0, lag.lag), state.depth});
    }
    for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
      const LoopOutput& state = plan_.outputs[i];
      const Variable& value = body_.outputs[i];
      const bool is_known = std::any_of(written_.begin(), written_.end(), [&](const Assignment& known) { return known.variable.is_same(value); });
      if (state.kind != Kind::kState || !value.has_owner() || is_known) continue;
      written_.push_back({value, input(value.type(), "", node_.where())});
      add_sequence(node_.output(static_cast<int>(i)), written_.back().value, {plan_.written_row(state, 0), state.depth});
    }
  }

  int add_sequence(const Variable& from, const Variable& row, LoopSequence sequence) {
    sequences_.push_back(from);
    own_sequences_.push_back(row);
    made_plan_.sequences.push_back(sequence);
    return static_cast<int>(sequences_.size()) - 1;
  }

  /// What arrives at output i from outside, as a sequence or, of the last row alone, as what the states of gradients begin with.
  void add_arriving(std::size_t i) {
    const Arriving& from = arriving_[i];
    const LoopOutput& output = plan_.outputs[i];
    if (from.is_none()) return;
    if (output.kind == Kind::kSum) {
      adjoint_value_[i] = from.all;
      return;
    }
    const bool is_read = std::any_of(lags_.begin(), lags_.end(), [&](const Lag& lag) { return lag.output == i && terms_[lag.input]; });
    if (from.last && is_read) return;
    Variable rows = from.all ? from.all : from.computed;
    LoopSequence sequence{0, from.all ? output.depth : 0};
    if (output.kind == Kind::kRows) sequence = {output.offset, output.like >= 0 ? plan_.sequences[static_cast<std::size_t>(output.like)].extra : 0};
    else if (from.all) sequence.offset = plan_.written_row(output, 0);
    if (from.last) {
      rows = gradients_[i];
      sequence = {plan_.written_row(output, 0), output.depth};
    }
    const Variable row = input(body_.outputs[i].type(), "gradient", node_.where());
    add_sequence(rows, row, sequence);
    adjoint_value_[i] = row;
  }

  /// Zeros of the first rows of a state's initial value.
  Variable zero_rows(std::size_t i, std::int64_t rows) const {
    const Variable& initial = node_.input(plan_.initial_input(i));
    return zeros_like(rows == plan_.outputs[i].depth ? initial : subtensor(at_(initial), {Index(0, rows)}), node_.where());
  }

  void add_outputs() {
    for (std::size_t i = 0; i < plan_.sequences.size(); ++i) {
      if (!terms_[i]) continue;
      made_of_input_[i] = static_cast<int>(outputs_.size());
      outputs_.push_back(terms_[i]);
      LoopOutput rows;
      rows.offset = plan_.sequences[i].offset;
      rows.like = static_cast<int>(i);
      made_plan_.outputs.push_back(std::move(rows));
    }
    std::vector<bool> has_last(plan_.outputs.size(), false);
    for (const Lag& lag : lags_) {
      if (!terms_[lag.input]) continue;
      made_of_input_[lag.input] = static_cast<int>(outputs_.size());
      outputs_.push_back(terms_[lag.input]);
      LoopOutput state;
      state.kind = Kind::kState;
      state.lags = {lag.lag};
      state.depth = lag.lag;
      made_plan_.outputs.push_back(std::move(state));
      Variable begin = zero_rows(lag.output, lag.lag);
      if (arriving_[lag.output].last && !has_last[lag.output]) {
        has_last[lag.output] = true;
        begin = set_subtensor(at_(begin), {Index(lag.lag - 1)}, at_(arriving_[lag.output].last));
      }
      initials_.push_back(begin);
      const Variable carried = input(body_.inputs[lag.input].type(), "gradient", node_.where());
      own_lags_.push_back(carried);
      Variable& sum = adjoint_value_[lag.output];
      sum = sum ? add(at_(sum), at_(carried)) : carried;
    }
    for (std::size_t i = plan_.own_inputs(); i < body_.inputs.size(); ++i) {
      if (!terms_[i]) continue;
      const bool is_short = itemsize(terms_[i].dtype()) == 2;
      const Variable term = is_short ? cast_at(terms_[i], float32, node_.where()) : terms_[i];
      made_of_input_[i] = static_cast<int>(outputs_.size());
      outputs_.push_back(term);
      LoopOutput sum;
      sum.kind = Kind::kSum;
      made_plan_.outputs.push_back(std::move(sum));
      const Variable zeros = zeros_like(other(i), node_.where());
      initials_.push_back(is_short ? cast_at(zeros, float32, node_.where()) : zeros);
    }
  }

  Variable other(std::size_t i) const { return node_.input(plan_.first_other() + static_cast<int>(i - plan_.own_inputs())); }

  std::vector<Assignment> adjoints() const {
    std::vector<Assignment> givens;
    for (const auto& [i, value] : adjoint_value_) givens.push_back({adjoint_[i], value});
    return givens;
  }
  std::vector<Assignment> other_values() const {
    std::vector<Assignment> givens;
    for (std::size_t i = plan_.own_inputs(); i < body_.inputs.size(); ++i) givens.push_back({body_.inputs[i], other(i)});
    return givens;
  }

  /// made: as made_of_input_ numbers them.
  Gradients collect(const std::vector<Variable>& made) const {
    std::vector<Gradient> result(node_.inputs().size(), Gradient::disconnected());
    const auto of = [&](std::size_t i) { return made[static_cast<std::size_t>(made_of_input_.at(i))]; };
    const auto put = [&](int input, std::size_t i) {
      if (!reasons_[i].empty()) result[static_cast<std::size_t>(input)] = Gradient::not_defined(reasons_[i]);
      else if (made_of_input_.contains(i)) result[static_cast<std::size_t>(input)] = cast_at(of(i), node_.input(input).dtype(), node_.where());
    };
    for (std::size_t i = 0; i < plan_.sequences.size(); ++i) put(plan_.first_sequence() + static_cast<int>(i), i);
    for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
      const int initial = plan_.initial_input(i);
      if (initial < 0) continue;
      if (const Variable gradient = of_initial(i, made)) result[static_cast<std::size_t>(initial)] = gradient;
    }
    for (std::size_t i = plan_.own_inputs(); i < body_.inputs.size(); ++i) put(plan_.first_other() + static_cast<int>(i - plan_.own_inputs()), i);
    return result;
  }

  /// `rows` rows that the loop's state began with, or those of its gradient: the first ones, where it goes downwards the last ones.
  Variable begin_of(const Variable& all, std::int64_t rows) const {
    if (rows == 1) return expand_dims(at_(subtensor(at_(all), {Index(plan_.is_backward ? -1 : 0)})), 0);  // whose extent is known
    return subtensor(at_(all), {plan_.is_backward ? Index(-rows, std::nullopt) : Index(0, rows)});
  }

  /// Of the rows that a state began with: what arrives at them from outside and from the steps that read them. Empty: nothing.
  Variable of_initial(std::size_t i, const std::vector<Variable>& made) const {
    const LoopOutput& output = plan_.outputs[i];
    if (output.kind == Kind::kSum) return arriving_[i].all;
    Variable sum;
    const auto plus = [&](const Variable& more) { sum = sum ? add(at_(sum), at_(more)) : more; };
    const std::int64_t depth = output.depth;
    if (arriving_[i].all) plus(begin_of(arriving_[i].all, depth));
    for (const Lag& lag : lags_) {
      if (lag.output != i || !made_of_input_.contains(lag.input)) continue;
      const Variable carried = made[static_cast<std::size_t>(made_of_input_.at(lag.input))];
      const Variable rows = begin_of(carried, lag.lag);
      if (lag.lag == depth) plus(rows);
      else plus(set_subtensor(at_(zero_rows(i, depth)), {plan_.is_backward ? Index(0, lag.lag) : Index(depth - lag.lag, depth)}, at_(rows)));
    }
    return sum;
  }

  const LoopOp& op_;
  const LoopPlan& plan_;
  const LoopBody& body_;
  const Apply& node_;
  std::span<const Variable> gradients_;
  At at_;
  std::vector<Arriving> arriving_;                        // by output
  std::vector<Lag> lags_;
  std::vector<bool> is_live_;                             // by output: its gradient need not be 0
  std::vector<Variable> adjoint_;                         // by output: what stands for the gradient of a step's
  std::unordered_map<std::size_t, Variable> adjoint_value_;
  std::vector<Variable> terms_;                           // by input of the step: its gradient; empty where it is 0
  std::vector<std::string> reasons_;                      // by input of the step: why it has none
  LoopPlan made_plan_;
  std::vector<Variable> count_, sequences_, initials_;    // inputs of the node
  std::vector<Variable> own_sequences_, own_lags_;        // of its step
  std::vector<Variable> outputs_;
  std::vector<Assignment> written_;                       // what a step gives to a state: its row
  std::vector<Assignment> others_;
  std::unordered_map<std::size_t, int> made_of_input_;    // by input of the step: the output that is its gradient
};

}  // namespace

Gradients LoopOp::gradient(const Apply& node, std::span<const Variable> output_gradients) const { return LoopGradient(*this, node, output_gradients).build(); }

}  // namespace damo
