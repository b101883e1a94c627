// The table of contents: snapshot -> passes -> fusion -> plan -> Function, one line a step.
#include <damo/function.hpp>

#include <algorithm>
#include <chrono>

#include "function/function_data.hpp"
#include "graph/base/environment.hpp"
#include "graph/rewrite/pass_names.hpp"
#include "ops/elementwise_op.hpp"
#include "ops/rewrites/forward_shapes.hpp"
#include "ops/random/stream_state.hpp"
#include "ops/rewrites/fuse_products.hpp"
#include "ops/rewrites/fusion.hpp"
#include "ops/rewrites/join_sinks.hpp"
#include "ops/rewrites/simplify.hpp"

namespace damo {

namespace {

std::vector<Pass> passes_of(const Options& options, Device device) {
  std::vector<Pass> passes = {{std::string(kMergeDuplicates), merge_duplicates}};
  passes.insert(passes.end(), options.passes.begin(), options.passes.end());
  static const std::vector<Rule> exact = simplification_rules(false), regrouping = simplification_rules(true);
  const std::vector<Rule>& rules = options.reassociate ? regrouping : exact;
  passes.push_back({.name = std::string(kSimplify), .rules = rules});
  passes.push_back({std::string(kForwardShapes), [&rules, names = with_environment(options.disable)](FunctionGraph graph) {
                      const int before = graph.node_limit();
                      graph = forward_shapes(std::move(graph));
                      if (graph.node_limit() == before) return graph;
                      return apply_rules(std::move(graph), rules, names);  // x * 1 is left of a fill
                    }});
  if (options.tf32) passes.push_back({std::string(kUseTf32), use_tf32});
  if (options.fuse) {
    passes.push_back({std::string(kFuseProducts), [device](FunctionGraph graph) { return fuse_products(std::move(graph), device); }});
    passes.push_back({std::string(kFuseElementwise), [limits = options.fusion](FunctionGraph graph) { return fuse_elementwise(std::move(graph), limits); }});
    passes.push_back({std::string(kJoinSinks), join_sinks});
  }
  return passes;
}

std::vector<std::string> disabled(const Options& options) {
  std::vector<std::string> names = options.disable;
  if (!options.rewrite) names.insert(names.end(), {std::string(kSimplify), std::string(kForwardShapes)});
  return names;
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

FunctionGraph graph_of(std::span<const Variable> inputs, std::span<const Variable> outputs, const Options& options) {
  std::vector<Variable> values(outputs.begin(), outputs.end());
  for (const Assignment& update : options.updates) values.push_back(update.value);
  if (!options.givens.empty()) values = substitute(values, options.givens, options.allow_unused_inputs);
  std::vector<Assignment> updates = options.updates;
  for (std::size_t i = 0; i < updates.size(); ++i) updates[i].value = values[outputs.size() + i];
  for (Assignment& update : stream_updates(values, updates)) updates.push_back(std::move(update));
  return FunctionGraph(inputs, std::span(values).first(outputs.size()), options.allow_unused_inputs, updates);
}

std::vector<int> positions_of(const std::vector<Variable>& donated, std::span<const Variable> inputs) {
  std::vector<int> positions;
  for (const Variable& variable : donated) {
    const auto found = std::find_if(inputs.begin(), inputs.end(), [&](const Variable& input) { return input.is_same(variable); });
    if (found == inputs.end()) throw GraphError("donate: " + (variable ? describe(variable) : "an empty Variable") + " is no input of the function", "name inputs alone: shared variables are updated in place anyway");
    positions.push_back(static_cast<int>(found - inputs.begin()));
  }
  return positions;
}

std::string in_function(const Function& function, SourceLine where) {
  return "in function " + (function.name().empty() ? "" : function.name() + " ") + "built at " + to_string(where);
}

}  // namespace

bool Options::default_tf32() { return is_switched_on("DAMO_TF32"); }

Function function(std::span<const Variable> inputs, std::span<const Variable> outputs, const Options& options, SourceLine where) {
  const auto start = std::chrono::steady_clock::now();
  const Device device = options.device ? *options.device : Device();
  auto data = std::make_shared<Function::Data>();
  data->options = options;
  data->where = where;
  data->graph = graph_of(inputs, outputs, options);
  data->options.updates.clear();  // the graph has them
  data->options.givens.clear();
  const std::vector<int> donated = positions_of(options.donate, inputs);
  data->options.donate.clear();
  check_names_of_rows(data->graph);
  data->graph = run_passes(std::move(data->graph), passes_of(options, device), &data->report.passes, disabled(options));
  data->report.graph_milliseconds = milliseconds_since(start);
  const auto compiling = std::chrono::steady_clock::now();
  data->executor = std::make_unique<Executor>(data->graph, device, options.profile, options.check, options.share_results, options.replay && !is_disabled(kReplay), donated);
  data->report.compile_milliseconds = milliseconds_since(compiling);
  return Function(std::move(data));
}

Results Function::call(std::span<const Array> inputs) const {
  try {
    return data_->executor->call(inputs);
  } catch (Error& error) {
    error.add_where(in_function(*this, data_->where));
    throw;
  }
}

Results Function::call_with(std::span<Array> inputs) const {
  try {
    return data_->executor->call(inputs, inputs);
  } catch (Error& error) {
    error.add_where(in_function(*this, data_->where));
    throw;
  }
}

const Array& Results::only() const {
  if (size() == 1) return front();
  throw GraphError("the function has " + std::to_string(size()) + " results, not one", "take them with call<n>() or by index");
}

void Function::require_results(std::size_t have, std::size_t wanted) {
  if (have >= wanted) return;
  throw GraphError("call<" + std::to_string(wanted) + ">: the function has " + std::to_string(have) + " results");
}

const std::string& Function::name() const { return data_->options.name; }
Device Function::device() const { return data_->executor->program().device(); }
const FunctionGraph& Function::graph() const { return data_->graph; }
const BuildReport& Function::build_report() const { return data_->report; }
Profile Function::profile() const { return data_->executor->profile(); }
CallPlan Function::plan(std::span<const Shape> shapes) const {
  try {
    return data_->executor->plan(shapes);
  } catch (Error& error) {
    error.add_where(in_function(*this, data_->where));
    throw;
  }
}
void Function::free_memory() const { data_->executor->free_memory(); }

std::vector<KernelInfo> Function::kernels() const {
  std::vector<KernelInfo> all;
  const Program& program = data_->executor->program();
  for (std::size_t node = 0; node < program.nodes().size(); ++node) {
    for (const SpecKernel* kernel : program.kernels(static_cast<int>(node))) {
      for (const SpecKernel::Variant* variant : kernel->variants()) {
        const LoadedKernel& code = *variant->kernels[0];
        all.push_back({code.name(), to_string(variant->layout), kernel->source(variant->layout), code.registers, code.local_bytes});
      }
    }
  }
  return all;
}

}  // namespace damo
