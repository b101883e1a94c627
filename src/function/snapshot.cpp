#include "function/snapshot.hpp"

#include <utility>

#include <damo/log.hpp>
#include "ops/gradient_mark.hpp"
#include "ops/random/random_op.hpp"
#include "ops/random/stream_state.hpp"

namespace damo {
namespace {

void warn_of_unused(const FunctionGraph& graph, std::span<const Variable> inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (graph.uses(graph.inputs()[i]).empty()) log(LogLevel::kWarning, "function: input " + std::to_string(i) + " (" + describe(inputs[i]) + ") is used by no output");
  }
}

}  // namespace

FunctionGraph graph_of(std::span<const Variable> inputs, std::span<const Variable> outputs, const Options& options) {
  std::vector<Variable> values(outputs.begin(), outputs.end());
  for (const Assignment& update : options.updates) values.push_back(update.value);
  if (!options.givens.empty()) values = substitute(values, options.givens, options.allow_unused_inputs || options.warn_of_unused_inputs);
  std::vector<Assignment> updates = options.updates;
  for (std::size_t i = 0; i < updates.size(); ++i) updates[i].value = values[outputs.size() + i];
  std::vector<Variable> results(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(outputs.size()));
  const bool warns = options.warn_of_unused_inputs && !options.allow_unused_inputs;
  const auto snapshot = [&] { return FunctionGraph(inputs, results, options.allow_unused_inputs || warns, updates); };
  FunctionGraph graph = snapshot();
  if (graph.has_op<DrawOp>()) {  // else nobody pays for the walk that looks for draws' states
    const std::size_t asked = updates.size();
    for (Assignment& update : stream_updates(values, updates)) updates.push_back(std::move(update));
    if (updates.size() > asked) graph = snapshot();
  }
  if (warns) warn_of_unused(graph, inputs);
  return drop_gradient_marks(std::move(graph));
}

}  // namespace damo
