// The table of contents: snapshot -> passes -> fusion -> plan -> Function, one line a step.
#include <damo/function.hpp>

#include <algorithm>
#include <chrono>
#include <unordered_set>

#include "function/function_data.hpp"
#include "function/nan_guard.hpp"
#include "function/snapshot.hpp"
#include "graph/base/counted.hpp"
#include "graph/base/environment.hpp"
#include "graph/base/pass_names.hpp"
#include "graph/user_line.hpp"
#include "ops/elementwise_op.hpp"
#include "ops/rewrites/pipeline.hpp"
#include "ops/rewrites/unfuse.hpp"
#include "runtime/exec/array_lists.hpp"
#include "runtime/exec/shared_state.hpp"
#include "runtime/memory/workspace.hpp"

namespace damo {

namespace {

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// Of an input that an option names.
std::size_t position_of(const std::string& option, const Variable& variable, std::span<const Variable> inputs, const std::string& remedy) {
  const auto found = std::find_if(inputs.begin(), inputs.end(), [&](const Variable& input) { return input.is_same(variable); });
  if (found == inputs.end()) throw GraphError(option + ": " + (variable ? describe(variable) : "an empty Variable") + " is no input of the function", remedy);
  return static_cast<std::size_t>(found - inputs.begin());
}

std::vector<int> positions_of(const std::vector<Variable>& donated, std::span<const Variable> inputs) {
  std::vector<int> positions;
  for (const Variable& variable : donated) positions.push_back(static_cast<int>(position_of("donate", variable, inputs, "name inputs alone: shared variables are updated in place anyway")));
  return positions;
}

std::vector<Array> defaults_of(const std::vector<InputDefault>& defaults, std::span<const Variable> inputs, Device device) {
  std::vector<Array> arrays(defaults.empty() ? 0 : inputs.size());
  for (const InputDefault& one : defaults) {
    const std::size_t position = position_of("defaults", one.input, inputs, "name inputs alone");
    const std::string label = "defaults: " + describe(one.input);
    if (arrays[position]) throw GraphError(label + " is given twice", "leave one of them out");
    if (!one.value) throw GraphError(label + " is an empty Array", "check the Array with if (array)");
    const std::string text = label + " cannot be " + describe(one.value);
    if (one.value.dtype() != one.input.dtype()) throw TypeError(text, "convert the values");
    if (!one.input.type().accepts(one.value.dtype(), one.value.shape())) throw ShapeError(text, "reshape it");
    if (one.value.device() != device) throw DeviceError(text, "copy it there with .to(Device(\"" + device.name() + "\"))");
    arrays[position] = one.value;
  }
  return arrays;
}

std::unique_ptr<Executor> executor_of(const FunctionGraph& graph, Device device, const Options& options, std::span<const int> donated) {
  return std::make_unique<Executor>(graph, device, options.profile, options.check, options.share_results, options.replay && !is_disabled(kReplay), options.nan_guard ? std::span<const int>() : donated, options.nan_guard, options.fp_contract);
}

/// check(), whose errors tell the line of the call that has this name, or was given the option of it.
template <class Check>
auto at_line(const char* name, SourceLine where, const Check& check) {
  return asked(name, check, std::span<const Variable>(), where);
}

std::string names_of_inputs(const FunctionGraph& graph) {
  std::string names;
  for (ValueId input : graph.inputs()) names += (names.empty() ? "" : ", ") + (graph.name(input).empty() ? "one without name" : graph.name(input));
  return names.empty() ? "none" : names;
}

bool is_among(std::span<const NamedArray> inputs, std::string_view name) {
  return std::any_of(inputs.begin(), inputs.end(), [&](const NamedArray& input) { return input.name == name; });
}

std::string in_function(const std::string& name, SourceLine where) { return "in function " + (name.empty() ? "" : name + " ") + "built at " + to_string(where); }

/// The graph that the Function begins with. An error has the line of the Variable that is to blame, which may stand far from the call, and that of the call.
FunctionGraph snapshot_of(std::span<const Variable> inputs, std::span<const Variable> outputs, const Options& options, SourceLine where) {
  try {
    return graph_of(inputs, outputs, options);
  } catch (Error& error) {
    error.add_call(in_function(options.name, where));
    throw;
  }
}

}  // namespace

bool Options::default_tf32() { return is_switched_on("DAMO_TF32"); }

Function function(std::span<const Variable> inputs, std::span<const Variable> outputs, const Options& options, SourceLine where) {
  const auto start = std::chrono::steady_clock::now();
  const WorkspaceScope none(nullptr);  // of a thunk that builds it
  const Device device = options.device ? *options.device : Device();
  auto data = std::make_shared<Function::Data>();
  data->options = options;
  data->where = where;
  data->graph = snapshot_of(inputs, outputs, options, where);
  data->options.updates.clear();  // the graph has them
  data->options.givens.clear();
  data->donated = at_line("donate", where, [&] { return positions_of(options.donate, inputs); });
  data->options.donate.clear();
  data->defaults = at_line("defaults", where, [&] { return defaults_of(options.defaults, inputs, device); });
  data->options.defaults.clear();
  data->is_plain = data->defaults.empty() && !options.nan_guard;
  check_disabled(options);
  check_names_of_rows(data->graph);
  data->graph = rewrite_graph(std::move(data->graph), options, device, &data->report.passes, &data->fusion);
  if (options.nan_guard) attach_guard(data->graph, data->fusion);
  data->report.graph_milliseconds = milliseconds_since(start);
  const auto compiling = std::chrono::steady_clock::now();
  data->executor = executor_of(data->graph, device, options, data->donated);
  data->report.compile_milliseconds = milliseconds_since(compiling);
  return Function(std::move(data));
}

const Function::Data& Function::held() const {
  if (!data_) [[unlikely]] throw GraphError("the Function has been moved to another one", "call that one, or copy it before");
  return *data_;
}

/// With defaults for inputs that are left out at the end, and the guard's look at the results.
Results Function::call_otherwise(std::span<const Array> inputs) const {
  const std::vector<Array>& defaults = held().defaults;
  ArrayList list(std::max(inputs.size(), defaults.size()));
  std::vector<Array>& all = *list;
  all.assign(inputs.begin(), inputs.end());
  while (all.size() < defaults.size() && defaults[all.size()]) all.push_back(defaults[all.size()]);
  if (!held().options.nan_guard) return held().executor->call(all);
  try {
    std::vector<Array> results = held().executor->call(all);
    results.resize(static_cast<std::size_t>(users_results(held().graph)));
    return results;
  } catch (const NotFiniteFound&) {
  }
  throw not_finite(held().graph, all, device());
}

Results Function::call(std::span<const Array> inputs) const {
  try {
    return held().is_plain ? held().executor->call(inputs) : call_otherwise(inputs);
  } catch (Error& error) {
    error.add_where(in_function(name(), held().where));
    throw;
  }
}

Results Function::call_with(std::span<Array> inputs) const {
  try {
    return held().is_plain ? held().executor->call(inputs, inputs) : call_otherwise(inputs);
  } catch (Error& error) {
    error.add_where(in_function(name(), held().where));
    throw;
  }
}

Results Function::call_named(std::span<const NamedArray> inputs) const {
  const FunctionGraph& graph = held().graph;
  ArrayList list(graph.inputs().size());
  std::vector<Array>& all = *list;
  all.assign(held().defaults.begin(), held().defaults.end());
  all.resize(graph.inputs().size());
  try {
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const NamedArray& input = inputs[k];
      const auto label = [&] { return "input '" + std::string(input.name) + "'"; };
      std::size_t found = all.size();
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (graph.name(graph.inputs()[i]) != input.name) continue;
        if (found != all.size()) throw GraphError(label() + " is the name of inputs " + std::to_string(found) + " and " + std::to_string(i), "give them different names");
        found = i;
      }
      if (found == all.size()) throw GraphError("the function has no " + label(), "its inputs: " + names_of_inputs(graph));
      if (is_among(inputs.first(k), input.name)) throw GraphError(label() + " is given twice", "leave one of them out");
      all[found] = input.value;
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!all[i] && !is_among(inputs, graph.name(graph.inputs()[i]))) throw GraphError("input " + std::to_string(i) + " (" + graph.name(graph.inputs()[i]) + ") is not given and has no default", "give it, or name it in Options::defaults");
    }
    return call_otherwise(all);
  } catch (Error& error) {
    error.add_where(in_function(name(), held().where));
    throw;
  }
}

