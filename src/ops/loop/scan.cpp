#include <damo/loop.hpp>

#include <algorithm>
#include <set>

#include <damo/ops/cast.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/shape.hpp>
#include <damo/ops/subtensor.hpp>
#include "ops/gradient_parts.hpp"
#include "ops/loop/loop_op.hpp"
#include "ops/random/step_draws.hpp"

namespace damo {

const Variable& ScanOutputs::only() const {
  if (size() == 1) return front();
  throw GraphError("the loop has " + std::to_string(size()) + " outputs, not one", "take them by index");
}

namespace detail {
namespace {

using Kind = LoopOutput::Kind;

std::string text_of(const std::vector<int>& taps) {
  std::string text;
  for (int tap : taps) text += (text.empty() ? "{" : ", ") + std::to_string(tap);
  return text.empty() ? "{}" : text + "}";
}

template <class E>
[[noreturn]] void refuse(const std::string& message, const std::string& remedy, SourceLine where, const Variable& operand = {}) {
  ErrorParts parts{message, {}, {}, remedy};
  if (operand) parts.operands.push_back(describe(operand));
  if (where) parts.where = "built at " + to_string(where);
  throw E(std::move(parts));
}

Shape without_rows(Shape dims) {
  dims.erase(0);
  return dims;
}

/// A scan while it is put together.
class Builder {
 public:
  Builder(const ScanArguments& arguments, SourceLine where) : arguments_(arguments), name_(arguments.name), where_(where), at_(where) {
    plan_.truncation = arguments.truncate_gradient;
    if (plan_.truncation < -1) refuse<OptionError>(name_ + ": truncate_gradient is " + std::to_string(plan_.truncation), "give a number of steps, or -1 for all", where);
    add_count();
    for (std::size_t i = 0; i < arguments.sequences.size(); ++i) add_sequence(i);
    for (std::size_t i = 0; i < arguments.initial.size(); ++i) add_initial(i);
    for (const Variable& other : arguments.others) {
      if (!other) refuse<GraphError>(name_ + ": one of the others is an empty Variable", "leave it out", where);
    }
  }

  /// Calls the step and gives the node; the plan's first outputs are the user's.
  Apply build(const StepFunction& step) {
    std::vector<Variable> outputs = call(step);
    std::vector<Variable> own = rows_;
    own.insert(own.end(), lags_.begin(), lags_.end());
    std::vector<Variable> leading = count_;
    leading.insert(leading.end(), sequences_.begin(), sequences_.end());
    leading.insert(leading.end(), initials_.begin(), initials_.end());
    try {
      return make_loop(plan_, std::move(own), std::move(outputs), std::move(leading), name_, where_);
    } catch (Error& error) {
      error.add_where("built at " + to_string(where_));
      throw;
    }
  }

  /// The limit must not be reached.
  void require_end() { plan_.must_end = true; }
  std::size_t output_count() const { return outputs_; }
  const LoopPlan& plan() const { return plan_; }

 private:
  void add_count() {
    if (!arguments_.steps) {
      if (arguments_.sequences.empty()) refuse<GraphError>(name_ + " has neither sequences nor a number of steps", "give .steps", where_);
      plan_.counter = 0;
      plan_.is_exact = plan_.is_tight = true;
      return;
    }
    const Variable& steps = arguments_.steps->variable();
    if (!steps) {
      plan_.count = std::min(arguments_.steps->number(), kMostLoopSteps);
      if (plan_.count < 0) refuse<OptionError>(name_ + ": the number of steps is " + std::to_string(plan_.count), "give 0 or more", where_);
    } else if (const ConstantPtr& constant = steps.constant(); constant && constant->is_scalar() && is_integer(steps.dtype())) {
      plan_.count = std::min(constant->scalar().as_int(), kMostLoopSteps);
      if (plan_.count < 0) refuse<OptionError>(name_ + ": the number of steps is " + std::to_string(plan_.count), "give 0 or more", where_);
    } else {
      if (!is_integer(steps.dtype())) refuse<TypeError>(name_ + ": the number of steps is no integer", "cast it to int64", where_, steps);
      if (steps.rank() != 0) refuse<ShapeError>(name_ + ": the number of steps must be 0-d", "give one number", where_, steps);
      plan_.has_count_input = true;
      count_.push_back(steps);
    }
  }

