#include "gradient_check.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <set>
#include <string>

#include "check.hpp"

namespace damo::testing {
namespace {

using Values = std::vector<double>;
constexpr double kStep = 1e-6;  // of inputs: some units in the last place of float32
constexpr double kCancelled = 3e-6;  // what float32 leaves of a term about 1 in size, such as weights, that cancel in float64

/// The gradients by floating inputs, and the result, weighted, whose gradients they are.
struct GradientGraph {
  std::vector<Variable> inputs, gradients;
  Variable cost;
  Variable is_open;  ///< whether a value is there that decides and that nobody knows
};

/// Whether a NaN's sign decides, or what is written by hand ended in no number: rules make softmax of it, which has one there.
Variable open_values(const GraphSpec& graph, const std::vector<Variable>& values) {
  Variable open = constant(false);
  std::size_t made = graph.inputs.size();
  for (const NodeSpec& node : graph.nodes) {
    if (node.name == "copysign" || node.name == "signbit") {
      const Variable& sign = values[static_cast<std::size_t>(node.operands.back())];
      if (is_floating(sign.dtype())) open = open | any(isnan(sign));
    }
    if (node.name.ends_with("_by_hand")) open = open | any(logical_not(isfinite(values[made])));
    made += static_cast<std::size_t>(node.output_count());
  }
  return open;
}

/// From the first input on that it depends on.
Variable computed_again(const Variable& y, const std::vector<Variable>& inputs) {
  for (const Variable& input : inputs) {
    try {
      return recompute(y, {input});
    } catch (const GraphError&) {  // does not depend on it
    }
  }
  return y;
}

/// Weights differ from element to element, so that a gradient that lands in another place is seen.
std::optional<GradientGraph> gradient_graph(const GraphSpec& graph, const Stand& instead_of = {}) {
  const std::vector<Variable> values = build(graph, instead_of);
  GradientGraph made;
  made.inputs.assign(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(graph.inputs.size()));
  const Variable y = values[static_cast<std::size_t>(differentiated(graph))];
  const Variable weights = y.rank() == 0 ? constant(Scalar(0.75).cast(y.dtype())) : cast(mod(index_along(y, Axes()), 7) + 1, y.dtype()) * 0.25;
  std::vector<Variable> by;
  for (const Variable& input : made.inputs) {
    if (is_floating(input.dtype())) by.push_back(input);
  }
  if (by.empty()) return {};
  try {
    const Variable result = graph.recomputes ? computed_again(y, by) : y;
    made.gradients = lop(std::span(&result, 1), std::span(&weights, 1), by, Disconnected::kZero);
  } catch (const GraphError&) {  // an op without a gradient
    return {};
  }
  made.cost = sum(y * weights);
  made.is_open = open_values(graph, values);
  return made;
}

/// float64 in the place of float32; nothing where 16-bit floats, or kernels of float32 alone, are in the graph.
std::optional<GraphSpec> widened(GraphSpec graph) {
  const auto widen = [](DType& dtype) { dtype = dtype == float32 ? float64 : dtype; };
  for (InputSpec& input : graph.inputs) widen(input.dtype);
  for (NodeSpec& node : graph.nodes) {
    if (node.kind == NodeSpec::Kind::kCast || node.kind == NodeSpec::Kind::kConstant) widen(node.dtype);
    if (node.family == "norms" && node.pattern.at(3) == 3) node.pattern[3] = 2;  // told to give float64
    if (node.kind == NodeSpec::Kind::kRaw) return {};
  }
  try {
    for (const ValueType& value : graph.types()) {
      if (is_narrow(value.dtype)) return {};
    }
  } catch (const std::logic_error&) {
    return {};
  }
  graph.recomputes = false;
  return graph;
}

/// The floating ones in float64, plus amount * (|x| + 0.1) * direction.
std::vector<Array> moved(const std::vector<Array>& arrays, double amount, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> draw(-1, 1);
  std::vector<Array> result;
  for (const Array& array : arrays) {
    result.push_back(array);
    if (!is_floating(array.dtype())) continue;
    Values values = array.to_doubles();
    for (double& value : values) value += amount == 0 ? 0 : amount * (std::fabs(value) + 0.1) * draw(random);
    result.back() = Array::from(values, array.shape(), array.device());
  }
  return result;
}

std::vector<Values> doubles(const Results& results) {
  std::vector<Values> values;
  for (const Array& result : results) values.push_back(result.to_doubles());
  return values;
}

/// The expected gradients of one call.
struct Expected {
  std::vector<Values> gradients, bounds;  ///< by input; infinite: nobody knows
};

/// How many terms there may be in the gradient by an element, which is a sum over what it was broadcast to.
double terms_of(const std::vector<Array>& arrays, std::size_t size) {
  double greatest = 1;
  for (const Array& array : arrays) greatest = std::max(greatest, static_cast<double>(array.size()));
  return greatest / static_cast<double>(std::max<std::size_t>(size, 1));
}

/// has_positions: one element's last bit may decide where another's gradient goes; nobody then knows any of an input of which one is not known.
Expected expected_of(const Function& gradient, const std::vector<Array>& arrays, bool has_positions) {
  Expected expected{doubles(gradient.call(moved(arrays, 0, 0))), {}};
  for (const Values& center : expected.gradients) {
    double greatest = 0;
    for (double value : center) {
      if (std::isfinite(value)) greatest = std::max(greatest, std::fabs(value));
    }
    expected.bounds.emplace_back();
    const double cancelled = kCancelled * std::sqrt(std::max(1.0, terms_of(arrays, center.size())));
    for (double value : center) expected.bounds.back().push_back(1e-3 * std::fabs(value) + 1e-4 * greatest + cancelled);
  }
  for (unsigned way = 0; way < 6; ++way) {  // forth and back, so that what jumps where an input is exactly there is seen
    const std::vector<Values> near = doubles(gradient.call(moved(arrays, way % 2 ? kStep : -kStep, 1 + way / 2)));
    for (std::size_t i = 0; i < near.size(); ++i) {
      for (std::size_t k = 0; k < near[i].size(); ++k) {
        const double change = std::fabs(near[i][k] - expected.gradients[i][k]), size = std::fabs(expected.gradients[i][k]);
        double& bound = expected.bounds[i][k];
        bound = std::isfinite(change) && change < 0.01 * size + 100 * bound && size < 1e30 ? bound + 300 * change : INFINITY;
      }
    }
  }
  for (Values& bounds : expected.bounds) {
    const bool is_open = std::any_of(bounds.begin(), bounds.end(), [](double bound) { return std::isinf(bound); });
    if (has_positions && is_open) std::fill(bounds.begin(), bounds.end(), INFINITY);
  }
  return expected;
}

std::string text_of(const char* format, double a, double b, double c) {
  char text[160];
  std::snprintf(text, sizeof text, format, a, b, c);
  return text;
}

std::string difference_of(const Results& results, const Expected& expected, bool wide) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Values values = results[i].to_doubles();
    if (values.size() != expected.gradients[i].size()) return "by input " + std::to_string(i) + " is " + describe(results[i]);
    for (std::size_t k = 0; k < values.size(); ++k) {
      const double error = std::fabs(values[k] - expected.gradients[i][k]);
      if (error <= expected.bounds[i][k] || std::isinf(expected.bounds[i][k]) || (!wide && !std::isfinite(values[k]))) continue;  // float32 ends sooner
      return "by floating input " + std::to_string(i) + ", element " + std::to_string(k) + text_of(" is %.9g, not %.9g within %.2g", values[k], expected.gradients[i][k], expected.bounds[i][k]);
    }
  }
  return {};
}

