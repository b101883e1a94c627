#include "check.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <thread>

#include "gradient_check.hpp"
#include "graph_ops.hpp"
#include "op_family.hpp"
#include "runtime/array/array_layout.hpp"
#include "shared_check.hpp"

namespace damo::testing {
namespace {

const RawKernel& raw_kernel(const std::string& name) {
  static const std::map<std::string, const RawKernel*> kernels = {
      {"raw_mix", &raw_mix}, {"raw_strided", &raw_strided}, {"raw_into", &raw_into}, {"raw_mirror", &raw_mirror}, {"raw_both", &raw_both}};
  return *kernels.at(name);
}

struct NamedReduction {
  Variable (*graph)(const Operand&, const Axes&, bool);
  Array (*eager)(const Array&, const Axes&, bool);  ///< null where arrays have it along one axis only
};
const NamedReduction& reduction(const std::string& name) {
  static const std::map<std::string, NamedReduction> all = {{"sum", {sum, sum}}, {"prod", {prod, prod}}, {"mean", {mean, mean}}, {"max", {max, max}},
                                                           {"min", {min, min}}, {"any", {any, any}}, {"all", {damo::all, damo::all}},
                                                           {"argmax", {argmax, nullptr}}, {"argmin", {argmin, nullptr}}};
  return all.at(name);
}

template <class Value, class Apply>
auto with_operands(const std::vector<Value>& in, Apply apply) {
  return in.size() == 1 ? apply({in[0]}) : in.size() == 2 ? apply({in[0], in[1]}) : apply({in[0], in[1], in[2]});
}

template <class Value, class Given>
Value scanned(const NodeSpec& node, const Value& x) {
  const bool reverse = node.number >= 2, exclusive = static_cast<int>(node.number) % 2 != 0;
  if (node.name == "cumsum") return cumsum(x, node.pattern[0], {.reverse = reverse, .exclusive = exclusive});
  if (node.name == "cumprod") return cumprod(x, node.pattern[0], {.reverse = reverse, .exclusive = exclusive});
  using Choice = Value (*)(Given, std::optional<int>, ScanOptions);
  return (node.name == "cummax" ? Choice(cummax) : Choice(cummin))(x, node.pattern[0], {.reverse = reverse, .exclusive = exclusive});
}

std::vector<Variable> build_node(const NodeSpec& node, const std::vector<Variable>& in) {
  switch (node.kind) {
    case NodeSpec::Kind::kRow:
      return {with_operands(in, [&](std::initializer_list<Operand> operands) { return apply_elementwise(*find_elementwise(node.name), operands); })};
    case NodeSpec::Kind::kCast: return {cast(in[0], node.dtype)};
    case NodeSpec::Kind::kConstant: return {constant(Scalar(node.number).cast(node.dtype))};
    case NodeSpec::Kind::kDimshuffle: return {dimshuffle(in[0], node.pattern)};
    case NodeSpec::Kind::kContiguous: return {contiguous(in[0])};
    case NodeSpec::Kind::kBackwards: return {backwards(in[0])};
    case NodeSpec::Kind::kBackwardsInto: return {backwards_into(in[0])};
    case NodeSpec::Kind::kCopied: return {copied(in[0])};
    case NodeSpec::Kind::kHead: return {head(in[0], in[1])};
    case NodeSpec::Kind::kParts: return {parts_of(node.name, in[0], node.pattern[0], static_cast<int>(node.number))};
    case NodeSpec::Kind::kDot: return {dot(in[0], in[1])};
    case NodeSpec::Kind::kScan: return {scanned<Variable, const Operand&>(node, in[0])};
    case NodeSpec::Kind::kReduce: return {reduction(node.name).graph(in[0], Axes(node.pattern), node.number != 0)};
    case NodeSpec::Kind::kFamily: return op_family(node.family).build(node.name, in, node.pattern);
    default: return in.size() == 1 ? raw_kernel(node.name).outputs({in[0]}) : raw_kernel(node.name).outputs({in[0], in[1]});
  }
}

/// On Arrays, at once. Empty where there is no such thing: RawKernels, and what follows from them.
std::vector<Array> eager_results(const NodeSpec& node, const std::vector<Array>& in) {
  std::vector<Array> results;
  if (node.kind == NodeSpec::Kind::kFamily && std::all_of(in.begin(), in.end(), [](const Array& array) { return static_cast<bool>(array); })) {
    results = op_family(node.family).eager(node.name, in, node.pattern);
  }
  results.resize(static_cast<std::size_t>(node.output_count()));
  return results;
}

Array eager_node(const NodeSpec& node, const std::vector<Array>& in, Device device) {
  if (node.kind == NodeSpec::Kind::kConstant) return Array::scalar(Scalar(node.number).cast(node.dtype), device);
  if (std::any_of(in.begin(), in.end(), [](const Array& array) { return !array; })) return {};
  switch (node.kind) {
    case NodeSpec::Kind::kRow:
      return with_operands(in, [&](std::initializer_list<ArrayOperand> operands) { return apply_elementwise(*find_elementwise(node.name), operands); });
    case NodeSpec::Kind::kCast: return astype(in[0], node.dtype);
    case NodeSpec::Kind::kDimshuffle: {
      Shape shape;
      Strides strides;
      for (int axis : node.pattern) shape.push_back(axis < 0 ? 1 : in[0].shape()[axis]), strides.push_back(axis < 0 ? 0 : in[0].strides()[axis]);
      return in[0].view(in[0].dtype(), shape, strides, 0);
    }
    case NodeSpec::Kind::kBackwards:
    case NodeSpec::Kind::kBackwardsInto: {
      std::vector<Slice> slices(static_cast<std::size_t>(in[0].rank()));
      slices.back().step = -1;
      return in[0].slice(slices);
    }
    case NodeSpec::Kind::kHead: return in[0].slice({{0, std::clamp<std::int64_t>(static_cast<std::int64_t>(in[1].to_doubles()[0]), 0, in[0].shape()[0])}});
    case NodeSpec::Kind::kRaw:
    case NodeSpec::Kind::kParts: return {};
    case NodeSpec::Kind::kDot: return dot(in[0], in[1]);
    case NodeSpec::Kind::kScan: return scanned<Array, const Array&>(node, in[0]);
    case NodeSpec::Kind::kReduce: return reduction(node.name).eager ? reduction(node.name).eager(in[0], Axes(node.pattern), node.number != 0) : Array();
    default: return in[0].copy();
  }
}

std::vector<std::byte> bytes_of(const Array& array) {
  std::vector<std::byte> bytes(array.nbytes());
  if (!bytes.empty()) array.to_host(bytes.data());
  return bytes;
}

constexpr int kReplays = 3;  // calls behind two others: the first makes a graph, the next ones launch it

class Check {
 public:
  Check(const GraphSpec& graph, Device device, Tally& tally) : graph_(graph), device_(device), tally_(tally) {}

