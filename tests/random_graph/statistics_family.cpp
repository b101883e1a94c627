#include "statistics_ops.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "op_family.hpp"

namespace damo::testing {
namespace {

constexpr Element kOpenStatistic{0, std::numeric_limits<Wide>::infinity()};

bool is_of_axis(const std::string& name) { return name == "ptp" || name == "max_and_argmax" || name == "median" || name == "quantile"; }
bool is_closeness(const std::string& name) { return name == "isclose" || name == "allclose"; }
int results_of_statistic(const std::string& name) { return name == "unique" ? 4 : name == "confusion_matrix" || name == "max_and_argmax" ? 2 : 1; }

std::optional<NodeSpec> draw_statistic(Draw& draw) {
  static const char* kNames[] = {"ptp", "max_and_argmax", "median", "quantile", "quantile", "unique", "bincount", "weighed", "confusion_matrix", "isclose", "allclose"};
  const std::string name = kNames[draw.pick(std::size(kNames))];
  const std::optional<int> x = draw.find([&](const ValueType& type) {
    if (name == "bincount" || name == "weighed" || name == "confusion_matrix") return type.dims.size() == 1;
    return name == "unique" || is_closeness(name) || (!type.dims.empty() && (name != "ptp" || type.dtype != bool_));
  });
  if (!x) return {};
  NodeSpec node{.kind = NodeSpec::Kind::kFamily, .family = "statistics", .name = name, .operands = {*x},
                .pattern = {draw.number(-1, std::max(draw.rank(*x) - 1, 0)), draw.number(0, 8), draw.number(0, 1)}};
  node.outputs = results_of_statistic(name);
  if (name == "weighed" || name == "confusion_matrix" || is_closeness(name)) node.operands.push_back(*draw.find([&](const ValueType& type) { return type.dims == draw.type(*x).dims; }));
  draw.bounds = {draw.size(*x)};
  draw.result_size = is_of_axis(name) ? draw.size(*x) : std::max<std::int64_t>(draw.size(*x), 16);
  return node;
}

std::vector<ValueType> statistic_types(const NodeSpec& node, const std::vector<ValueType>& in, const NewSymbols& symbols) {
  const ValueType& x = in.at(0);
  demand(node.outputs == results_of_statistic(node.name));
  if (node.name == "unique") return {{x.dtype, {symbols.sized()}}, {int64, {symbols.sized()}}, {int64, {symbols.fresh()}}, {int64, {symbols.sized()}}};
  if (is_closeness(node.name)) {
    demand(in.at(1).dims == x.dims);
    return {{bool_, node.name == "isclose" ? x.dims : Dims{}}};
  }
  if (!is_of_axis(node.name)) {
    demand(x.dims.size() == 1);
    if (node.name == "bincount") return {{int64, {symbols.sized()}}};
    demand(in.at(1).dims == x.dims);
    if (node.name == "confusion_matrix") return {{int64, {symbols.sized(), symbols.sized()}}, {int64, {symbols.sized()}}};
    demand(!is_half(in[1].dtype));
    return {{is_floating(in[1].dtype) ? in[1].dtype : float64, {symbols.sized()}}};
  }
  const int axis = node.pattern.at(0);
  demand(!x.dims.empty() && axis < static_cast<int>(x.dims.size()) && (node.name != "ptp" || x.dtype != bool_));
  for (int symbol : x.dims) demand(symbol < kSizedSymbols || symbol >= kFreshSymbols);  // of nothing there is none of these
  ValueType result{node.name == "ptp" || is_floating(x.dtype) ? x.dtype : float64, {}};
  for (int i = 0; i < static_cast<int>(x.dims.size()); ++i) {
    if (axis >= 0 && i != axis) result.dims.push_back(x.dims[static_cast<std::size_t>(i)]);
    else if (node.pattern[2] != 0) result.dims.push_back(kOne);
  }
  if (node.name == "max_and_argmax") return {{x.dtype, result.dims}, {int64, result.dims}};
  return {result};
}

/// Of the elements in order, kept in a dtype, the one that lies so many places from the least on, and the next one's share.
Element between(std::vector<Element> line, Wide place, DType kept) {
  Wide error = 0;
  for (const Element& x : line) error = std::max(error, x.error);
  if (!std::isfinite(error)) return kOpenStatistic;
  if (const auto nan = std::find_if(line.begin(), line.end(), [](const Element& x) { return std::isnan(x.value); }); nan != line.end()) return *nan;
  std::sort(line.begin(), line.end(), [](const Element& a, const Element& b) { return a.value < b.value; });
  const auto last = line.size() - 1, below = static_cast<std::size_t>(std::floor(place));
  const Wide part = place - std::floor(place), low = line[below].value, high = line[std::min(below + 1, last)].value, unit = kept == float64 ? 0x1p-53L : 0x1p-24L;
  if (error == 0 && (low == high || (part == 0 && below == last))) return {low, 0};
  const Wide size = std::fabs(low) + std::fabs(high) + error, greatest = kept == float64 ? 1e307L : 1e37L;
  if (!(size < greatest)) return kOpenStatistic;
  return {low + (high - low) * part, 3 * error + size * (8 * unit + 0x1p-50L * static_cast<Wide>(line.size())) + (kept == float64 ? 1e-322L : 1e-43L)};
}

Tensor ordered_reference(const NodeSpec& node, const Tensor& given, DType result) {
  const DType kept = is_half(result) ? float32 : result;
  const Tensor x = cast_tensor(given, kept);
  const int axis = node.pattern[0];
  const std::int64_t length = axis < 0 ? x.shape.size() : x.shape[axis], inner = axis < 0 ? 1 : inner_size(x.shape, axis);
  demand_extents(length > 0);
  Tensor statistic{kept, {}, {}};
  for (int i = 0; i < x.shape.rank(); ++i) {
    if (axis >= 0 && i != axis) statistic.shape.push_back(x.shape[i]);
    else if (node.pattern[2] != 0) statistic.shape.push_back(1);
  }
  for (std::int64_t i = 0; i < statistic.shape.size(); ++i) {
    std::vector<Element> line;
    for (std::int64_t k = 0; k < length; ++k) line.push_back(x.elements[static_cast<std::size_t>((i / inner * length + k) * inner + i % inner)]);
    statistic.elements.push_back(between(std::move(line), static_cast<Wide>(length - 1) * (node.name == "median" ? 0.5L : static_cast<Wide>(node.pattern[1]) / 8), kept));
  }
  return cast_tensor(statistic, result);
}

/// Nobody knows how many there are unless all are known.
std::vector<Element> exact(const Tensor& x) {
  for (const Element& element : x.elements) demand_extents(element.error == 0);
  return x.elements;
}

std::vector<Tensor> unique_reference(const Tensor& given) {
  const auto number = [&](double value) { return number_like(given, value); };
  const Tensor x = is_floating(given.dtype) ? apply_row("where", {apply_row("isnan", {given}), given, apply_row("trunc", {apply_row("clip", {given, number(-4), number(4)})})}) : given;
  std::vector<std::size_t> places;  // where each value stands first, by value
  const std::vector<Element> elements = exact(x);
  const auto is_same = [&](std::size_t a, std::size_t b) { return elements[a].value == elements[b].value || (std::isnan(elements[a].value) && std::isnan(elements[b].value)); };
  std::vector<std::size_t> first(elements.size());
  for (std::size_t i = 0; i < elements.size(); ++i) {
    for (first[i] = 0; !is_same(first[i], i);) ++first[i];
    if (first[i] == i) places.push_back(i);
  }
  std::sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) { return std::isnan(elements[b].value) ? !std::isnan(elements[a].value) : elements[a].value < elements[b].value; });
  const Shape count{static_cast<std::int64_t>(places.size())};
  Tensor values{x.dtype, count, {}}, positions{int64, count, {}}, inverse{int64, {static_cast<std::int64_t>(elements.size())}, {}}, counts{int64, count, {}};
  for (std::size_t place : places) {
    values.elements.push_back(elements[place]);
    positions.elements.push_back({static_cast<Wide>(place), 0});
    counts.elements.push_back({static_cast<Wide>(std::count(first.begin(), first.end(), place)), 0});
  }
  for (std::size_t i : first) inverse.elements.push_back({static_cast<Wide>(std::find(places.begin(), places.end(), i) - places.begin()), 0});
  return {values, positions, inverse, counts};
}