/// Widens the bounds to four times what changes from the first gradients to the others.
void admit_spread(Expected& expected, const std::vector<std::vector<Values>>& gradients) {
  for (const std::vector<Values>& near : gradients) {
    for (std::size_t i = 0; i < near.size(); ++i) {
      for (std::size_t k = 0; k < near[i].size(); ++k) {
        const double spread = std::fabs(near[i][k] - gradients[0][i][k]);
        expected.bounds[i][k] = std::isfinite(spread) ? std::max(expected.bounds[i][k], 4 * spread) : INFINITY;
      }
    }
  }
}

/// What the dtypes at hand leave of a formula whose terms cancel: how far the gradients, as they are written, scatter where inputs move by about a unit in
/// the last place.
void admit_noise(Expected& expected, const GradientGraph& made, const std::vector<Array>& arrays, const damo::Options& plain) {
  const Function gradient = function(made.inputs, made.gradients, plain);
  std::vector<std::vector<Values>> gradients;
  for (unsigned way = 0; way < 5; ++way) {
    std::vector<Array> near = moved(arrays, way == 0 ? 0 : 2e-7, 19 + way);
    for (std::size_t i = 0; i < near.size(); ++i) near[i] = astype(near[i], arrays[i].dtype());
    gradients.push_back(doubles(gradient.call(near)));
  }
  admit_spread(expected, gradients);
}

