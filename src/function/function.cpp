// The table of contents: snapshot -> passes -> fusion -> plan -> Function, one line a step.
#include <damo/function.hpp>

#include <algorithm>
#include <chrono>

#include "function/function_data.hpp"
#include "graph/base/environment.hpp"
#include "graph/rewrite/pass_names.hpp"
#include "ops/elementwise_op.hpp"
#include "ops/random/stream_state.hpp"
#include "ops/rewrites/pipeline.hpp"

namespace damo {

namespace {

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
  data->graph = rewrite_graph(std::move(data->graph), options, device, &data->report.passes);
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
