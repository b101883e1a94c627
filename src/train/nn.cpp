#include <damo/nn.hpp>

#include <cmath>
#include <numbers>
#include <numeric>

#include <damo/array_linalg.hpp>
#include <damo/array_math.hpp>
#include <damo/array_shape.hpp>
#include <damo/array_softmax.hpp>
#include <damo/custom_gradient.hpp>
#include <damo/loop.hpp>
#include <damo/ops/cast.hpp>
#include <damo/ops/conv.hpp>
#include <damo/ops/indexing.hpp>
#include <damo/ops/linalg.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/reduce.hpp>
#include <damo/ops/shape.hpp>
#include <damo/ops/softmax.hpp>
#include <damo/ops/specify_shape.hpp>
#include <damo/ops/subtensor.hpp>
#include "graph/base/counted.hpp"
#include "graph/user_line.hpp"
#include "ops/attention/attention_of.hpp"
#include "ops/reduce_op.hpp"

namespace damo::nn {
namespace {

void require_axes(const std::string& name, const Shape& shape) {
  if (shape.rank() == 0) throw ShapeError("nn::Init: parameter '" + name + "' has no axis of inputs", "give it the axes (inputs, ..., outputs)");
}

/// A vector of features along one axis of rank many.
Variable along(const Variable& features, const char* layer, int axis, int rank) {
  std::vector<int> pattern(static_cast<std::size_t>(rank), kNewAxis);
  pattern[static_cast<std::size_t>(normalize_axis(layer, axis, rank))] = 0;
  return dimshuffle(features, pattern);
}

}  // namespace

double Init::unit() { return (static_cast<double>(random_() >> 11) + 0.5) * 0x1p-53; }

template <class Draw>
Shared Init::draw(std::string name, const Shape& shape, const Draw& draw) {
  for (const std::int64_t extent : shape) {
    if (extent < 0) throw ShapeError("nn::Init: an extent of parameter '" + name + "' is " + std::to_string(extent), "give 0 or more");
  }
  const Array values = visit(dtype_, [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>) {
      throw TypeError("nn::Init: parameters are floating, not " + std::string(damo::name(dtype_)), "give float32, float64, float16 or bfloat16");
      return Array();
    } else {
      std::vector<T> host(static_cast<std::size_t>(shape.size()));
      for (T& value : host) value = T(draw());
      return Array::from(host, shape, device_);
    }
  });
  return shared(std::move(name), values, SourceLine());  // the line here is nobody's
}

Shared Init::full(std::string name, const Shape& shape, double value) {
  return draw(std::move(name), shape, [&] { return value; });
}
Shared Init::uniform(std::string name, const Shape& shape, double limit) {
  return draw(std::move(name), shape, [&] { return limit * (2 * unit() - 1); });
}
Shared Init::normal(std::string name, const Shape& shape, double deviation) {
  return draw(std::move(name), shape, [&] {  // Box, Muller 1958
    const double radius = std::sqrt(-2 * std::log(unit())), angle = 2 * std::numbers::pi * unit();
    return deviation * radius * std::cos(angle);
  });
}
Shared Init::glorot(std::string name, const Shape& shape) {
  require_axes(name, shape);
  const double limit = std::sqrt(6.0 / static_cast<double>(shape[0] + shape[-1]));
  return uniform(std::move(name), shape, limit);
}
Shared Init::he(std::string name, const Shape& shape) {
  require_axes(name, shape);
  return normal(std::move(name), shape, std::sqrt(2.0 / static_cast<double>(shape[0])));
}

Linear::Linear(Init& init, const std::string& name, std::int64_t inputs, std::int64_t outputs)
    : weight(init.glorot(name + ".weight", {inputs, outputs})), bias(init.full(name + ".bias", {outputs})) {}
Variable Linear::operator()(const Operand& x) const {
  const BuiltAt here(x.where());
  const DType dtype = x.promotable().dtype;
  return asked("nn::Linear", [&] {
    if (is_half(dtype) && !is_half(weight.dtype())) return dot(x, cast(weight, dtype)) + cast(bias, dtype);
    return dot(x, weight) + bias;
  }, x);
}