  std::string run() {
    for (std::size_t call = 0; call < graph_.calls.size(); ++call) {
      expected_.push_back(reference_of(graph_, call));
      arguments_.push_back(arguments_of(graph_, call, device_));
      for (const Array& buffer : arguments_.back().buffers) before_.push_back(bytes_of(buffer));
    }
    const std::vector<Variable> values = build(graph_);
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) inputs_.push_back(values[i]);
    for (int output : graph_.outputs) outputs_.push_back(values[static_cast<std::size_t>(output)]);
    for (const bool fuse : {true, false}) run_function(fuse);
    if (wrong_.empty() && graph_.nodes.size() % 3 == 1) run_guarded();
    if (wrong_.empty() && graph_.donates) run_donated();
    if (wrong_.empty()) run_eager();
    if (wrong_.empty() && graph_.updates) wrong_ = check_shared(graph_, expected_, device_, tally_.updates);
    if (wrong_.empty() && graph_.differentiates) wrong_ = check_gradient(graph_, device_, tally_.gradient_elements);
    return wrong_;
  }

 private:
  void report(const std::string& way, std::size_t call, std::size_t result, const std::string& what) {
    if (wrong_.empty() && !what.empty()) wrong_ = way + ", call " + std::to_string(call) + ", result " + std::to_string(result) + ": " + what;
  }
  const Tensor& expected(std::size_t call, std::size_t result) const { return expected_[call][static_cast<std::size_t>(graph_.outputs[result])]; }

