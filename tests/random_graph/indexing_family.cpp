#include "indexing_ops.hpp"

#include <algorithm>
#include <cmath>

#include "op_family.hpp"

namespace damo::testing {
namespace {

constexpr Wide kNobodyKnows = std::numeric_limits<Wide>::infinity();

bool has_axes_of(const Dims& x, const Dims& mask) { return mask.size() <= x.size() && std::equal(mask.begin(), mask.end(), x.begin()); }

bool is_computed(const std::string& name) { return name == "take_doubled" || name == "take_less"; }
bool can_compute(DType dtype) { return is_floating(dtype) && !is_float8(dtype); }

std::optional<NodeSpec> draw_indexing(Draw& draw) {
  static const char* kNames[] = {"take", "take_doubled", "take_less", "along", "along_put", "taken_back", "along_back", "one_hot", "nonzero", "flatnonzero", "masked", "set_masked", "add_masked", "add_rows_back", "picked", "set_picked", "add_picked", "put"};
  const std::string name = kNames[draw.pick(std::size(kNames))];
  const bool by_mask = name.find("mask") != std::string::npos || name == "add_rows_back", back = name == "taken_back" || name == "along_back";
  const std::optional<int> x = draw.find([&](const ValueType& type) {
    return type.dims.size() > (name.ends_with("picked") ? 1u : 0u) && (!name.ends_with("_picked") || type.dtype != bool_) && (!back || type.dtype == float32 || type.dtype == float64) && (!is_computed(name) || can_compute(type.dtype)) && (name.starts_with("add_") ? type.dtype != bool_ : true);
  });
  if (!x) return {};
  NodeSpec node{.kind = NodeSpec::Kind::kFamily, .family = "indexing", .name = name, .operands = {*x}, .pattern = {draw.number(0, draw.rank(*x) - 1), draw.number(2, 5)}};
  draw.result_size = draw.size(*x);
  const Dims dims = draw.type(*x).dims;
  if (name.starts_with("take")) {
    const std::optional<int> positions = draw.find([&](const ValueType& type) { return type.dims.size() + dims.size() < 7 && draw.size(type.dims) * draw.size(dims) <= 5000; });
    if (!positions) return {};
    node.operands.push_back(*positions);
    draw.result_size *= draw.size(*positions);
  } else if (name.starts_with("along")) {
    node.operands.push_back(*draw.find([&](const ValueType& type) { return type.dims == dims; }));
    if (name == "along_put") node.operands.push_back(*draw.find([&](const ValueType& type) { return type.dtype == draw.type(*x).dtype && (type.dims.empty() || type.dims == dims); }));
  } else if (name.ends_with("picked")) {
    const std::optional<int> i = draw.find([&](const ValueType& type) { return type.dims.size() + dims.size() < 8 && draw.size(type.dims) * draw.size(dims) <= 5000; });
    if (!i) return {};
    node.operands.push_back(*i);
    node.operands.push_back(*draw.find([&](const ValueType& type) { return type.dims == draw.type(*i).dims; }));
    draw.result_size *= draw.size(*i);
  } else if (name == "put") {
    node.operands.push_back(*draw.find([](const ValueType&) { return true; }));
    const int positions = node.operands.back();
    node.operands.push_back(*draw.find([&](const ValueType& type) { return type.dims.empty() || type.dims == draw.type(positions).dims; }));
    draw.result_size += draw.size(positions);
  } else if (name == "one_hot") {
    draw.result_size *= node.pattern[1];
    draw.bounds = {node.pattern[1]};
  } else if (by_mask) {
    const std::optional<int> mask = draw.find([&](const ValueType& type) { return !type.dims.empty() && has_axes_of(dims, type.dims) && (type.dtype == bool_ || draw.pick(3) == 0); });
    if (!mask) return {};
    node.operands.push_back(*mask);
    const Dims rest(dims.begin() + draw.rank(*mask), dims.end());
    if (name == "masked") draw.bounds = {draw.size(*mask)};
    if (name == "set_masked" || name == "add_masked") {
      const std::optional<int> y = draw.find([&](const ValueType& type) { return type.dtype == draw.type(*x).dtype && (type.dims.empty() || type.dims == rest); });
      if (!y) return {};
      node.operands.push_back(*y);
    }
  }
  return node;
}

std::vector<ValueType> indexing_types(const NodeSpec& node, const std::vector<ValueType>& in, const NewSymbols& symbols) {
  const ValueType& x = in.at(0);
  const int axis = node.pattern.at(0);
  demand(axis < static_cast<int>(x.dims.size()));
  if (node.name.ends_with("nonzero")) return {{int64, {symbols.sized()}}};
  if (node.name == "one_hot") {
    Dims dims = x.dims;
    dims.push_back(symbols.fresh());
    return {{int32, dims}};
  }
  if (node.name == "masked" || node.name == "set_masked" || node.name == "add_masked" || node.name == "add_rows_back") {
    demand(!in.at(1).dims.empty() && has_axes_of(x.dims, in[1].dims) && (!node.name.starts_with("add_") || x.dtype != bool_));
    Dims rest(x.dims.begin() + static_cast<std::ptrdiff_t>(in[1].dims.size()), x.dims.end());
    if (node.operands.size() == 3) demand(in[2].dtype == x.dtype && (in[2].dims.empty() || in[2].dims == rest));
    if (node.name != "masked") return {x};
    rest.insert(rest.begin(), symbols.sized());
    return {{x.dtype, rest}};
  }
  if (node.name == "put") {
    demand(in.at(2).dims.empty() || in[2].dims == in.at(1).dims);
    return {x};
  }
  if (node.name.ends_with("picked")) {
    demand(x.dims.size() > 1 && in.at(1).dims == in.at(2).dims && in[1].dims.size() + x.dims.size() < 8 && (node.name == "picked" || x.dtype != bool_));
    if (node.name != "picked") return {x};
    Dims dims = in[1].dims;
    dims.insert(dims.end(), x.dims.begin() + 2, x.dims.end());
    return {{x.dtype, dims}};
  }
  if (node.name.starts_with("along")) demand(in.at(1).dims == x.dims);
  if (node.name == "along_put") demand(in.at(2).dtype == x.dtype && (in[2].dims.empty() || in[2].dims == x.dims));
  if (node.name.ends_with("_back")) demand(x.dtype == float32 || x.dtype == float64);
  if (node.name != "take" && !is_computed(node.name)) return {x};
  Dims dims(x.dims.begin(), x.dims.begin() + axis);
  dims.insert(dims.end(), in.at(1).dims.begin(), in[1].dims.end());
  dims.insert(dims.end(), x.dims.begin() + axis + 1, x.dims.end());
  demand(dims.size() < 7);
  if (is_computed(node.name)) demand(can_compute(x.dtype));
  if (node.name == "take_less") {
    demand(!dims.empty());
    for (int symbol : dims) demand(symbol < kSizedSymbols || symbol >= kFreshSymbols);  // may have no greatest element
  }
  return {{x.dtype, dims}};
}

/// From 0 to extent - 1; -1: nobody knows.
std::int64_t position_of(const Element& number, std::int64_t extent) {
  if (!std::isfinite(number.error)) return -1;
  const auto whole = static_cast<std::int64_t>(number.value), turn = 2 * extent, turned = (whole % turn + turn) % turn - extent;
  return turned < 0 ? turned + extent : turned;
}

/// What taking and adding back do: place in x of each element that is taken; empty where a position is not known.
std::vector<std::int64_t> taken_places(const NodeSpec& node, const Tensor& x, const Tensor& numbers, Shape& shape) {
  const int axis = node.pattern[0];
  const bool along = node.name.starts_with("along");
  const std::int64_t extent = x.shape[axis], inner = inner_size(x.shape, axis), outer = extent * inner == 0 ? 0 : x.shape.size() / (extent * inner);
  demand_extents(extent > 0 && x.shape.size() > 0);
  shape = x.shape;
  if (!along) {
    shape = {};
    for (int i = 0; i < axis; ++i) shape.push_back(x.shape[i]);
    for (int i = 0; i < numbers.shape.rank(); ++i) shape.push_back(numbers.shape[i]);
    for (int i = axis + 1; i < x.shape.rank(); ++i) shape.push_back(x.shape[i]);
  }
  const std::int64_t count = along ? extent : static_cast<std::int64_t>(numbers.elements.size());
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < outer; ++i) {
    for (std::int64_t k = 0; k < count; ++k) {
      for (std::int64_t j = 0; j < inner; ++j) {
        const std::int64_t at = (i * count + k) * inner + j, position = position_of(numbers.elements[static_cast<std::size_t>(along ? at : k)], extent);
        places.push_back(position < 0 ? -1 : (i * extent + position) * inner + j);
      }
    }
  }
  return places;
}

Tensor taken(const NodeSpec& node, const Tensor& x, const Tensor& numbers) {
  Shape shape;
  const std::vector<std::int64_t> places = taken_places(node, x, numbers, shape);
  Tensor result{x.dtype, shape, {}};
  if (!node.name.ends_with("_back")) {
    for (std::int64_t place : places) result.elements.push_back(place < 0 ? Element{0, kNobodyKnows} : x.elements[static_cast<std::size_t>(place)]);
    return result;
  }
  result = {x.dtype, x.shape, std::vector<Element>(x.elements.size())};  // sums of whole numbers, exact in both dtypes but for the largest
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i] >= 0) result.elements[static_cast<std::size_t>(places[i])].value += static_cast<Wide>(i) + 1;
    else std::fill(result.elements.begin(), result.elements.end(), Element{0, kNobodyKnows});
  }
  for (Element& element : result.elements) element.error += element.value * 0x1p-16L;
  return result;
}