  void add_sequence(std::size_t number) {
    const Sequence& sequence = arguments_.sequences[number];
    const std::string label = name_ + ": sequence " + std::to_string(number);
    if (!sequence.variable) refuse<GraphError>(label + " is an empty Variable", "give a tensor", where_);
    if (sequence.variable.rank() == 0) refuse<ShapeError>(label + " has no rows", "give a tensor whose axis 0 is that of the steps, or use it in the step as it is", where_, sequence.variable);
    if (sequence.taps.empty()) refuse<OptionError>(label + " has no taps", "give {0} for each step's own row", where_);
    const auto [least, greatest] = std::minmax_element(sequence.taps.begin(), sequence.taps.end());
    const std::int64_t low = std::min(0, *least), high = std::max(0, *greatest);
    Variable tensor = sequence.variable;
    if (arguments_.go_backwards) tensor = flip(at_(tensor), 0);
    for (int tap : sequence.taps) {
      sequences_.push_back(tensor);
      plan_.sequences.push_back({arguments_.go_backwards ? high - tap : tap - low, high - low});
      rows_.push_back(input({tensor.dtype(), without_rows(tensor.dims())}, named(sequence.variable, tap), where_));
    }
  }

  void add_initial(std::size_t number) {
    const Initial& initial = arguments_.initial[number];
    LoopOutput output;
    if (initial.variable) {
      const std::string label = name_ + ": output " + std::to_string(number);
      std::set<int> seen;
      for (int tap : initial.taps) {
        if (tap < 0 && seen.insert(tap).second) continue;
        refuse<OptionError>(label + " has the taps " + text_of(initial.taps), "taps of outputs are below 0, each once: -1 is the value of the step before", where_);
      }
      if (initial.taps.empty()) refuse<OptionError>(label + " has an initial value and no taps", "give {-1}, or {} in its place for an output that no step reads", where_);
      output.kind = Kind::kState;
      for (int tap : initial.taps) output.lags.push_back(-tap);
      output.depth = -*seen.begin();
      const bool is_one = initial.taps == std::vector{-1};
      if (!is_one && initial.variable.rank() == 0) {
        refuse<ShapeError>(label + ": the initial value for the taps " + text_of(initial.taps) + " has no rows", "give " + std::to_string(output.depth) + " rows along a leading axis, the oldest first", where_, initial.variable);
      }
      const Variable rows = is_one ? expand_dims(at_(initial.variable), 0) : initial.variable;
      initials_.push_back(rows);
      for (int tap : initial.taps) lags_.push_back(input({rows.dtype(), without_rows(rows.dims())}, named(initial.variable, tap), where_));
    }
    plan_.outputs.push_back(std::move(output));
  }

  static std::string named(const Variable& variable, int tap) {
    if (variable.name().empty()) return {};
    return variable.name() + (tap == 0 ? "[t]" : tap < 0 ? "[t" + std::to_string(tap) + "]" : "[t+" + std::to_string(tap) + "]");
  }

  std::vector<Variable> call(const StepFunction& step) {
    std::vector<Variable> arguments = rows_;
    arguments.insert(arguments.end(), lags_.begin(), lags_.end());
    arguments.insert(arguments.end(), arguments_.others.begin(), arguments_.others.end());
    StepDraws draws;
    ScanStep made = [&] {
      const StepDraws::Scope scope(draws);
      return step(arguments);
    }();
    outputs_ = made.outputs.size();
    if (!arguments_.initial.empty() && arguments_.initial.size() != outputs_) {
      refuse<GraphError>(name_ + ": the step gives " + std::to_string(outputs_) + (outputs_ == 1 ? " output, " : " outputs, ") + std::to_string(arguments_.initial.size()) + " have initial values",
                         "give an initial value for each, {} for one that no step reads", where_);
    }
    if (outputs_ == 0) refuse<GraphError>(name_ + ": the step gives nothing", "return what it computes", where_);
    plan_.outputs.resize(outputs_);
    for (std::size_t i = 0; i < outputs_; ++i) check_output(i, made.outputs[i]);
    for (const StepDraws::Stream& stream : draws.streams()) {
      LoopOutput state;
      state.kind = Kind::kState;
      state.lags = {1};
      state.depth = 1;
      plan_.outputs.push_back(std::move(state));
      initials_.push_back(expand_dims(at_(stream.initial(where_)), 0));
      lags_.push_back(stream.state);
      made.outputs.push_back(stream.next(where_));
    }
    if (made.until) {
      if (made.until.dtype() != bool_) refuse<TypeError>(name_ + ": the condition to end is no bool", "compare: norm < 1e-6", where_, made.until);
      if (made.until.rank() != 0) refuse<ShapeError>(name_ + ": the condition to end must be 0-d", "reduce it: all(x < y), any(x < y)", where_, made.until);
      plan_.has_until = true;
      made.outputs.push_back(made.until);
    }
    return std::move(made.outputs);
  }