  void compare(const std::string& way, std::size_t call, const std::vector<Array>& results) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      report(way, call, i, difference(results[i], expected(call, i)));
      const std::size_t elements = expected(call, i).elements.size(), of_them = known(expected(call, i));
      tally_.elements += elements;
      tally_.known += of_them;
      ++tally_.results;
      tally_.known_results += 2 * of_them >= elements;
    }
  }

  void run_function(bool fuse) {
    const bool rewrite = fuse || graph_.outputs.size() % 2 == 0;
    const std::string way = std::string(fuse ? "fused" : "unfused") + (rewrite ? "" : ", as written");
    const bool replays = graph_.nodes.size() % 3 == 0 && fuse == (outputs_.size() % 2 == 0);
    const ReplaysFrom least(device_, replays ? 1 : 0);
    const Function f = function(inputs_, outputs_, {.fuse = fuse, .rewrite = rewrite, .device = device_, .share_results = graph_.share_results, .allow_unused_inputs = true});
    for (NodeId node : f.graph().nodes()) tally_.fused += f.graph().op(node).inner_graph() != nullptr;
    std::vector<Results> held;
    for (std::size_t call = 0; call < arguments_.size(); ++call) {
      held.push_back(f.call(arguments_[call].arrays));
      compare(way, call, held.back());
      if (!graph_.share_results) check_apart(way, call, held.back());
    }
    const Results again = f.call(arguments_[0].arrays);  // layouts of a call before the last
    compare(way + ", again", 0, again);
    for (int call = 0; replays && call < kReplays; ++call) compare(way + ", replayed", 0, f.call(arguments_[0].arrays));
    for (std::size_t call = 0; call < held.size(); ++call) compare(way + ", held", call, held[call]);
    if (graph_.threads > 1) run_threads(f, way);
    check_inputs(way);
  }

  /// A guarded call throws exactly when a floating result of the same Function without the guard is not finite.
  void run_guarded() {
    const ReplaysFrom least(device_, graph_.outputs.size() % 2 == 0 ? 1 : 0);
    damo::Options options{.fuse = graph_.outputs.size() % 3 > 0, .device = device_, .allow_unused_inputs = true};
    const Function plain = function(inputs_, outputs_, options);
    options.nan_guard = true;
    const Function guarded = function(inputs_, outputs_, options);
    for (std::size_t round = 0; round < arguments_.size() + kReplays && wrong_.empty(); ++round) {
      const std::size_t call = round % arguments_.size();
      const Results known = plain.call(arguments_[call].arrays);
      const bool is_bad = std::any_of(known.begin(), known.end(), has_fault);
      try {
        const Results results = guarded.call(arguments_[call].arrays);
        compare("guarded, round " + std::to_string(round), call, results);
        if (is_bad) report("guarded, round " + std::to_string(round), call, 0, "a result is not finite, and the call did not throw");
      } catch (const NotFiniteError& error) {
        if (!is_bad) report("guarded, round " + std::to_string(round), call, 0, std::string("all results are finite, and the call threw: ") + error.what());
      }
    }
  }

  /// Each call may write its results over its arguments.
  void run_donated() {
    const ReplaysFrom least(device_, graph_.nodes.size() % 2 == 0 ? 1 : 0);
    const Function f = function(inputs_, outputs_, {.fuse = graph_.outputs.size() % 3 > 0, .device = device_, .allow_unused_inputs = true, .donate = inputs_});
    for (std::size_t round = 0; round < 2 * arguments_.size() + kReplays && wrong_.empty(); ++round) {
      const std::size_t call = round % arguments_.size();
      std::vector<Array> given;
      for (const Array& argument : arguments_[call].arrays) given.push_back(argument.copy());
      compare("donated, round " + std::to_string(round), call, f.call_with(given));
    }
  }

  void run_threads(const Function& f, const std::string& way) {
    std::vector<std::thread> threads;
    std::vector<std::string> errors(static_cast<std::size_t>(graph_.threads));
    std::vector<Results> results(errors.size());
    for (std::size_t i = 0; i < errors.size(); ++i) {
      threads.emplace_back([&, i] {
        try {
          for (int round = 0; round < 3; ++round) results[i] = f.call(arguments_[i % arguments_.size()].arrays);
        } catch (const std::exception& error) {
          errors[i] = error.what();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (std::size_t i = 0; i < errors.size(); ++i) {
      report(way + ", threads", i % arguments_.size(), 0, errors[i]);
      if (errors[i].empty()) compare(way + ", threads", i % arguments_.size(), results[i]);
    }
  }

  /// No result shares elements with another or with an argument.
  void check_apart(const std::string& way, std::size_t call, const Results& results) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (share_memory(results[i], results[j])) report(way, call, i, "shares elements with result " + std::to_string(j));
      }
      for (const Array& argument : arguments_[call].arrays) {
        if (share_memory(results[i], argument)) report(way, call, i, "shares elements with an argument");
      }
    }
  }

  void check_inputs(const std::string& way) {
    std::size_t at = 0;
    for (std::size_t call = 0; call < arguments_.size(); ++call) {
      for (const Array& buffer : arguments_[call].buffers) {
        if (bytes_of(buffer) != before_[at++]) report(way, call, 0, "an argument was written");
      }
    }
  }

  void run_eager() {
    for (std::size_t call = 0; call < arguments_.size(); ++call) {
      std::vector<Array> values = arguments_[call].arrays;
      for (const NodeSpec& node : graph_.nodes) {
        std::vector<Array> in;
        for (int operand : node.operands) in.push_back(values[static_cast<std::size_t>(operand)]);
        if (node.output_count() == 1 && node.kind != NodeSpec::Kind::kFamily) values.push_back(eager_node(node, in, device_));
        else for (Array& result : eager_results(node, in)) values.push_back(std::move(result));
      }
      for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
        const Array& value = values[static_cast<std::size_t>(graph_.outputs[i])];
        if (value) report("on arrays", call, i, difference(value, expected(call, i)));
      }
    }
  }

  const GraphSpec& graph_;
  Device device_;
  Tally& tally_;
  std::vector<Variable> inputs_, outputs_;
  std::vector<std::vector<Tensor>> expected_;  // by call, by value
  std::vector<Arguments> arguments_;
  std::vector<std::vector<std::byte>> before_;
  std::string wrong_;
};

}  // namespace

