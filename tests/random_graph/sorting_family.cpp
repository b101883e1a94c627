#include "sorting_ops.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "op_family.hpp"

namespace damo::testing {
namespace {

std::optional<NodeSpec> draw_sorting(Draw& draw) {
  static const char* kNames[] = {"sort", "argsort", "searchsorted", "topk"};
  const std::string name = kNames[draw.pick(std::size(kNames))];
  const std::optional<int> x = draw.find([&](const ValueType& type) { return name == "searchsorted" ? type.dims.size() == 1 : !type.dims.empty(); });
  if (!x) return {};
  NodeSpec node{.kind = NodeSpec::Kind::kFamily, .family = "sorting", .name = name, .operands = {*x}, .pattern = {draw.number(0, draw.rank(*x) - 1), draw.number(0, 1), draw.number(1, 3)}};
  if (name == "topk") node.outputs = 2;
  if (name == "searchsorted") node.operands.push_back(*draw.find([&](const ValueType& type) { return type.dtype == draw.type(*x).dtype; }));
  return node;
}

std::vector<ValueType> sorting_types(const NodeSpec& node, const std::vector<ValueType>& in, const NewSymbols& symbols) {
  const int axis = node.pattern.at(0);
  demand(axis < static_cast<int>(in.at(0).dims.size()));
  if (node.name == "searchsorted") {
    demand(in[0].dims.size() == 1 && in.at(1).dtype == in[0].dtype);
    return {{int64, in[1].dims}};
  }
  if (node.name == "sort") return {in[0]};
  if (node.name == "argsort") return {{int64, in[0].dims}};
  Dims dims = in[0].dims;
  dims[static_cast<std::size_t>(axis)] = symbols.fresh();
  return {{in[0].dtype, dims}, {int64, dims}};
}

bool comes_before(Wide a, Wide b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

/// The order of one line: which element comes at each place, and how far the values there may be off; infinite: nobody knows.
struct Order {
  std::vector<std::size_t> places;
  Wide error = 0;
  bool certain = true;  ///< the places too
};
Order order_of(const std::vector<Element>& line, bool descending) {
  Order order;
  order.places.resize(line.size());
  std::iota(order.places.begin(), order.places.end(), std::size_t{0});
  for (const Element& x : line) order.error = std::max(order.error, x.error);
  std::stable_sort(order.places.begin(), order.places.end(), [&](std::size_t a, std::size_t b) {
    return descending ? comes_before(line[b].value, line[a].value) : comes_before(line[a].value, line[b].value);
  });
  for (std::size_t i = 0; order.error > 0 && i + 1 < line.size(); ++i) {
    const Wide step = std::fabs(line[order.places[i]].value - line[order.places[i + 1]].value);
    order.certain &= step > 2 * order.error || (std::isnan(step) && std::isfinite(order.error));
  }
  return order;
}

Tensor searched(const Tensor& x, const Tensor& values, bool right) {
  Tensor result{int64, values.shape, {}};
  for (const Element& value : values.elements) {
    Element place{0, 0};
    for (const Element& element : x.elements) {
      const Wide error = element.error + value.error;
      if (!std::isfinite(error) || (error > 0 && std::fabs(element.value - value.value) <= error)) place.error = std::numeric_limits<Wide>::infinity();
      place.value += right ? !comes_before(value.value, element.value) : comes_before(element.value, value.value);
    }
    result.elements.push_back(place);
  }
  return result;
}

std::vector<Tensor> sorting_reference(const NodeSpec& node, const std::vector<Tensor>& in, const std::vector<DType>& dtypes) {
  const Tensor& x = in[0];
  const int axis = node.pattern[0];
  if (node.name == "searchsorted") return {searched(x, in[1], node.pattern[1] != 0)};
  const std::int64_t length = x.shape[axis], count = node.name == "topk" ? node.pattern[2] : length;
  demand_extents(count <= length);
  const bool descending = node.pattern[1] != 0;
  Shape shape = x.shape;
  shape[axis] = count;
  Tensor values{x.dtype, shape, std::vector<Element>(static_cast<std::size_t>(shape.size()))}, places{int64, shape, values.elements};
  const std::int64_t inner = inner_size(x.shape, axis);
  for (std::int64_t line = 0; line < shape.size() / std::max<std::int64_t>(count, 1); ++line) {
    const std::int64_t outer = line / inner, first = outer * length * inner + line % inner, to = outer * count * inner + line % inner;
    std::vector<Element> elements;
    for (std::int64_t i = 0; i < length; ++i) elements.push_back(x.elements[static_cast<std::size_t>(first + i * inner)]);
    const Order order = order_of(elements, descending);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::size_t place = order.places[static_cast<std::size_t>(i)], at = static_cast<std::size_t>(to + i * inner);
      values.elements[at] = {elements[place].value, order.error};
      places.elements[at] = {static_cast<Wide>(place), order.certain ? 0 : std::numeric_limits<Wide>::infinity()};
    }
  }
  if (node.name == "argsort") return {places};
  values.dtype = dtypes[0];
  return node.name == "sort" ? std::vector<Tensor>{values} : std::vector<Tensor>{values, places};
}

}  // namespace

const OpFamily sorting_family{"sorting", draw_sorting, sorting_types, sorting_node<Variable>, sorting_node<Array>, sorting_reference};

}  // namespace damo::testing