/// What float32 leaves of the values in between, such as erf(x) next to -1 of which log1p is taken: how far the float64 gradients scatter where each
/// computed value moves by about a unit in the last place of float32, each element another way.
void admit_rounded_values(Expected& expected, const GraphSpec& wide, const std::vector<Array>& arrays, const damo::Options& plain) {
  const Variable amount = input({float64, {}}, "amount"), seed = input({float64, {}}, "seed");
  double nodes = 0;
  std::optional<GradientGraph> made = gradient_graph(wide, [&](const Variable& value) -> Variable {
    if (value.dtype() != float64) return value;
    const Variable phase = 78.233 * ++nodes + seed;
    const Variable way = sin(value.rank() == 0 ? phase : phase + 12.9898 * cast(index_along(value, Axes()), float64));
    return value * (1 + amount * way);
  });
  if (!made) return;
  made->inputs.push_back(amount), made->inputs.push_back(seed);
  const Function gradient = function(made->inputs, made->gradients, plain);
  std::vector<std::vector<Values>> gradients;
  for (double way = 0; way < 5; ++way) {
    std::vector<Array> values = moved(arrays, 0, 0);
    values.push_back(Array::scalar(way == 0 ? 0.0 : 1.2e-7, values.front().device())), values.push_back(Array::scalar(way, values.front().device()));
    gradients.push_back(doubles(gradient.call(values)));
  }
  admit_spread(expected, gradients);
}

/// Moves the inputs along a direction and asks whether the cost changes as the gradient says.
std::string against_differences(const Function& cost, const Expected& expected, const std::vector<Array>& arrays) {
  const std::vector<Array> center = moved(arrays, 0, 0), there = moved(arrays, 1, 9);
  double slope = 0, size = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (!is_floating(arrays[i].dtype())) continue;
    const Values from = center[i].to_doubles(), to = there[i].to_doubles(), &gradient = expected.gradients[at++];
    for (std::size_t k = 0; k < from.size(); ++k) {
      if (std::isinf(expected.bounds[at - 1][k]) || !std::isfinite(from[k])) return {};
      slope += gradient[k] * (to[k] - from[k]), size += std::fabs(gradient[k] * (to[k] - from[k]));
    }
  }
  const auto value = [&](double amount) { return cost.call(moved(arrays, amount, 9))[0].to_doubles()[0]; };
  const auto slope_of = [&](double width) { return (value(width) - value(-width)) / (2 * width); };
  const double wide = slope_of(1e-5), narrow = slope_of(2e-6), middle = slope_of(5e-6), total = value(0);
  const double bound = 1e-3 * size + 1e-6 * std::fabs(total) + 1e-9, spread = std::max(std::fabs(wide - narrow), std::fabs(wide - middle));
  if (!std::isfinite(wide + narrow + middle + bound) || spread > 0.05 * bound || std::fabs(slope - wide) <= bound) return {};
  const double left = (total - value(-1e-5)) / 1e-5, right = (value(1e-5) - total) / 1e-5;
  if (std::fabs(right - left) > 0.1 * std::fabs(slope - wide)) return {};  // a kink, as equal elements of a maximum are: any slope between these is right
  return text_of("says the result changes by %.9g along a direction, differences say %.9g within %.2g", slope, wide, bound);
}

}  // namespace