namespace {

Shared filters_of(const std::string& layer, std::size_t axes, Init& init, const std::string& name, std::int64_t channels, std::int64_t filters,
                  const PerAxis& window, std::int64_t groups) {
  std::vector<std::int64_t> extents = window.numbers();
  if ((extents.size() != 1 && extents.size() != axes) || groups < 1 || channels % groups != 0 || filters % groups != 0) {
    throw ShapeError(layer + ": " + std::to_string(channels) + " channels and " + std::to_string(filters) + " filters in " + std::to_string(groups) +
                         " groups, windows of " + counted_axes(extents.size()),
                     "give one extent" + (axes == 1 ? "" : " or " + std::to_string(axes)) + ", and groups that divide both numbers");
  }
  extents.resize(axes, extents.front());
  Shape shape{filters, channels / groups};
  double seen = 1;  // elements of a window
  for (const std::int64_t extent : extents) shape.push_back(extent), seen *= static_cast<double>(extent);
  const double inputs = static_cast<double>(channels / groups) * seen, outputs = static_cast<double>(filters / groups) * seen;
  return init.uniform(name, shape, std::sqrt(6 / (inputs + outputs)));
}

template <int kSpatialAxes>
const std::string& name_of_conv() {
  static const std::string name = "nn::Conv" + std::to_string(kSpatialAxes) + "d";
  return name;
}

}  // namespace

template <int kSpatialAxes>
Conv<kSpatialAxes>::Conv(Init& init, const std::string& name, std::int64_t channels, std::int64_t filters, const PerAxis& window, ConvOptions options)
    : weight(filters_of(name_of_conv<kSpatialAxes>(), kSpatialAxes, init, name + ".weight", channels, filters, window, options.groups)),
      bias(init.full(name + ".bias", {filters})), options(std::move(options)) {}

template <int kSpatialAxes>
Variable Conv<kSpatialAxes>::operator()(const Operand& x) const {
  const BuiltAt here(x.where());
  const Variable y = asked(name_of_conv<kSpatialAxes>(), [&] { return kSpatialAxes == 1 ? conv1d(x, weight, options) : kSpatialAxes == 2 ? conv2d(x, weight, options) : conv3d(x, weight, options); }, x);
  return y + along(bias, name_of_conv<kSpatialAxes>().c_str(), 1, y.rank());
}

template struct Conv<1>;
template struct Conv<2>;
template struct Conv<3>;

Embedding::Embedding(Init& init, const std::string& name, std::int64_t count, std::int64_t features)
    : weight(init.normal(name + ".weight", {count, features}, 0.02)) {}
Variable Embedding::operator()(const Operand& positions) const {
  const BuiltAt here(positions.where());
  return asked("nn::Embedding", [&] { return take(weight, positions, 0); }, positions);
}

LayerNorm::LayerNorm(Init& init, const std::string& name, std::int64_t features, double epsilon)
    : scale(init.full(name + ".scale", {features}, 1)), shift(init.full(name + ".shift", {features})), epsilon(epsilon) {}
Variable LayerNorm::operator()(const Operand& x) const {
  const BuiltAt here(x.where());
  const Variable y = asked("nn::LayerNorm", [&] { return (x - mean(x, -1, keepdims)) * rsqrt(var(x, -1, keepdims) + epsilon) * scale + shift; }, x);
  return recompute(y, {x.variable()});
}

RMSNorm::RMSNorm(Init& init, const std::string& name, std::int64_t features, double epsilon)
    : scale(init.full(name + ".scale", {features}, 1)), epsilon(epsilon) {}
Variable RMSNorm::operator()(const Operand& x) const {
  const BuiltAt here(x.where());
  const Variable y = asked("nn::RMSNorm", [&] { return x * rsqrt(mean(sqr(x), -1, keepdims) + epsilon) * scale; }, x);
  return recompute(y, {x.variable()});
}