/// x with values at positions along an axis, the last of several for one place.
Tensor put_along(const NodeSpec& node, const Tensor& x, const Tensor& numbers, const Tensor& values) {
  Shape shape;
  const std::vector<std::int64_t> places = taken_places(node, x, numbers, shape);
  Tensor result = x;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i] < 0) return {x.dtype, x.shape, std::vector<Element>(x.elements.size(), Element{0, kNobodyKnows})};
    result.elements[static_cast<std::size_t>(places[i])] = values.elements[values.shape.rank() == 0 ? 0 : i];
  }
  return result;
}

/// x[i, j], 2 written there, or 1 added as often as a place is named.
Tensor picked(const std::string& name, const Tensor& x, const Tensor& i, const Tensor& j) {
  demand_extents(x.shape.size() > 0);
  const std::int64_t inner = inner_size(x.shape, 1);
  Tensor result = x, counts{x.dtype, x.shape, std::vector<Element>(x.elements.size())};
  if (name == "picked") {
    result = {x.dtype, i.shape, {}};
    for (int axis = 2; axis < x.shape.rank(); ++axis) result.shape.push_back(x.shape[axis]);
  }
  for (std::size_t k = 0; k < i.elements.size(); ++k) {
    const std::int64_t row = position_of(i.elements[k], x.shape[0]), column = position_of(j.elements[k], x.shape[1]);
    if (row < 0 || column < 0) {
      if (name == "picked") result.elements.insert(result.elements.end(), static_cast<std::size_t>(inner), Element{0, kNobodyKnows});
      else return {x.dtype, x.shape, std::vector<Element>(x.elements.size(), Element{0, kNobodyKnows})};
      continue;
    }
    for (std::int64_t at = (row * x.shape[1] + column) * inner, end = at + inner; at < end; ++at) {
      const auto place = static_cast<std::size_t>(at);
      if (name == "picked") result.elements.push_back(x.elements[place]);
      else if (name == "set_picked") result.elements[place] = {2, 0};
      else counts.elements[place].value += 1;
    }
  }
  if (name != "add_picked") return result;
  const Tensor sums = apply_row(*find_elementwise("add"), {x, counts});
  for (std::size_t k = 0; k < counts.elements.size(); ++k) {
    const Wide count = counts.elements[k].value;
    if (count == 0) continue;
    result.elements[k] = sums.elements[k];
    if (is_floating(x.dtype) && count > 1) result.elements[k].error += count * (std::fabs(x.elements[k].value) + count) * (x.dtype == float64 ? 0x1p-53L : 0x1p-24L);  // one after the other
  }
  return result;
}