Tensor closeness_reference(const NodeSpec& node, Tensor x, Tensor y) {
  for (Tensor* each : {&x, &y}) {
    if (is_half(each->dtype)) *each = cast_tensor(*each, float32);
  }
  const DType common = result_type(std::vector<Promotable>{{x.dtype}, {y.dtype}}), dtype = is_floating(common) ? common : float64;
  x = cast_tensor(x, dtype), y = cast_tensor(y, dtype);
  const bool is_each = node.name == "isclose";
  const Tensor rtol = number_like(x, is_each ? 0.25 : 0.5), atol = number_like(x, is_each ? node.pattern[1] / 8.0 : node.pattern[1]);
  const Tensor near = apply_row("le", {apply_row("abs", {apply_row("sub", {x, y})}), apply_row("add", {atol, apply_row("mul", {rtol, apply_row("abs", {y})})})});
  Tensor close = apply_row("or_", {apply_row("eq", {x, y}), apply_row("and_", {apply_row("isfinite", {y}), near})});
  if (node.pattern[2] != 0) close = apply_row("or_", {close, apply_row("and_", {apply_row("isnan", {x}), apply_row("isnan", {y})})});
  return is_each ? close : reduce_tensor("all", close, all_axes(close), false, bool_);
}

/// From 0 to 4.
std::vector<std::size_t> labels_of(const Tensor& x) {
  std::vector<std::size_t> labels;
  for (const Element& element : exact(cast_tensor(x, int64))) labels.push_back(static_cast<std::size_t>((static_cast<std::int64_t>(element.value) % 5 + 5) % 5));
  return labels;
}