/// The same but for its graph.
Function Function::rebuilt(FunctionGraph graph, SourceLine where) const {
  const auto start = std::chrono::steady_clock::now();
  auto data = std::make_shared<Data>();
  data->options = held().options;
  data->where = where;
  data->graph = std::move(graph);
  data->fusion = held().fusion;
  data->donated = held().donated;
  data->defaults = held().defaults;
  data->is_plain = held().is_plain;
  data->executor = executor_of(data->graph, device(), data->options, data->donated);
  data->report.compile_milliseconds = milliseconds_since(start);
  return Function(std::move(data));
}

/// The graph with other shared variables in some ones' place.
FunctionGraph Function::swapped(std::span<const Assignment> swap) const {
  FunctionGraph graph = held().graph;
  std::unordered_set<const SharedStorage*> left;  // swapped already
  for (const Assignment& one : swap) {
    if (!one.variable || !one.value) throw GraphError("copy: an empty Variable is swapped", "assign it before it is used");
    const std::string label = "copy: " + describe(one.variable);
    if (!one.variable.is_shared()) throw GraphError(label + " is not a shared variable", "givens replace others, when the function is built");
    if (!one.value.is_shared()) throw GraphError(label + " is swapped for " + describe(one.value) + ", which is not a shared variable", "make it by shared(name, array)");
    if (!left.insert(one.variable.shared_storage().get()).second) throw GraphError(label + " is swapped twice", "leave one of them out");
    const std::string text = label + " is swapped for " + describe(one.value);
    if (one.value.dtype() != one.variable.dtype()) throw TypeError(text, "give it the same dtype");
    if (!(one.value.dims() == one.variable.dims())) throw ShapeError(text, "give it the same extents");
    if (static_cast<const SharedState&>(*one.value.shared_storage()).device() != device()) throw DeviceError(text + ", which is on another device", "make it by shared(name, array.to(Device(\"" + device().name() + "\")))");
    const SharedPtr& storage = one.variable.shared_storage();
    bool is_there = false;
    for (int i = 0; i < graph.value_limit(); ++i) {
      const auto value = static_cast<ValueId>(i);
      if (held().graph.shared(value) != storage) continue;
      is_there = true;
      graph.set_shared(value, one.value.shared_storage());
    }
    if (!is_there) throw GraphError(label + " is no shared variable of the function", "swap one that its results or updates are made of");
  }
  std::unordered_set<const SharedStorage*> seen;
  for (int i = 0; i < graph.value_limit(); ++i) {
    const auto value = static_cast<ValueId>(i);
    if (graph.shared(value) && !seen.insert(graph.shared(value).get()).second) throw GraphError("copy: one shared variable would stand for two", "swap in one that the function does not have");
  }
  return graph;
}

