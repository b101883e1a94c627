#include <damo/check_function.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "function/snapshot.hpp"
#include "graph/base/number_text.hpp"
#include "graph/base/pass_names.hpp"
#include "ops/rewrites/pipeline.hpp"
#include "ops/rewrites/unfuse.hpp"
#include "runtime/array/poison.hpp"
#include "runtime/exec/executor.hpp"

namespace damo {
namespace {

/// Of an Array, for comparisons: the device may write it again.
struct Kept {
  Kept(const Array& array) : dtype(array.dtype()), shape(array.shape()), values(array.to_doubles()) {}
  DType dtype;
  Shape shape;
  std::vector<double> values;
};

std::vector<Kept> kept(std::span<const Array> arrays) { return {arrays.begin(), arrays.end()}; }

class Check {
 public:
  Check(const Options& options, const CheckOptions& check) : options_(options), tolerance_(check.tolerance), device_(options.device ? *options.device : Device()) {}

  void run(std::span<const Variable> inputs, std::span<const Variable> outputs, std::span<const Array> values) {
    std::vector<Variable> all(outputs.begin(), outputs.end());
    for (const Assignment& update : options_.updates) all.push_back(update.value);
    options_.updates.clear();
    options_.nan_guard = false;
    FunctionGraph graph = graph_of(inputs, all, options_);
    drop_updates(graph);  // of random streams
    const std::vector<Kept> reference = kept(called(graph, values));
    const std::string second = differs(reference, kept(called(graph, values)), "result ");
    if (!second.empty()) throw CheckError("a second call gives other values: " + second, "an op is a function of its inputs: let random numbers come from a state, and a thunk start its sums anew");
    const std::vector<std::string> disabled = with_environment(disabled_passes(options_));
    for (const Pass& pass : passes_of(options_, device_)) {
      const FunctionGraph before = graph;
      graph = run_passes(std::move(graph), std::span(&pass, 1), nullptr, disabled);
      const std::string difference = differs(reference, kept(called(graph, values)), "result ");
      if (!difference.empty()) throw CheckError("pass " + pass.name + culprit(pass, before, values, reference) + " changes values: " + difference, "leave it out by Options::disable");
    }
    check_nodes(graph, values);
    std::vector<Array> strided;
    for (const Array& value : values) strided.push_back(with_strides(value));
    const std::string difference = differs(reference, kept(called(graph, strided)), "result ");
    if (!difference.empty()) throw CheckError("inputs with other strides give other values: " + difference, "an op takes inputs for contiguous: let its make_node ask for contiguous(x)");
  }

 private:
  static void drop_updates(FunctionGraph& graph) {
    std::vector<int> results(static_cast<std::size_t>(graph.result_count()));
    for (std::size_t i = 0; i < results.size(); ++i) results[i] = static_cast<int>(i);
    graph.keep_outputs(results, false);
    graph.prune();
  }

  /// Unwritten elements are finite here, so that results show them; where one node runs they are another number.
  static constexpr std::uint8_t kFinite = 0x3B, kNan = 0xFF;

  std::vector<Array> called(const FunctionGraph& graph, std::span<const Array> values, std::uint8_t unwritten = kFinite) const {
    const PoisonScope poisoned(unwritten);
    return Executor(graph, device_, false, options_.check, false, false, {}, false, options_.fp_contract).call(values);
  }

  /// The same elements with gaps between them and the first axis backwards.
  Array with_strides(const Array& value) const {
    if (value.rank() == 0 || value.size() == 0) return value;
    Shape wide = value.shape();
    wide[-1] *= 2;
    const Array all = Array::empty(wide, value.dtype(), value.device());
    poison(all, kNan);
    std::vector<Slice> slices(static_cast<std::size_t>(value.rank()));
    slices.front().step = -1;
    slices.back().step = value.rank() == 1 ? -2 : 2;
    const Array view = all.slice(slices);
    view.copy_from(value);
    return view;
  }

  double allowed(DType dtype) const {
    if (!is_floating(dtype)) return 0;
    return tolerance_ ? *tolerance_ : dtype == float64 ? 1e-9 : dtype == float32 ? 1e-4 : 3e-2;
  }

  /// The first difference; empty if there is none.
  std::string differs(const std::vector<Kept>& want, const std::vector<Kept>& got, const std::string& what) const {
    for (std::size_t i = 0; i < want.size(); ++i) {
      const std::string label = what + std::to_string(i);
      if (!(want[i].shape == got[i].shape)) return label + " has shape " + to_string(got[i].shape) + ", not " + to_string(want[i].shape);
      double scale = 1;
      for (double x : want[i].values) {
        if (std::isfinite(x)) scale = std::max(scale, std::fabs(x));
      }
      for (std::size_t k = 0; k < want[i].values.size(); ++k) {
        const double x = want[i].values[k], y = got[i].values[k];
        if (!std::isfinite(x) || std::fabs(x - y) <= scale * allowed(want[i].dtype)) continue;
        return label + " is " + number_text(y, 8) + ", not " + number_text(x, 8) + ", at element " + std::to_string(k) + " of shape " + to_string(want[i].shape);
      }
    }
    return {};
  }