std::vector<Variable> build(const GraphSpec& graph, const Stand& instead_of) {
  std::vector<Variable> values;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const InputSpec& spec = graph.inputs[i];
    Shape dims;
    for (std::size_t axis = 0; axis < spec.dims.size(); ++axis) dims.push_back(spec.known[axis] ? graph.calls[0][static_cast<std::size_t>(spec.dims[axis])] : kUnknown);
    values.push_back(input({spec.dtype, dims}, "x" + std::to_string(i)));
  }
  for (const NodeSpec& node : graph.nodes) {
    std::vector<Variable> in;
    for (int operand : node.operands) in.push_back(values[static_cast<std::size_t>(operand)]);
    for (Variable& output : build_node(node, in)) values.push_back(instead_of ? instead_of(output) : std::move(output));
  }
  return values;
}

Arguments arguments_of(const GraphSpec& graph, std::size_t call, Device device) {
  Arguments arguments;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const InputSpec& spec = graph.inputs[i];
    const int owner = buffer_of(graph, static_cast<int>(i));
    if (owner == static_cast<int>(i)) {
      const std::vector<Scalar> values = buffer_values(graph, owner, call);
      std::vector<std::byte> bytes(values.size() * itemsize(spec.dtype));
      for (std::size_t k = 0; k < values.size(); ++k) values[k].store(bytes.data() + k * itemsize(spec.dtype));
      arguments.buffers.push_back(Array::from_bytes(bytes.data(), values.size(), spec.dtype, {static_cast<std::int64_t>(values.size())}, device));
    } else {
      arguments.buffers.push_back(arguments.buffers[static_cast<std::size_t>(owner)]);
    }
    const Placement place = placement_of(spec, graph.calls[call]);
    arguments.arrays.push_back(arguments.buffers.back().view(spec.dtype, place.shape, place.strides, place.offset));
  }
  return arguments;
}

bool has_fault(const Array& array) {
  if (!is_floating(array.dtype())) return false;
  const std::vector<double> values = array.to_doubles();
  return std::any_of(values.begin(), values.end(), [](double x) { return !std::isfinite(x); });
}

namespace {

/// cuSOLVER and cuFFT compute them on a GPU.
bool needs_libraries(const GraphSpec& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const NodeSpec& node) { return node.family == "factors" || node.family == "fourier" || node.family == "matrices"; });
}

}  // namespace

std::string check_graph(const GraphSpec& graph, Device device, Tally& tally) {
  ++tally.graphs;
  if (needs_libraries(graph) && device.properties().description == "emulated") return ++tally.left_out, std::string();
  try {
    return Check(graph, device, tally).run();
  } catch (const NoGraph&) {
    ++tally.no_graphs;
    return {};
  } catch (const std::exception& error) {
    return std::string("threw: ") + error.what();
  }
}

}  // namespace damo::testing
