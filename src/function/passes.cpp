#include "function/passes.hpp"

#include <utility>

#include <damo/log.hpp>
#include "function/nan_guard.hpp"
#include "graph/rewrite/pass_names.hpp"
#include "ops/gradient_mark.hpp"
#include "ops/random/stream_state.hpp"
#include "ops/rewrites/forward_shapes.hpp"
#include "ops/rewrites/fuse_products.hpp"
#include "ops/rewrites/fusion.hpp"
#include "ops/rewrites/join_sinks.hpp"
#include "ops/rewrites/simplify.hpp"

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
  for (Assignment& update : stream_updates(values, updates)) updates.push_back(std::move(update));
  values.resize(outputs.size());
  if (options.nan_guard) values.push_back(guard_of(values, updates));
  const bool warns = options.warn_of_unused_inputs && !options.allow_unused_inputs;
  FunctionGraph graph(inputs, values, options.allow_unused_inputs || warns, updates);
  if (warns) warn_of_unused(graph, inputs);
  return drop_gradient_marks(std::move(graph));
}

std::vector<Pass> fusion_passes(const Options& options) {
  return {{std::string(kFuseElementwise), [limits = options.fusion](FunctionGraph graph) { return fuse_elementwise(std::move(graph), limits); }}, {std::string(kJoinSinks), join_sinks}};
}

std::vector<Pass> passes_of(const Options& options, Device device) {
  std::vector<Pass> passes = {{std::string(kMergeDuplicates), merge_duplicates}};
  passes.insert(passes.end(), options.passes.begin(), options.passes.end());
  static const std::vector<Rule> exact = simplification_rules(false), regrouping = simplification_rules(true);
  const std::vector<Rule>& rules = options.reassociate ? regrouping : exact;
  passes.push_back({.name = std::string(kSimplify), .rules = rules});
  passes.push_back({std::string(kForwardShapes), [&rules, names = with_environment(options.disable)](FunctionGraph graph) {
                      const int before = graph.node_limit();
                      graph = forward_shapes(std::move(graph));
                      return graph.node_limit() == before ? graph : apply_rules(std::move(graph), rules, names);  // x * 1 is left of a fill
                    }});
  if (options.tf32) passes.push_back({std::string(kUseTf32), use_tf32});
  if (options.fuse) {
    passes.push_back({std::string(kFuseProducts), [device](FunctionGraph graph) { return fuse_products(std::move(graph), device); }});
    for (Pass& pass : fusion_passes(options)) passes.push_back(std::move(pass));
  }
  return passes;
}

std::vector<std::string> disabled_passes(const Options& options) {
  std::vector<std::string> names = options.disable;
  if (!options.rewrite) names.insert(names.end(), {std::string(kSimplify), std::string(kForwardShapes)});
  return names;
}

}  // namespace damo