int differentiated(const GraphSpec& graph) {
  const std::vector<ValueType> types = graph.types();
  const auto is_real = [&](int output) { return types[static_cast<std::size_t>(output)].dtype == float32 || types[static_cast<std::size_t>(output)].dtype == float64; };
  const auto found = std::find_if(graph.outputs.begin(), graph.outputs.end(), is_real);
  return found == graph.outputs.end() ? -1 : *found;
}

std::string check_gradient(const GraphSpec& graph, Device device, std::size_t& compared) {
  const std::vector<ValueType> types = graph.types();
  if (differentiated(graph) < 0) return {};
  if (std::any_of(types.begin(), types.end(), [](const ValueType& value) { return is_narrow(value.dtype); })) return {};
  const std::optional<GraphSpec> wide = widened(graph);
  const std::optional<GradientGraph> made = wide ? gradient_graph(graph) : std::nullopt, reference = made ? gradient_graph(*wide) : std::nullopt;
  if (!reference) return {};
  const auto some = [&](auto is) { return std::any_of(graph.nodes.begin(), graph.nodes.end(), is); };
  const bool has_positions = some([](const NodeSpec& node) { return node.family == "indexing" || node.family == "sorting" || node.family == "statistics"; });
  // Where the quotient, or what is rounded, is large there are many steps in the least difference, and they look like a slope.
  static const std::set<std::string> kSteps = {"int_div", "mod", "fmod", "floor", "ceil", "trunc", "round_half_to_even", "round_half_away"};
  const bool has_steps = some([](const NodeSpec& node) { return kSteps.contains(node.name); });
  // Whose own gradients the user says, whatever their values do.
  static const std::set<std::string> kTold = {"consider_constant", "zero_grad", "disconnected_grad", "grad_clip", "with_gradient"};
  const bool is_told = some([](const NodeSpec& node) { return kTold.contains(node.name); });
  // Rules make softmax of what is written by hand, whose row is NaN where an infinity is in it.
  const bool by_hand = some([](const NodeSpec& node) { return node.name.ends_with("_by_hand"); });
  const bool is_wide = !by_hand && std::none_of(types.begin(), types.end(), [](const ValueType& value) { return value.dtype == float32; });
  const damo::Options plain{.fuse = false, .rewrite = false, .device = device, .allow_unused_inputs = true};
  const Function gradient = function(reference->inputs, reference->gradients, plain), cost = function(reference->inputs, std::vector<Variable>{reference->cost}, plain);
  const Function is_open = function(reference->inputs, std::vector<Variable>{reference->is_open}, plain);
  std::vector<std::vector<Array>> calls;
  std::vector<Expected> expected;
  for (std::size_t call = 0; call < graph.calls.size(); ++call) {
    calls.push_back(arguments_of(graph, call, device).arrays);
    expected.push_back(expected_of(gradient, calls.back(), has_positions));
    if (is_open.call(moved(calls.back(), 0, 0))[0].to_doubles()[0] != 0) {
      for (Values& bounds : expected.back().bounds) std::fill(bounds.begin(), bounds.end(), INFINITY);
    }
    for (const Values& bounds : expected.back().bounds) compared += static_cast<std::size_t>(std::count_if(bounds.begin(), bounds.end(), [](double bound) { return std::isfinite(bound); }));
    if (has_steps || is_told) continue;
    if (std::string wrong = against_differences(cost, expected.back(), calls.back()); !wrong.empty()) return "gradient, float64, call " + std::to_string(call) + ": " + wrong;
  }
  for (const bool fuse : {true, false}) {
    const Function f = function(made->inputs, made->gradients, {.fuse = fuse, .device = device, .allow_unused_inputs = true});
    for (std::size_t call = 0; call < calls.size(); ++call) {
      const Results results = f.call(calls[call]);
      std::string wrong = difference_of(results, expected[call], is_wide);
      if (!wrong.empty()) {
        admit_noise(expected[call], *made, calls[call], plain);
        if (!is_wide) admit_rounded_values(expected[call], *wide, calls[call], plain);
        wrong = difference_of(results, expected[call], is_wide);
      }
      if (!wrong.empty()) return std::string("gradient, ") + (fuse ? "fused" : "unfused") + ", call " + std::to_string(call) + ": " + wrong;
    }
  }
  return {};
}

}  // namespace damo::testing
