#include "function/nan_guard.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <unordered_set>

#include "function/finite_guard_op.hpp"
#include "graph/base/number_text.hpp"
#include "ops/rewrites/unfuse.hpp"
#include "runtime/exec/executor.hpp"

namespace damo {
namespace {

/// What there is to say of an array's values.
struct Values {
  explicit Values(const Array& array) : shape(array.shape()), values(is_floating(array.dtype()) ? array.to_doubles() : std::vector<double>()) {
    const auto bad = [](double x) { return !std::isfinite(x); };
    count = std::count_if(values.begin(), values.end(), bad);
    first = std::find_if(values.begin(), values.end(), bad) - values.begin();
  }
  bool is_finite() const { return count == 0; }
  /// "nan at (0, 2), as 3 of 12 values"
  std::string fault() const {
    return number_text(values[static_cast<std::size_t>(first)], 6) + " at " + place_text(first, shape) + "; " + std::to_string(count) + " of " + std::to_string(values.size()) + " values are not finite";
  }
  std::string range() const {
    if (values.empty()) return "";
    const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
    return " from " + number_text(*least, 6) + " to " + number_text(*greatest, 6);
  }

  Shape shape;
  std::vector<double> values;
  std::int64_t count = 0, first = 0;
};

}  // namespace

Variable guard_of(SourceLine where) { return std::make_shared<const FiniteGuardOp>()->apply({}, where).output(0); }

void attach_guard(FunctionGraph& graph) {
  const ValueId alone = graph.outputs()[static_cast<std::size_t>(graph.result_count()) - 1];
  std::vector<ValueId> looked_at;
  std::unordered_set<ValueId> seen{alone};
  for (ValueId value : graph.outputs()) {
    if (is_floating(graph.type(value).dtype) && seen.insert(value).second) looked_at.push_back(value);
  }
  const NodeId guard = graph.owner(alone);
  graph.replace(alone, graph.outputs(graph.add(graph.op_ptr(guard), looked_at, graph.where(guard)))[0]);
  graph.prune();
}

NotFiniteError not_finite(const FunctionGraph& given, std::span<const Array> inputs, Device device) {
  FunctionGraph graph = unfuse(given);
  graph.keep_outputs({}, false);
  // Floating leaves and what nodes compute, in an order in which operands come first.
  std::vector<ValueId> looked_at;
  std::vector<std::ptrdiff_t> place(static_cast<std::size_t>(graph.value_limit()), -1);
  const auto look = [&](ValueId value) {
    std::ptrdiff_t& at = place[static_cast<std::size_t>(value)];
    if (at >= 0 || !is_floating(graph.type(value).dtype) || graph.constant(value)) return;
    at = static_cast<std::ptrdiff_t>(looked_at.size());
    looked_at.push_back(value);
  };
  for (ValueId input : graph.inputs()) look(input);
  const std::vector<NodeId> order = graph.toposort();
  for (NodeId node : order) {
    for (ValueId value : graph.inputs(node)) {
      if (graph.shared(value)) look(value);
    }
    for (ValueId value : graph.outputs(node)) look(value);
  }
  for (ValueId value : looked_at) graph.add_output(value);
  const std::vector<Array> arrays = Executor(graph, device, false).call(inputs);
  const auto values_of = [&](ValueId value) {
    const std::ptrdiff_t at = place[static_cast<std::size_t>(value)];
    return at < 0 ? std::optional<Values>() : Values(arrays[static_cast<std::size_t>(at)]);
  };
  const auto label = [&](ValueId value) {
    const NodeId owner = graph.owner(value);
    return !graph.name(value).empty() ? graph.name(value) : owner == NodeId::kNone ? "an input" : graph.op(owner).name();
  };
  for (NodeId node : order) {
    for (ValueId output : graph.outputs(node)) {
      const std::optional<Values> made = values_of(output);
      if (!made || made->is_finite()) continue;
      ErrorParts parts{graph.op(node).name() + " gave " + made->fault() + ", of finite operands", {}, graph.describe(node), "see what its operands are: print(x, ...) shows them at each call"};
      bool blameless = true;
      for (ValueId input : graph.inputs(node)) {
        const std::optional<Values> read = values_of(input);
        blameless &= !read || read->is_finite();
        if (read) parts.operands.push_back(label(input) + " " + to_string(TensorType{graph.type(input).dtype, read->shape}) + read->range());
      }
      if (blameless) return NotFiniteError(std::move(parts));
    }
  }
  for (ValueId value : looked_at) {
    const std::optional<Values> leaf = graph.owner(value) == NodeId::kNone ? values_of(value) : std::nullopt;
    if (leaf && !leaf->is_finite()) return NotFiniteError((graph.shared(value) ? "shared variable " : "input ") + label(value) + " is " + leaf->fault(), "look at where it comes from");
  }
  return NotFiniteError("a result is not finite, but no op gives such a value where each is a kernel of its own", "a fused kernel keeps 16-bit floats in float32; or a shared variable was set meanwhile");
}

}  // namespace damo
