// Loops in graphs: scan() computes one step again and again, and is differentiated, rewritten and compiled as the rest of the graph is. map(),
// reduce() and while_loop() are scans. ifelse() computes the one of two values that a condition names.
//
//   auto states = scan({.sequences = {xs}, .initial = {h0}},                                  // xs: (steps, n), h0: (n,)
//                      [&](const Variable& x, const Variable& h) { return tanh(dot(x, u) + dot(h, v)); });
//   Variable last = subtensor(states[0], {-1});                                              // of (steps, n)
//
// The step is called once, with Variables that stand for any step's values, and returns a Variable, several (std::vector, std::pair) or a
// ScanStep with a condition to end. Its arguments, in this order: for each sequence its rows at the sequence's taps, for each output with an
// initial value its earlier values at the output's taps, then `others`. Whatever else of the graph the step uses (inputs, shared variables, constants, values
// computed outside) it just uses; what depends on no argument is computed once, before the loop.
//
// Taps. A sequence with taps {-1, 0, 1} gives the step three rows, of the step before, its own and the next (backwards too those that lie before and
// behind in the tensor, as in Theano); the loop begins where all are there. An output with taps {-1, -2} gives its two last values; its initial value
// then has a leading axis of two, the oldest first. With the one tap -1 it is the value itself. An entry {} in `initial` is an output that no step
// reads; no entries at all: so are all outputs. All values of an output have one dtype and shape: TypeError or ShapeError with the step's line where
// the step gives another than it began with.
//
// Steps. As many as the sequences have rows, which must agree; or `steps`, a number or an integer Variable of rank 0, of which the sequences
// need no less. Zero steps give outputs with no rows. With ScanStep::until the loop ends after the first step that gives true, at the latest after `steps` or
// the sequences' rows, which then are the limit: outputs have as many rows as there were steps.
//
// Gradients of any order go through; a loop that goes back keeps what the gradient reads. .truncate_gradient = k goes back k steps from the
// last one: what is earlier counts as constant. Gradients of values that all steps use are sums over the steps, of 16-bit floats in float32. loop_checkpoints.hpp keeps
// fewer states.
//
// Random draws in a step are other ones at each step: the stream gives the loop a key, and each step goes on where the one before was.
//
// Memory: all rows of an output, or, where only the last ones are read (subtensor(y, {-1}), {{-3, {}}}), as many as those and the taps need. Rows are
// written where they belong, and read there. Products that no step need compute itself are one product for all steps (push_out_of_loops, docs/rewrites.md).
// Cost: the step's kernels, once a step; a step of one kernel adds about 0.2 us on the CPU. A loop whose
// steps are elementwise, and give values of one shape, is one kernel with the loop inside, without `until` (explain() says one_kernel; Options::disable = {"fuse_loops"}). Shared variables
// are read by steps and updated behind the call, as everywhere. Two scans that are alike are two loops: keep what scan() gives. Where the number of
// steps is known the loop does not wait for the device; one that reads `until`, or a Variable number of steps, does.
// See tests/loop/scan_test.cpp and examples/56_character_lstm.cpp.
#pragma once
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <damo/variable.hpp>

namespace damo {

/// A tensor whose rows, along axis 0, the steps read.
struct Sequence {
  Sequence(Variable tensor, std::vector<int> at = {0}) : variable(std::move(tensor)), taps(std::move(at)) {}
  Variable variable;
  std::vector<int> taps;  ///< 0: the step's own row, -1 the one before, 1 the next
};

/// What an output begins with. {}: no step reads it.
struct Initial {
  Initial() = default;
  Initial(Variable value, std::vector<int> at = {-1}) : variable(std::move(value)), taps(std::move(at)) {}
  Variable variable;
  std::vector<int> taps;  ///< -1: of the step before
};

/// How many steps: a number or an integer Variable of rank 0.
class StepCount {
 public:
  template <class T>
    requires std::is_integral_v<T>
  StepCount(T number) : number_(static_cast<std::int64_t>(number)) {}
  StepCount(Variable variable) : variable_(std::move(variable)) {}
  std::int64_t number() const { return number_; }
  /// Empty where it is a number.
  const Variable& variable() const { return variable_; }

 private:
  std::int64_t number_ = 0;
  Variable variable_;
};

struct ScanArguments {
  std::vector<Sequence> sequences = {};
  std::vector<Initial> initial = {};            ///< one for each output, or none
  std::vector<Variable> others = {};            ///< passed to the step as they are
  std::optional<StepCount> steps = {};          ///< default: the sequences' rows
  bool go_backwards = false;                    ///< the sequences from their last row on; outputs are in the order of the steps
  std::int64_t truncate_gradient = -1;          ///< steps that gradients go back; -1: all
  std::string name = "scan";                    ///< for prints and errors
};

/// What a step gives.
struct ScanStep {
  ScanStep(Variable output) : outputs{std::move(output)} {}
  ScanStep(std::vector<Variable> outputs, Variable until = {}) : outputs(std::move(outputs)), until(std::move(until)) {}
  template <std::same_as<std::pair<Variable, Variable>> Two>  // what is in braces is no pair: ScanStep({a, b}) has two outputs of a list
  ScanStep(Two two) : outputs{std::move(two.first), std::move(two.second)} {}
  std::vector<Variable> outputs;
  Variable until;  ///< bool of rank 0: true ends the loop behind this step
};

/// The outputs, each with an axis of steps in front; a Variable where there is one.
class ScanOutputs : public std::vector<Variable> {
 public:
  using std::vector<Variable>::vector;
  ScanOutputs(std::vector<Variable> outputs) : std::vector<Variable>(std::move(outputs)) {}
  operator const Variable&() const { return only(); }

