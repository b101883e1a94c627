// A loop over stretches of steps, each of which is a loop: the gradient of the outer one keeps what stretches begin with, and its step runs a stretch again before it goes
// back through it.
#include <damo/loop_checkpoints.hpp>
#include <damo/op.hpp>

#include <algorithm>

#include <damo/ops/shape.hpp>
#include <damo/ops/subtensor.hpp>
#include "ops/gradient_parts.hpp"

namespace damo::detail {
namespace {

/// (n, ...) as (n / length, length, ...): a view of any strides.
class StretchesOp final : public Op {
 public:
  StretchesOp(std::int64_t count, std::int64_t length) : count_(count), length_(length) {}
  std::string name() const override { return "stretches"; }
  bool takes_float8() const override { return true; }
  Props props() const override { return {{"count", count_}, {"length", length_}}; }
  Apply make_node(Inputs inputs) const override {
    inputs.require_count(1);
    Shape dims = inputs.at(0).dims();
    require_rows(dims[0]);
    dims[0] = length_;
    dims.insert(0, count_);
    return {*this, {inputs.at(0)}, {{inputs.at(0).dtype(), dims}}};
  }
  int view_of(int) const override { return 0; }
  Layout view_layout(const Apply&, std::span<const Layout> inputs) const override {
    Layout made = inputs[0];
    require_rows(made.shape[0]);
    made.shape[0] = length_;
    made.shape.insert(0, count_);
    made.strides.insert(0, length_ * made.strides[0]);
    return made;
  }
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override { return Gradients(flatten(At(node.where())(output_gradients[0]), 0, 1)); }

 private:
  void require_rows(std::int64_t rows) const {
    if (rows == kUnknown || rows == count_ * length_) return;
    throw ShapeError("scan_checkpoints: a sequence has " + std::to_string(rows) + " rows for " + std::to_string(count_ * length_) + " steps", "give it more rows, or fewer steps");
  }
  std::int64_t count_, length_;
};

template <class E>
[[noreturn]] void refuse(const ScanArguments& arguments, const std::string& message, const std::string& remedy, SourceLine where) {
  ErrorParts parts{arguments.name + ": " + message, {}, {}, remedy};
  if (where) parts.where = "built at " + to_string(where);
  throw E(std::move(parts));
}

/// The number of steps; throws for what stretches cannot do.
std::int64_t checked_steps(const ScanArguments& arguments, std::int64_t save_every, SourceLine where) {
  if (save_every < 1) refuse<OptionError>(arguments, "a state is to be saved every " + std::to_string(save_every) + " steps", "give 1 or more", where);
  if (arguments.truncate_gradient != -1) refuse<OptionError>(arguments, "checkpoints do not go with truncate_gradient", "use scan, which keeps the states that such a gradient reads", where);
  if (arguments.initial.empty()) refuse<GraphError>(arguments, "checkpoints are of outputs with initial values, and there are none", "use scan", where);
  for (const Initial& initial : arguments.initial) {
    if (!initial.variable) refuse<GraphError>(arguments, "checkpoints are of outputs with initial values, and one has none", "use scan", where);
    if (initial.taps != std::vector{-1}) refuse<OptionError>(arguments, "checkpoints are of outputs with the one tap -1", "use scan", where);
  }
  std::int64_t steps = arguments.steps ? arguments.steps->number() : kUnknown;
  const bool is_data = arguments.steps && arguments.steps->variable();
  for (const Sequence& sequence : arguments.sequences) {
    if (!sequence.variable) refuse<GraphError>(arguments, "a sequence is an empty Variable", "give a tensor", where);
    if (sequence.variable.rank() == 0) refuse<ShapeError>(arguments, "a sequence has no rows", "give a tensor whose axis 0 is that of the steps", where);
    if (sequence.taps != std::vector{0}) refuse<OptionError>(arguments, "checkpoints are of sequences with the one tap 0", "use scan", where);
    if (!arguments.steps && steps == kUnknown) steps = sequence.variable.dims()[0];
  }
  if (is_data || steps == kUnknown) refuse<GraphError>(arguments, "the number of steps is not known when the graph is built", "give .steps as a number, or sequences of known extent", where);
  if (steps < 0) refuse<OptionError>(arguments, "the number of steps is " + std::to_string(steps), "give 0 or more", where);
  return steps;
}

}  // namespace

ScanOutputs scan_checkpoints(const ScanArguments& arguments, std::int64_t save_every, const StepFunction& step, SourceLine where) {
  const std::int64_t steps = checked_steps(arguments, save_every, where), length = std::min(save_every, std::max<std::int64_t>(steps, 1)), whole = steps / length;
  const At at(where);
  std::vector<Variable> rows;
  for (const Sequence& sequence : arguments.sequences) rows.push_back(arguments.go_backwards ? flip(at(sequence.variable), 0) : sequence.variable);
  const StepFunction endless = [&](std::span<const Variable> values) {
    ScanStep made = step(values);
    if (made.until) refuse<GraphError>(arguments, "checkpoints do not go with a condition to end", "use scan", where);
    return made;
  };
  /// What the last of some steps leaves.
  const auto run = [&](std::span<const Variable> sequences, std::span<const Variable> begin, std::int64_t count) {
    ScanArguments inner{.others = arguments.others, .steps = count, .name = arguments.name};
    for (const Variable& sequence : sequences) inner.sequences.emplace_back(sequence);
    for (const Variable& value : begin) inner.initial.emplace_back(value);
    return reduce(inner, endless, where);
  };
  const std::size_t given = rows.size();
  ScanArguments outer{.initial = arguments.initial, .steps = whole, .name = arguments.name + "_checkpoints"};
  for (const Variable& sequence : rows) {
    const Variable part = sequence.dims()[0] == whole * length ? sequence : subtensor(at(sequence), {Index(0, whole * length)});
    outer.sequences.emplace_back(std::make_shared<const StretchesOp>(whole, length)->apply(std::span(&part, 1), where).output());
  }
  ScanOutputs states = scan(outer, [&](std::span<const Variable> values) { return ScanStep(run(values.first(given), values.subspan(given), length)); }, where);
  if (whole * length == steps) return states;
  std::vector<Variable> rest, begin;
  for (const Variable& sequence : rows) rest.push_back(subtensor(at(sequence), {Index(whole * length, steps)}));
  for (const Variable& state : states) begin.push_back(subtensor(at(state), {-1}));
  const ScanOutputs last = run(rest, begin, steps - whole * length);
  for (std::size_t i = 0; i < states.size(); ++i) states[i] = concatenate({states[i], expand_dims(at(last[i]), 0)}, 0, where);
  return states;
}

}  // namespace damo::detail