/// x with values of its dtype at places in C order, the last of several for one place.
Tensor put_reference(const Tensor& x, const Tensor& numbers, const Tensor& given) {
  demand_extents(x.shape.size() > 0);
  const Tensor values = cast_tensor(given, x.dtype);
  Tensor result = x;
  for (std::size_t k = 0; k < numbers.elements.size(); ++k) {
    const std::int64_t place = position_of(numbers.elements[k], x.shape.size());
    if (place < 0) return {x.dtype, x.shape, std::vector<Element>(x.elements.size(), Element{0, kNobodyKnows})};
    result.elements[static_cast<std::size_t>(place)] = values.elements[values.shape.rank() == 0 ? 0 : k];
  }
  return result;
}

Tensor as_bools(const Tensor& x) { return cast_tensor(x, bool_); }

/// A mask is of known elements, or nobody knows what comes out, not even how many elements.
std::vector<std::int64_t> true_places(const Tensor& mask) {
  std::vector<std::int64_t> places;
  for (std::size_t i = 0; i < mask.elements.size(); ++i) {
    demand_extents(std::isfinite(mask.elements[i].error));
    if (mask.elements[i].value != 0) places.push_back(static_cast<std::int64_t>(i));
  }
  return places;
}

std::vector<Tensor> masked(const NodeSpec& node, const std::vector<Tensor>& in) {
  const Tensor& x = in[0];
  const Tensor mask = as_bools(in[1]);
  std::int64_t inner = 1;
  for (int axis = mask.shape.rank(); axis < x.shape.rank(); ++axis) inner *= x.shape[axis];
  if (node.name == "masked") {
    const std::vector<std::int64_t> places = true_places(mask);
    Shape shape{static_cast<std::int64_t>(places.size())};
    for (int axis = mask.shape.rank(); axis < x.shape.rank(); ++axis) shape.push_back(x.shape[axis]);
    Tensor result{x.dtype, shape, {}};
    for (std::int64_t place : places) {
      for (std::int64_t i = 0; i < inner; ++i) result.elements.push_back(x.elements[static_cast<std::size_t>(place * inner + i)]);
    }
    return {result};
  }
  if (node.name == "add_rows_back") true_places(mask);
  Tensor y = node.name == "add_rows_back" ? x : in[2];
  Tensor result = x;
  if (node.name != "add_rows_back" && y.shape.rank() == 0) y.elements.resize(1);
  const Tensor sums = node.name == "set_masked" ? Tensor{} : apply_row(*find_elementwise("add"), {x, y});
  for (std::size_t i = 0; i < x.elements.size(); ++i) {
    const Element& chosen = mask.elements[i / static_cast<std::size_t>(inner)];
    if (!std::isfinite(chosen.error)) result.elements[i] = {0, kNobodyKnows};
    else if (chosen.value != 0) result.elements[i] = node.name == "set_masked" ? y.elements[y.shape.rank() == 0 ? 0 : i % static_cast<std::size_t>(inner)] : sums.elements[i];
  }
  return {result};
}