GroupNorm::GroupNorm(Init& init, const std::string& name, std::int64_t features, std::int64_t groups, double epsilon)
    : scale(init.full(name + ".scale", {features}, 1)), shift(init.full(name + ".shift", {features})), groups(groups), epsilon(epsilon) {
  if (groups >= 1 && features % groups == 0) return;
  throw ShapeError("nn::GroupNorm: " + std::to_string(groups) + " groups of " + std::to_string(features) + " features", "give a number of groups that divides them");
}
Variable GroupNorm::operator()(const Operand& x) const {
  const BuiltAt here(x.where());
  const auto build = [&] {
    const int rank = x.variable().rank();
    const std::int64_t features = scale.dims()[0];
    if (rank < 2) throw ShapeError("nn::GroupNorm: x has " + counted_axes(rank), "give it the axes (n, features, ...)");
    std::vector<int> behind(static_cast<std::size_t>(rank - 2)), as_x(static_cast<std::size_t>(rank), kNewAxis);
    std::iota(behind.begin(), behind.end(), 2);
    as_x[0] = 0, as_x[1] = 1;
    // Means by feature, (n, features), then by group, for each feature that of its group.
    const auto by_group = [&](const Variable& values) {
      const Variable by_feature = specify_shape(mean(values, behind), {kUnknown, features});
      return dimshuffle(repeat(mean(reshape(by_feature, {-1, groups, features / groups}), -1), features / groups, 1), as_x);
    };
    const Variable centered = x - by_group(x.variable());
    return centered * rsqrt(by_group(sqr(centered)) + epsilon) * along(scale, "nn::GroupNorm", 1, rank) + along(shift, "nn::GroupNorm", 1, rank);
  };
  return recompute(asked("nn::GroupNorm", build, x), {x.variable()});
}

BatchNorm::BatchNorm(Init& init, const std::string& name, std::int64_t features, int axis, double momentum, double epsilon)
    : scale(init.full(name + ".scale", {features}, 1)), shift(init.full(name + ".shift", {features})),
      running_mean(init.full(name + ".running_mean", {features})), running_var(init.full(name + ".running_var", {features}, 1)),
      axis(axis), momentum(momentum), epsilon(epsilon) {}

Variable BatchNorm::train(const Operand& x, optim::Updates& updates) const {
  const BuiltAt here(x.where());
  const int rank = x.variable().rank(), kept = normalize_axis("nn::BatchNorm", axis, rank);
  const std::uint32_t mask = Axes().mask(rank, "nn::BatchNorm") & ~(std::uint32_t{1} << kept);
  // As mean and var, of nodes that look for rows: of float32 and float64 they have one mean between them.
  const NeededRows rows{"nn::BatchNorm", "x", mask};
  const auto build = [&] {
    const SourceLine line = x.where();
    const Variable given = is_floating(x.variable().dtype()) ? x.variable() : cast(x, float64), wide = is_half(given.dtype()) ? cast(given, float32) : given;
    const Variable squares = sqr(wide - reduce(ReductionKind::kMean, wide, mask, line, rows));
    return std::pair(drop_axes(reduce(ReductionKind::kMean, given, mask, line, rows), mask, false, line),
                     drop_axes(cast(reduce(ReductionKind::kMean, squares, mask, line), given.dtype()), mask, false, line));
  };
  const auto [center, spread] = asked("nn::BatchNorm", build, x);
  // x may have another dtype than the parameters.
  updates.push_back({running_mean, cast(momentum * running_mean + (1 - momentum) * center, running_mean.dtype())});
  updates.push_back({running_var, cast(momentum * running_var + (1 - momentum) * spread, running_var.dtype())});
  return (x - along(center, "nn::BatchNorm", kept, rank)) * along(rsqrt(spread + epsilon) * scale, "nn::BatchNorm", kept, rank) + along(shift, "nn::BatchNorm", kept, rank);
}
Variable BatchNorm::operator()(const Operand& x) const {
  const BuiltAt here(x.where());
  const int rank = x.variable().rank();
  return (x - along(running_mean, "nn::BatchNorm", axis, rank)) * along(rsqrt(running_var + epsilon) * scale, "nn::BatchNorm", axis, rank) + along(shift, "nn::BatchNorm", axis, rank);
}