Function Function::copy(std::span<const Assignment> swap, SourceLine where) const {
  return rebuilt(at_line("copy", where, [&] { return swapped(swap); }), where);
}

Function Function::part(std::span<const int> results, bool updates, SourceLine where) const {
  FunctionGraph graph = held().graph;
  FusionRecord fusion;
  const int count = users_results(graph);
  std::vector<int> kept(results.begin(), results.end());
  at_line("part", where, [&] {
    for (int result : kept) {
      if (result < 0 || result >= count) throw GraphError("part: there is no result " + std::to_string(result) + ": the function has " + std::to_string(count), "count them from 0");
    }
  });
  graph.keep_outputs(kept, updates);
  graph.prune();
  if (held().options.fuse || held().options.nan_guard) graph = unfuse(std::move(graph));  // the guard looks at what is left
  if (held().options.fuse) graph = run_passes(std::move(graph), fusion_passes(held().options, device(), &fusion), nullptr, disabled_passes(held().options));
  if (held().options.nan_guard) attach_guard(graph, fusion);
  const Function made = rebuilt(std::move(graph), where);
  made.data_->fusion = std::move(fusion);
  return made;
}

Results::~Results() { keep_array_list(std::move(*this)); }

const Array& Results::only() const {
  if (size() == 1) return front();
  throw GraphError("the function has " + std::to_string(size()) + " results, not one", "take them with call<n>() or by index");
}

void Function::require_results(std::size_t have, std::size_t wanted) {
  if (have >= wanted) return;
  throw GraphError("call<" + std::to_string(wanted) + ">: the function has " + counted(have, "result"), "ask for at most as many");
}

const std::string& Function::name() const { return held().options.name; }
Device Function::device() const { return held().executor->program().device(); }
const FunctionGraph& Function::graph() const { return held().graph; }
const BuildReport& Function::build_report() const { return held().report; }
Profile Function::profile() const { return held().executor->profile(); }
CallPlan Function::plan(std::span<const Shape> shapes) const {
  try {
    return held().executor->plan(shapes);
  } catch (Error& error) {
    error.add_where(in_function(name(), held().where));
    throw;
  }
}
void Function::free_memory() const { held().executor->free_memory(); }

std::vector<KernelInfo> Function::kernels() const {
  std::vector<KernelInfo> all;
  const Program& program = held().executor->program();
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