std::vector<Tensor> statistic_reference(const NodeSpec& node, const std::vector<Tensor>& in, const std::vector<DType>& dtypes) {
  if (node.name == "ptp" || node.name == "max_and_argmax") {
    const std::vector<int> axes = node.pattern[0] < 0 ? all_axes(in[0]) : std::vector<int>{node.pattern[0]};
    for (int axis : axes) demand_extents(in[0].shape[axis] > 0);
    const auto chosen_of = [&](const char* name) { return reduce_tensor(name, in[0], axes, node.pattern[2] != 0, dtypes[0]); };
    if (node.name == "max_and_argmax") return {chosen_of("max"), reduce_tensor("argmax", in[0], axes, node.pattern[2] != 0, int64)};
    return {apply_row("sub", {chosen_of("max"), chosen_of("min")})};
  }
  if (is_of_axis(node.name)) return {ordered_reference(node, in[0], dtypes[0])};
  if (node.name == "unique") return unique_reference(in[0]);
  if (is_closeness(node.name)) return {closeness_reference(node, in[0], in[1])};
  const std::vector<std::size_t> labels = labels_of(in[0]);
  if (node.name == "confusion_matrix") {
    const std::vector<std::size_t> others = labels_of(in[1]);
    std::map<std::size_t, std::size_t> numbers;  // of each label that there is
    for (const auto* list : {&labels, &others}) {
      for (std::size_t label : *list) numbers[label] = 0;
    }
    const auto n = static_cast<std::int64_t>(numbers.size());
    Tensor matrix{int64, {n, n}, std::vector<Element>(static_cast<std::size_t>(n * n))}, names{int64, {n}, {}};
    for (auto& [label, place] : numbers) place = names.elements.size(), names.elements.push_back({static_cast<Wide>(label), 0});
    for (std::size_t i = 0; i < labels.size(); ++i) matrix.elements[numbers[labels[i]] * numbers.size() + numbers[others[i]]].value += 1;
    return {matrix, names};
  }
  const std::size_t most = labels.empty() ? 0 : *std::max_element(labels.begin(), labels.end()) + 1;
  std::vector<std::vector<Element>> bins(std::max<std::size_t>(most, static_cast<std::size_t>(node.pattern[1])));
  const Tensor weights = node.name == "weighed" ? cast_tensor(in[1], dtypes[0]) : Tensor{};
  for (std::size_t i = 0; i < labels.size(); ++i) bins[labels[i]].push_back(node.name == "weighed" ? weights.elements[i] : Element{1, 0});
  Tensor result{dtypes[0], {static_cast<std::int64_t>(bins.size())}, {}};
  for (const auto& bin : bins) result.elements.push_back(sum_of(bin, dtypes[0], false));
  return {result};
}

}  // namespace

const OpFamily statistics_family{"statistics", draw_statistic, statistic_types, statistics_node<Variable>, statistics_node<Array>, statistic_reference};

}  // namespace damo::testing