std::vector<Tensor> indexing_reference(const NodeSpec& node, const std::vector<Tensor>& in, const std::vector<DType>&) {
  const Tensor& x = in[0];
  if (node.name.ends_with("nonzero")) {
    std::int64_t count = 0;
    Tensor result{int64, {}, {}};
    for (std::int64_t place : true_places(as_bools(x))) {
      result.elements.push_back({static_cast<Wide>(node.name == "nonzero" ? place % x.shape[-1] : place), 0});
      ++count;
    }
    result.shape = {count};
    return {result};
  }
  if (node.name == "one_hot") {
    Shape shape = x.shape;
    shape.push_back(node.pattern[1]);
    Tensor result{int32, shape, {}};
    for (const Element& element : cast_tensor(x, int64).elements) {
      for (int k = 0; k < node.pattern[1]; ++k) result.elements.push_back(std::isfinite(element.error) ? Element{element.value == k ? 1.0L : 0.0L, 0} : element);
    }
    return {result};
  }
  if (node.name.ends_with("picked")) return {picked(node.name, x, cast_tensor(in[1], int64), cast_tensor(in[2], int64))};
  if (node.name == "along_put") return {put_along(node, x, cast_tensor(in[1], int64), in[2])};
  if (node.name == "put") return {put_reference(x, cast_tensor(in[1], int64), in[2])};
  if (is_computed(node.name)) {
    const Tensor rows = taken(node, x, cast_tensor(in[1], int64));
    if (node.name == "take_doubled") return {apply_row("add", {rows, rows})};
    demand_extents(rows.shape[-1] > 0);
    return {apply_row("sub", {rows, reduce_tensor("max", rows, {rows.shape.rank() - 1}, true, rows.dtype)})};
  }
  if (node.name.starts_with("take") || node.name.starts_with("along")) return {taken(node, x, cast_tensor(in[1], int64))};
  return masked(node, in);
}

}  // namespace

const OpFamily indexing_family{"indexing", draw_indexing, indexing_types, indexing_node<Variable>, indexing_node<Array>, indexing_reference};

}  // namespace damo::testing
