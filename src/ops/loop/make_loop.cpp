// From the Variables of a step to the node of a loop, and to one that gives less.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <damo/rewrite.hpp>
#include "graph/order.hpp"
#include "ops/elementwise_op.hpp"
#include "ops/loop/loop_op.hpp"

namespace damo {
namespace {

/// A number spread over a shape, which kernels write down rather than read.
bool is_fill(const Apply& node) {
  const auto* op = dynamic_cast<const ElementwiseOp*>(&node.op());
  return op && op->row().name == "second" && node.input(1).is_constant();
}

/// Finds what a step reads of the graph around it: values that follow from none of its own inputs, as far out as they go.
class Surroundings {
 public:
  Surroundings(std::span<const Variable> own, std::span<const Variable> outputs) {
    for (const Variable& variable : own) inside_.insert(variable.id());
    for (const Apply& node : needed_nodes(outputs, inside_)) {
      bool is_constant = true, is_inside = false;
      for (const Variable& input : node.inputs()) {
        is_constant &= input.is_constant() || constant_.contains(input.id());
        is_inside |= inside_.contains(input.id());
      }
      if (!is_inside && !is_constant) continue;
      for (const Variable& output : node.outputs()) (is_inside ? inside_ : constant_).insert(output.id());
    }
    for (const Variable& output : outputs) read(output);
    while (!waiting_.empty()) {
      const Apply node = std::move(waiting_.back());
      waiting_.pop_back();
      for (const Variable& input : node.inputs()) read(input);
    }
  }
  /// Each with what stands for it in the step.
  const std::vector<Assignment>& givens() const { return givens_; }

 private:
  void read(const Variable& variable) {
    if (variable.is_constant() || !seen_.insert(variable.id()).second) return;
    const bool is_kept = inside_.contains(variable.id()) || constant_.contains(variable.id());
    if (variable.has_owner() && (is_kept || is_fill(variable.owner()))) waiting_.push_back(variable.owner());
    else if (!is_kept) givens_.push_back({variable, input(variable.type(), variable.name(), variable.where())});
  }

  std::unordered_set<std::size_t> inside_;    // the step's own inputs and what follows from them
  std::unordered_set<std::size_t> constant_;  // what follows from constants alone
  std::unordered_set<std::size_t> seen_;
  std::vector<Apply> waiting_;
  std::vector<Assignment> givens_;
};

/// Which free Variables the outputs read.
std::unordered_set<std::size_t> leaves_of(std::span<const Variable> outputs) {
  std::unordered_set<std::size_t> leaves;
  for (const Variable& output : outputs) leaves.insert(output.id());
  for (const Apply& node : needed_nodes(outputs)) {
    for (const Variable& input : node.inputs()) leaves.insert(input.id());
  }
  return leaves;
}

}  // namespace

Apply make_loop(const LoopPlan& plan, std::vector<Variable> own, std::vector<Variable> outputs, std::vector<Variable> leading, const std::string& name, SourceLine where) {
  const Surroundings around(own, outputs);
  LoopBody body{std::move(own), substitute(outputs, around.givens(), true)};
  for (const Assignment& given : around.givens()) {
    leading.push_back(given.variable);
    body.inputs.push_back(given.value);
  }
  return std::make_shared<const LoopOp>(plan, std::move(body), name)->apply(leading, where);
}

TrimmedLoop trim(const LoopOp& loop, int node_inputs, const std::vector<char>& wanted, const std::vector<LoopOutput>& outputs) {
  const LoopPlan& old = loop.plan();
  const std::size_t count = outputs.size();
  // States that the wanted outputs' steps read, and those that these read.
  std::vector<char> stays = wanted;
  std::vector<std::size_t> owner_of_lag;
  for (std::size_t i = 0; i < count; ++i) owner_of_lag.insert(owner_of_lag.end(), outputs[i].lags.size(), i);
  const Variable* const lags = loop.body().inputs.data() + old.sequences.size();
  std::unordered_set<std::size_t> leaves;
  for (bool grows = true; grows;) {
    std::vector<Variable> made;
    for (std::size_t i = 0; i < count; ++i) {
      if (stays[i]) made.push_back(loop.body().outputs[i]);
    }
    if (old.has_until) made.push_back(loop.body().outputs.back());
    leaves = leaves_of(made);
    grows = false;
    for (std::size_t lag = 0; lag < owner_of_lag.size(); ++lag) {
      if (stays[owner_of_lag[lag]] || !leaves.contains(lags[lag].id())) continue;
      stays[owner_of_lag[lag]] = grows = true;
    }
  }
  TrimmedLoop trimmed;
  LoopPlan plan = old;
  LoopBody body;
  plan.sequences.clear();
  plan.outputs.clear();
  if (old.has_count_input) trimmed.inputs.push_back(0);
  std::vector<int> place(old.sequences.size(), -1);
  for (std::size_t i = 0; i < old.sequences.size(); ++i) {
    const bool is_like = std::any_of(outputs.begin(), outputs.end(), [&](const LoopOutput& output) { return output.like == static_cast<int>(i) && stays[static_cast<std::size_t>(&output - outputs.data())]; });
    if (!is_like && !old.is_exact && static_cast<int>(i) != old.counter && !leaves.contains(loop.body().inputs[i].id())) continue;
    place[i] = static_cast<int>(plan.sequences.size());
    plan.sequences.push_back(old.sequences[i]);
    body.inputs.push_back(loop.body().inputs[i]);
    trimmed.inputs.push_back(old.first_sequence() + static_cast<int>(i));
  }
  if (old.counter >= 0) plan.counter = place[static_cast<std::size_t>(old.counter)];
  std::size_t lag = 0;
  for (std::size_t i = 0; i < count; ++i) {
    LoopOutput output = outputs[i];
    for (std::size_t k = 0; k < output.lags.size(); ++k, ++lag) {
      if (stays[i]) body.inputs.push_back(lags[lag]);
    }
    if (!stays[i]) continue;
    if (output.like >= 0) output.like = place[static_cast<std::size_t>(output.like)];
    if (const int initial = old.initial_input(i); initial >= 0) trimmed.inputs.push_back(initial);
    plan.outputs.push_back(std::move(output));
    body.outputs.push_back(loop.body().outputs[i]);
    trimmed.outputs.push_back(static_cast<int>(i));
  }
  if (old.has_until) body.outputs.push_back(loop.body().outputs.back());
  for (int input = old.first_other(), at = static_cast<int>(old.own_inputs()); input < node_inputs; ++input, ++at) {
    const Variable& other = loop.body().inputs[static_cast<std::size_t>(at)];
    if (!leaves.contains(other.id())) continue;
    trimmed.inputs.push_back(input);
    body.inputs.push_back(other);
  }
  trimmed.op = std::make_shared<const LoopOp>(std::move(plan), std::move(body), loop.name());
  return trimmed;
}

}  // namespace damo