  /// ", rule drop_abs," of a pass of rules: the first that alone gives other values.
  std::string culprit(const Pass& pass, const FunctionGraph& before, std::span<const Array> values, const std::vector<Kept>& reference) const {
    for (const Rule& rule : pass.rules) {
      const Pass alone{.name = pass.name, .rules = {rule}};
      const FunctionGraph after = run_passes(before, std::span(&alone, 1));
      if (!differs(reference, kept(called(after, values)), "").empty()) return ", rule " + rule.name + ",";
    }
    return {};
  }

  /// A graph of the node alone, whose inputs are those of the node that are no constants.
  static FunctionGraph alone(const FunctionGraph& graph, NodeId node) {
    FunctionGraph one;
    std::vector<ValueId> inputs;
    for (ValueId value : graph.inputs(node)) inputs.push_back(graph.constant(value) ? one.add_constant(graph.constant(value)) : one.add_input(graph.type(value), graph.name(value)));
    std::vector<TensorType> types;
    for (ValueId value : graph.outputs(node)) types.push_back(graph.type(value));
    const NodeId copy = one.add(graph.op_ptr(node), inputs, types, graph.where(node));
    for (ValueId value : one.outputs(copy)) one.add_output(value);
    return one;
  }

  [[noreturn]] static void blame(const FunctionGraph& graph, NodeId node, const std::string& what, const std::string& remedy) {
    throw CheckError(ErrorParts{graph.op(node).name() + what, {}, graph.describe(node), remedy});
  }

  /// Each node by itself, on what the nodes before it gave; then all that they gave against the graph in one piece.
  void check_nodes(const FunctionGraph& graph, std::span<const Array> values) const {
    FunctionGraph whole = graph;
    std::vector<ValueId> order;  // all but constants
    std::vector<Array> made(static_cast<std::size_t>(graph.value_limit()));
    std::vector<char> is_there(made.size(), 0);
    const auto look = [&](ValueId value) {
      if (graph.constant(value) || std::exchange(is_there[static_cast<std::size_t>(value)], 1)) return;
      order.push_back(value);
    };
    const std::vector<NodeId> nodes = graph.toposort();
    for (NodeId node : nodes) {
      for (ValueId value : graph.inputs(node)) look(value);
      for (ValueId value : graph.outputs(node)) look(value);
    }
    whole.keep_outputs({}, false);
    for (ValueId value : order) whole.add_output(value);
    const std::vector<Array> together = called(whole, values);
    const auto at = [&](ValueId value) -> Array& { return made[static_cast<std::size_t>(value)]; };
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (graph.owner(order[i]) == NodeId::kNone) at(order[i]) = together[i];
    }
    for (NodeId node : nodes) {
      std::vector<Array> arrays;
      for (ValueId value : graph.inputs(node)) {
        if (!graph.constant(value)) arrays.push_back(at(value).copy());
      }
      const std::vector<Kept> before = kept(arrays);
      const FunctionGraph one = alone(graph, node);
      const std::vector<Array> outputs = called(one, arrays, kNan);
      const std::string changed = differs(before, kept(arrays), "input ");
      if (!changed.empty()) blame(graph, node, " changes an input: " + changed, "say so by Op::overwrites");
      const FunctionGraph parts = unfuse(one);
      if (parts.node_count() > 1) {
        const std::string difference = differs(kept(called(parts, arrays, kNan)), kept(outputs), "output ");
        if (!difference.empty()) blame(graph, node, " gives other values than the ops that it stands for: " + difference, "leave fusion out: Options::fuse");
      }
      for (std::size_t i = 0; i < outputs.size(); ++i) at(graph.outputs(node)[i]) = outputs[i];
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      const NodeId owner = graph.owner(order[i]);
      if (owner == NodeId::kNone) continue;
      const Kept want(together[i]), got(at(order[i]));
      const std::string difference = differs({want}, {got}, "output ");
      if (!difference.empty()) blame(graph, owner, " gives other values by itself than in the graph: " + difference, "see that it writes all of its outputs and reads nothing else");
    }
  }

  Options options_;
  std::optional<double> tolerance_;
  Device device_;
};

}  // namespace

void check_function(std::span<const Variable> inputs, std::span<const Variable> outputs, std::span<const Array> values, const Options& options, const CheckOptions& check) {
  Check(options, check).run(inputs, outputs, values);
}

}  // namespace damo