LSTMCell::LSTMCell(Init& init, const std::string& name, std::int64_t inputs, std::int64_t features)
    : input_weight(init.glorot(name + ".input_weight", {inputs, 4 * features})), hidden_weight(init.glorot(name + ".hidden_weight", {features, 4 * features})),
      bias(init.full(name + ".bias", {4 * features})), features(features) {
  const Array start = bias.array();
  assign(start.slice({{features, 2 * features}}), 1.0);
  bias.set(start);
}
LSTMCell::State LSTMCell::operator()(const Operand& x, const State& state) const {
  const BuiltAt here(x.where());
  return from_sums(dot(x, input_weight) + bias, state);
}
LSTMCell::State LSTMCell::from_sums(const Variable& sums, const State& state) const {
  const std::vector<Variable> gates = split(sums + dot(state.hidden, hidden_weight), {features, features, features, features}, -1);
  const Variable cell = sigmoid(gates[1]) * state.cell + sigmoid(gates[0]) * tanh(gates[2]);
  return {sigmoid(gates[3]) * tanh(cell), cell};
}

GRUCell::GRUCell(Init& init, const std::string& name, std::int64_t inputs, std::int64_t features)
    : input_weight(init.glorot(name + ".input_weight", {inputs, 3 * features})), hidden_weight(init.glorot(name + ".hidden_weight", {features, 3 * features})),
      input_bias(init.full(name + ".input_bias", {3 * features})), hidden_bias(init.full(name + ".hidden_bias", {3 * features})), features(features) {}
Variable GRUCell::operator()(const Operand& x, const Operand& hidden) const {
  const BuiltAt here(x.where());
  return from_sums(dot(x, input_weight) + input_bias, hidden);
}
Variable GRUCell::from_sums(const Variable& sums, const Operand& hidden) const {
  const std::vector<Variable> in = split(sums, {features, features, features}, -1);
  const std::vector<Variable> back = split(dot(hidden, hidden_weight) + hidden_bias, {features, features, features}, -1);
  const Variable reset = sigmoid(in[0] + back[0]), keep = sigmoid(in[1] + back[1]), next = tanh(in[2] + reset * back[2]);
  return (1.0 - keep) * next + keep * hidden;
}

namespace {

/// (n, features), of sums (steps, n, ...).
Variable begin_of(const Variable& sums, std::int64_t features) { return second(subtensor(sums, {0, {}, {0, features}}), 0.0); }

}  // namespace

LSTM::Result LSTM::operator()(const Operand& xs, const std::optional<LSTMCell::State>& begin) const {
  const BuiltAt here(xs.where());
  const Variable sums = dot(xs, cell.input_weight) + cell.bias, zeros = begin_of(sums, cell.features);
  const ScanOutputs states = scan({.sequences = {sums}, .initial = {begin ? begin->hidden : zeros, begin ? begin->cell : zeros}, .name = "lstm"},
                                  [&](const Variable& sum, const Variable& hidden, const Variable& memory) {
                                    const LSTMCell::State next = cell.from_sums(sum, {hidden, memory});
                                    return std::pair(next.hidden, next.cell);
                                  });
  return {states[0], {subtensor(states[0], {-1}), subtensor(states[1], {-1})}};
}

Variable GRU::operator()(const Operand& xs, const Variable& begin) const {
  const BuiltAt here(xs.where());
  const Variable sums = dot(xs, cell.input_weight) + cell.input_bias;
  return scan({.sequences = {sums}, .initial = {begin ? begin : begin_of(sums, cell.features)}, .name = "gru"}, [&](const Variable& sum, const Variable& hidden) { return cell.from_sums(sum, hidden); });
}

Variable attention(const Operand& query, const Operand& key, const Operand& value, const AttentionOptions& options) {
  const BuiltAt here(query.where());
  return asked("attention", [&] {
    const Variable q = query.variable(), k = key.variable(), v = value.variable();
    const AttentionForm form = AttentionOf<OfVariables>::form(q, k, v, options.causal, options.scale);
    return damo::attention(q, k, v, options.mask ? *options.mask : Variable(), form);
  }, query, key, value);
}

Array attention(const Array& query, const Array& key, const Array& value, const ArrayAttentionOptions& options) {
  return asked_at_once("attention", [&] {
    const Array &q = given_array("attention", query), &k = given_array("attention", key), &v = given_array("attention", value);
    const AttentionForm form = AttentionOf<OfArrays>::form(q, k, v, options.causal, options.scale);
    return AttentionOf<OfArrays>::plain(q, k, v, options.mask ? given_array("attention", *options.mask) : Array(), form);
  }, query, key, value);
}

}  // namespace damo::nn