 private:
  const Variable& only() const;
};

namespace detail {

inline constexpr int kMostArguments = 24;
using StepFunction = std::function<ScanStep(std::span<const Variable>)>;

template <class F, std::size_t... i>
ScanStep call_step(const F& step, [[maybe_unused]] std::span<const Variable> arguments, std::index_sequence<i...>) {
  return ScanStep(step(arguments[i]...));
}
template <std::size_t>
using AnyVariable = const Variable&;
template <class F, std::size_t... i>
constexpr bool takes(std::index_sequence<i...>) { return std::is_invocable_v<const F&, AnyVariable<i>...>; }
/// How many Variables it is called with: the least number that fits; -1 if none does.
template <class F, int count = 0>
constexpr int argument_count() {
  if constexpr (takes<F>(std::make_index_sequence<count>())) return count;
  else if constexpr (count < kMostArguments) return argument_count<F, count + 1>();
  else return -1;
}

void require_arguments(const std::string& name, std::size_t given, int taken, SourceLine where);

/// Of a callable that takes Variables one by one, or all of them as a span.
template <class F>
StepFunction step_function(F step, std::string name, SourceLine where) {
  constexpr int count = argument_count<F>();
  if constexpr (count >= 0) {
    return [step = std::move(step), name = std::move(name), where](std::span<const Variable> arguments) {
      require_arguments(name, arguments.size(), count, where);
      return call_step(step, arguments, std::make_index_sequence<static_cast<std::size_t>(count)>());
    };
  } else {
    static_assert(std::is_invocable_v<const F&, std::span<const Variable>>, "a step takes const Variable& for each argument, or std::span<const Variable>");
    return [step = std::move(step)](std::span<const Variable> arguments) { return ScanStep(step(arguments)); };
  }
}

ScanOutputs scan(const ScanArguments& arguments, const StepFunction& step, SourceLine where);
ScanOutputs reduce(const ScanArguments& arguments, const StepFunction& step, SourceLine where);
ScanOutputs while_loop(std::span<const Variable> initial, const StepFunction& condition, const StepFunction& step, std::int64_t limit, SourceLine where);

}  // namespace detail

/// See above. step: takes const Variable& for each argument (a lambda with auto does), or one std::span<const Variable>. Throws GraphError for
/// a step that takes another number of arguments or gives another number of outputs than `initial` has; TypeError and ShapeError for sequences
/// without rows to give, values that do not fit, and a condition that is no bool of rank 0; OptionError for taps that are none.
template <class F>
ScanOutputs scan(const ScanArguments& arguments, F step, SourceLine where = {__builtin_FILE(), __builtin_LINE()}) {
  return detail::scan(arguments, detail::step_function(std::move(step), arguments.name, where), where);
}

/// f of the rows of each sequence: a scan without values that go from step to step.
template <class F>
ScanOutputs map(std::vector<Sequence> sequences, F f, SourceLine where = {__builtin_FILE(), __builtin_LINE()}) {
  return detail::scan({.sequences = std::move(sequences), .name = "map"}, detail::step_function(std::move(f), "map", where), where);
}

/// What the last step gives, without an axis of steps: step(row of each sequence, value of each initial) from the first row to the last. The initial
/// value where there are no rows. Keeps nothing of the steps between, unless a gradient reads it.
template <class F>
ScanOutputs reduce(std::vector<Sequence> sequences, std::vector<Initial> initial, F step, SourceLine where = {__builtin_FILE(), __builtin_LINE()}) {
  return detail::reduce({.sequences = std::move(sequences), .initial = std::move(initial), .name = "reduce"}, detail::step_function(std::move(step), "reduce", where), where);
}

/// The values for which condition(values...) is false, from the initial ones on by values = step(values...): the initial ones if it is false of them.
/// condition gives a bool of rank 0. GraphError at the call if it still holds after `limit` steps. Gradients go through the steps that were made.
template <class Condition, class F>
ScanOutputs while_loop(std::vector<Variable> initial, Condition condition, F step, std::int64_t limit, SourceLine where = {__builtin_FILE(), __builtin_LINE()}) {
  return detail::while_loop(initial, detail::step_function(std::move(condition), "while_loop", where), detail::step_function(std::move(step), "while_loop", where), limit, where);
}

/// `then` where the condition, a bool of rank 0, is true at the call, else `otherwise`: only what the one that is asked for needs is computed, beside what
/// something else needs too. Pairs have one dtype and rank; extents that differ become unknown. The gradient is that of the one that was
/// taken, and zeros for the other. Waits for the device to read the condition. TypeError or ShapeError for what does not fit, with the line.
/// where() computes both and chooses element by element. See tests/loop/ifelse_test.cpp.
std::vector<Variable> ifelse(const Operand& condition, std::span<const Variable> then, std::span<const Variable> otherwise);
inline std::vector<Variable> ifelse(const Operand& condition, std::initializer_list<Variable> then, std::initializer_list<Variable> otherwise) {
  return ifelse(condition, std::span(then.begin(), then.size()), std::span(otherwise.begin(), otherwise.size()));
}
inline Variable ifelse(const Operand& condition, const Variable& then, const Variable& otherwise) {
  return ifelse(condition, std::span(&then, 1), std::span(&otherwise, 1)).front();
}

}  // namespace damo