  void check_output(std::size_t number, const Variable& made) {
    const std::string label = name_ + ": output " + std::to_string(number);
    if (!made) refuse<GraphError>(label + " of the step is an empty Variable", "return what it computes", where_);
    if (plan_.outputs[number].kind != Kind::kState) return;
    std::size_t lag = 0;
    for (std::size_t i = 0; i < number; ++i) lag += plan_.outputs[i].lags.size();
    const TensorType &begun = lags_[lag].type(), &type = made.type();
    const SourceLine line = made.where() ? made.where() : where_;
    const std::string differs = label + " begins as " + to_string(begun) + ", the step gives " + to_string(type);
    if (begun.dtype != type.dtype) {
      // The one whose kind the other would lose stays: a sum of floats that begins with the integer 0 wants a floating 0.
      const bool floats = is_floating(begun.dtype), mixed = floats != is_floating(type.dtype);
      const DType common = mixed ? (floats ? begun.dtype : type.dtype) : promote(begun.dtype, type.dtype);
      const std::string what = common == begun.dtype ? "what the step gives" : common == type.dtype ? "the initial value" : "both";
      refuse<TypeError>(differs, "cast " + what + ": cast(x, " + std::string(damo::name(common)) + ")", line, made);
    }
    bool fits = begun.rank() == type.rank();
    for (int axis = 0; fits && axis < type.rank(); ++axis) fits = begun.dims[axis] == type.dims[axis] || begun.dims[axis] == kUnknown || type.dims[axis] == kUnknown;
    if (!fits) refuse<ShapeError>(differs, "give an initial value of the shape that steps give: broadcast_to(x, shape)", line, made);
  }

  const ScanArguments& arguments_;
  const std::string& name_;
  SourceLine where_;
  At at_;
  LoopPlan plan_;
  std::vector<Variable> count_, sequences_, initials_;  // inputs of the node
  std::vector<Variable> rows_, lags_;                   // of the step
  std::size_t outputs_ = 0;
};

/// What the last step left, or the initial value.
std::vector<Variable> last_rows(const Builder& builder, const Apply& node, SourceLine where) {
  std::vector<Variable> last;
  for (std::size_t i = 0; i < builder.output_count(); ++i) last.push_back(subtensor(At(where)(node.output(static_cast<int>(i))), {-1}));
  return last;
}

}  // namespace

void require_arguments(const std::string& name, std::size_t given, int taken, SourceLine where) {
  if (given == static_cast<std::size_t>(taken)) return;
  refuse<GraphError>(name + ": the step takes " + std::to_string(taken) + " arguments, it is given " + std::to_string(given),
                     "it gets a row for each tap of each sequence, then a value for each tap of each output with an initial value, then the others", where);
}

ScanOutputs scan(const ScanArguments& arguments, const StepFunction& step, SourceLine where) {
  Builder builder(arguments, where);
  const Apply node = builder.build(step);
  std::vector<Variable> outputs;
  for (std::size_t i = 0; i < builder.output_count(); ++i) {
    const std::int64_t depth = builder.plan().outputs[i].depth;
    const Variable all = node.output(static_cast<int>(i));
    outputs.push_back(depth == 0 ? all : subtensor(At(where)(all), {Index(depth, std::nullopt)}));
  }
  return outputs;
}

ScanOutputs reduce(const ScanArguments& arguments, const StepFunction& step, SourceLine where) {
  if (arguments.initial.empty()) refuse<GraphError>("reduce has no initial value", "give one for each output of the step", where);
  for (const Initial& initial : arguments.initial) {
    if (!initial.variable) refuse<GraphError>("reduce: an initial value is an empty Variable", "give one for each output of the step", where);
  }
  Builder builder(arguments, where);
  const Apply node = builder.build(step);
  return last_rows(builder, node, where);
}

ScanOutputs while_loop(std::span<const Variable> initial, const StepFunction& condition, const StepFunction& step, std::int64_t limit, SourceLine where) {
  if (limit < 1) refuse<OptionError>("while_loop: the limit is " + std::to_string(limit), "give 1 or more steps", where);
  const auto holds = [&](std::span<const Variable> values) {
    const ScanStep made = condition(values);
    if (made.outputs.size() != 1 || !made.outputs[0]) refuse<GraphError>("while_loop: the condition gives " + std::to_string(made.outputs.size()) + " values", "return one bool of rank 0", where);
    const Variable& value = made.outputs[0];
    if (value.dtype() != bool_) refuse<TypeError>("while_loop: the condition is no bool", "compare: norm >= 1e-6", where, value);
    if (value.rank() != 0) refuse<ShapeError>("while_loop: the condition must be 0-d", "reduce it: all(x < y), any(x < y)", where, value);
    return value;
  };
  const At at(where);
  ScanArguments arguments{.name = "while_loop"};
  for (const Variable& value : initial) {
    if (!value) refuse<GraphError>("while_loop: an initial value is an empty Variable", "give one for each value that goes round", where);
    arguments.initial.emplace_back(value);
  }
  arguments.steps = mul(at(cast_at(holds(initial), int64, where)), limit);
  Builder builder(arguments, where);
  builder.require_end();
  const Apply node = builder.build([&](std::span<const Variable> values) {
    ScanStep made = step(values);
    made.until = invert(at(holds(made.outputs)));
    return made;
  });
  return last_rows(builder, node, where);
}

}  // namespace detail
}  // namespace damo
