#include "shapes_ops.hpp"

#include <algorithm>

#include "op_family.hpp"

namespace damo::testing {
namespace {

bool takes_two(const std::string& name) { return name == "concatenate" || name == "stack" || name == "set_slice" || name == "add_slice" || name == "split" || name == "reshape"; }
bool is_triangle(const std::string& name) { return name == "tril" || name == "triu"; }

std::optional<NodeSpec> draw_shape(Draw& draw) {
  static const char* kNames[] = {"slice", "slice", "flip", "concatenate", "stack", "flatten", "ravel", "repeat", "tile", "pad", "tril", "triu", "diagonal",
                                 "set_slice", "add_slice", "shifted", "squeeze", "split", "transpose", "broadcast_to", "reshape", "specify_shape", "observed"};
  const std::string name = kNames[draw.pick(std::size(kNames))];
  const std::optional<int> x = draw.find([&](const ValueType& type) {
    const std::size_t rank = type.dims.size();
    if (name == "diagonal") return rank >= 2 && type.dims[rank - 1] == type.dims[rank - 2];
    if (name == "add_slice") return rank >= 1 && type.dtype != bool_;
    if (name == "stack" || name == "split" || name == "broadcast_to") return rank >= 1 && rank < 6;
    if (name == "specify_shape") return std::find(type.dims.begin(), type.dims.end(), kHiddenOne) != type.dims.end();
    return is_triangle(name) ? rank >= 2 : rank >= 1;
  });
  if (!x) return {};
  const auto bound = [&] { return draw.pick(3) == 0 ? 9 : draw.number(-4, 5); };
  NodeSpec node{.kind = NodeSpec::Kind::kFamily, .family = "shapes", .name = name, .operands = {*x},
                .pattern = {draw.number(0, draw.rank(*x) - 1), bound(), bound(), draw.pick(3) == 0 ? -draw.number(1, 2) : draw.number(1, 3), draw.number(2, 4), draw.number(0, 3)}};
  if (takes_two(name)) node.operands.push_back(draw.twin(*x));
  if (name == "split") node.outputs = 2;
  if (name == "specify_shape") {
    for (int symbol : draw.type(*x).dims) node.pattern.push_back(symbol == kHiddenOne);
  }
  const std::int64_t extent = draw.extent(draw.type(*x).dims[static_cast<std::size_t>(node.pattern[0])]);
  draw.bounds = {name == "flatten" || name == "ravel" ? draw.size(*x) : name == "stack" || name == "split" ? 2 : name == "broadcast_to" || name == "reshape" ? 3 : name == "pad" ? extent + 5 : name == "concatenate" ? 3 * extent : name == "slice" ? extent : 4 * extent};
  if (name == "reshape") draw.bounds.push_back(draw.size(*x));
  draw.result_size = draw.size(*x) * (name == "split" || name == "broadcast_to" || name == "reshape" || name == "repeat" || name == "tile" || name == "concatenate" || name == "stack" ? 4 : 1) + (name == "pad" ? 5 * draw.size(*x) : 0);
  return node;
}

std::vector<ValueType> shape_types(const NodeSpec& node, const std::vector<ValueType>& in, const NewSymbols& symbols) {
  ValueType result = in.at(0);
  Dims& dims = result.dims;
  const auto axis = static_cast<std::size_t>(node.pattern.at(0));
  demand(axis < dims.size());
  if (in.size() > 1) demand(in[1].dtype == in[0].dtype && in[1].dims == in[0].dims);
  if (node.name == "slice") dims[axis] = symbols.sized();
  else if (node.name == "concatenate" || node.name == "repeat" || node.name == "tile" || node.name == "pad") dims[axis] = symbols.fresh();
  else if (node.name == "stack") dims.insert(dims.begin() + node.pattern[0], symbols.fresh());
  else if (node.name == "flatten") dims.resize(axis), dims.push_back(symbols.fresh());
  else if (node.name == "ravel") dims = {symbols.fresh()};
  else if (node.name == "diagonal") demand(dims.size() >= 2 && dims.back() == dims[dims.size() - 2]), dims.pop_back();
  else if (is_triangle(node.name)) demand(dims.size() >= 2);
  else if (node.name == "transpose") std::reverse(dims.begin(), dims.end());
  else if (node.name == "broadcast_to") dims.insert(dims.begin(), symbols.fresh());
  else if (node.name == "reshape") dims = {symbols.fresh(), symbols.fresh(1)};
  if (node.name == "reshape") {
    for (int symbol : in[0].dims) demand(symbol < kSizedSymbols || symbol >= kFreshSymbols);  // of which there may be none
  }
  if (node.name == "specify_shape") {
    demand(node.pattern.size() == dims.size() + 6);
    for (std::size_t i = 0; i < dims.size(); ++i) {
      demand(node.pattern[i + 6] == 0 || dims[i] == kHiddenOne || dims[i] == kOne);
      if (node.pattern[i + 6] != 0) dims[i] = kOne;
    }
  }
  if (node.name == "split") {
    Dims one = dims;
    one.insert(one.begin() + node.pattern[0], kOne), dims.insert(dims.begin() + node.pattern[0], symbols.fresh());
    demand(dims.size() < 7);
    return {{result.dtype, one}, result};
  }
  demand(node.name != "add_slice" || in[0].dtype != bool_);
  demand(dims.size() < 7);
  return {result};
}

/// Python's: places of an axis that a slice names.
std::vector<std::int64_t> slice_places(std::int64_t extent, int start, int stop, int step) {
  const auto clamped = [&](int number, std::int64_t none) {
    if (number == 9) return none;
    const std::int64_t at = number < 0 ? number + extent : number;
    return step > 0 ? std::clamp<std::int64_t>(at, 0, extent) : std::clamp<std::int64_t>(at, -1, extent - 1);
  };
  std::vector<std::int64_t> places;
  const std::int64_t first = clamped(start, step > 0 ? 0 : extent - 1), end = clamped(stop, step > 0 ? extent : -1);
  for (std::int64_t at = first; step > 0 ? at < end : at > end; at += step) places.push_back(at);
  return places;
}

/// x with what `other` has at its places of the axis.
Tensor replaced(const Tensor& x, const Tensor& other, int axis, const std::vector<std::int64_t>& places) {
  Tensor result = x;
  const std::int64_t inner = inner_size(x.shape, axis);
  std::vector<bool> is_replaced(static_cast<std::size_t>(x.shape[axis]), false);
  for (const std::int64_t place : places) is_replaced[static_cast<std::size_t>(place)] = true;
  for (std::size_t i = 0; i < x.elements.size(); ++i) {
    const std::int64_t at = static_cast<std::int64_t>(i) / inner % x.shape[axis];
    if (is_replaced[static_cast<std::size_t>(at)]) result.elements[i] = other.elements[i];
  }
  return result;
}

std::vector<Tensor> shape_reference(const NodeSpec& node, const std::vector<Tensor>& in, const std::vector<DType>&) {
  const Tensor& x = in[0];
  const std::vector<int>& n = node.pattern;
  const int axis = n[0];
  const auto along = static_cast<std::size_t>(axis);
  const std::int64_t extent = x.shape[axis];
  Shape shape = x.shape;
  if (node.name == "slice") {
    const std::vector<std::int64_t> places = slice_places(extent, n[1], n[2], n[3]);
    shape[axis] = static_cast<std::int64_t>(places.size());
    return {gathered(x, shape, [&](Coordinates at) { return at[along] = places[static_cast<std::size_t>(at[along])], at; })};
  }
  if (node.name == "set_slice") return {replaced(x, in[1], axis, slice_places(extent, n[1], n[2], n[3]))};
  if (node.name == "add_slice") return {replaced(x, apply_row(*find_elementwise("add"), {x, in[1]}), axis, slice_places(extent, n[1], n[2], n[3]))};
  if (node.name == "shifted") {
    const Tensor next = gathered(x, shape, [&](Coordinates at) { return at[along] = std::min(at[along] + 1, extent - 1), at; });
    return {replaced(x, next, axis, slice_places(extent, 9, -1, 1))};
  }
  if (node.name == "flip") return {gathered(x, shape, [&](Coordinates at) { return at[along] = extent - 1 - at[along], at; })};
  if (node.name == "concatenate" || node.name == "stack") {
    const bool stacks = node.name == "stack";
    if (stacks) {
      shape = {};
      for (int i = 0; i < x.shape.rank(); ++i) {
        if (i == axis) shape.push_back(2);
        shape.push_back(x.shape[i]);
      }
    } else {
      shape[axis] = 3 * extent;
    }
    const std::int64_t inner = inner_size(x.shape, axis) * (stacks ? extent : 1), part = stacks ? 1 : std::max<std::int64_t>(extent, 1);
    Tensor result{x.dtype, shape, {}};
    for (std::int64_t i = 0, size = shape.size(); i < size; ++i) {
      const std::int64_t place = i / inner % shape[axis], outer = i / inner / shape[axis];
      const Tensor& from = place / part == 1 ? in[1] : x;
      result.elements.push_back(from.elements[static_cast<std::size_t>((outer * part + place % part) * inner + i % inner)]);
    }
    return {result};
  }
  if (node.name == "ravel") return {{x.dtype, {x.shape.size()}, x.elements}};
  if (node.name == "flatten") {
    Shape flat;
    for (int i = 0; i < axis; ++i) flat.push_back(shape[i]);
    flat.push_back(extent * inner_size(shape, axis));
    return {{x.dtype, flat, x.elements}};
  }
  if (node.name == "squeeze" || node.name == "specify_shape" || node.name == "observed") return {x};
  if (node.name == "transpose") {
    std::vector<int> pattern(static_cast<std::size_t>(shape.rank()));
    for (std::size_t i = 0; i < pattern.size(); ++i) pattern[i] = shape.rank() - 1 - static_cast<int>(i);
    return {shuffled(x, pattern)};
  }
  if (node.name == "broadcast_to" || node.name == "reshape") {
    const bool stretches = node.name == "broadcast_to";
    Tensor result{x.dtype, stretches ? Shape{3} : Shape{3, x.shape.size()}, {}};
    demand_extents(stretches || x.shape.size() > 0);
    for (int i = 0; stretches && i < shape.rank(); ++i) result.shape.push_back(shape[i]);
    for (const Tensor* part : {&x, &x, stretches ? &x : &in[1]}) result.elements.insert(result.elements.end(), part->elements.begin(), part->elements.end());
    return {result};
  }
  if (node.name == "split") {
    const auto of = [&](const std::vector<const Tensor*>& parts) {
      Tensor result{x.dtype, {}, {}};
      for (int i = 0; i <= shape.rank(); ++i) result.shape.push_back(i == axis ? static_cast<std::int64_t>(parts.size()) : shape[i > axis ? i - 1 : i]);
      const std::int64_t inner = inner_size(x.shape, axis) * extent;
      for (std::int64_t i = 0, size = inner == 0 ? 0 : x.shape.size() / inner; i < size; ++i) {
        for (const Tensor* part : parts) result.elements.insert(result.elements.end(), part->elements.begin() + i * inner, part->elements.begin() + (i + 1) * inner);
      }
      return result;
    };
    return {of({&x}), of({&in[1], &x})};
  }
  if (node.name == "repeat" || node.name == "tile") {
    shape[axis] = n[4] * extent;
    return {gathered(x, shape, [&](Coordinates at) { return at[along] = node.name == "tile" ? at[along] % extent : at[along] / n[4], at; })};
  }
  if (node.name == "diagonal") {
    Shape last;
    for (int i = 0; i < x.shape.rank() - 1; ++i) last.push_back(x.shape[i]);
    return {gathered(x, last, [&](Coordinates at) { return at.push_back(at.back()), at; })};
  }
  Tensor result{x.dtype, shape, {}};
  if (node.name == "pad") result.shape[axis] = extent + n[4] - 2 + n[5];
  for (std::int64_t i = 0, size = result.shape.size(), inner = inner_size(shape, axis); i < size; ++i) {
    if (node.name == "pad") {
      const std::int64_t outer = i / inner / result.shape[axis], place = i / inner % result.shape[axis] - (n[4] - 2);
      const bool inside = place >= 0 && place < extent;
      result.elements.push_back(inside ? x.elements[static_cast<std::size_t>((outer * extent + place) * inner + i % inner)] : Element{1, 0});
      continue;
    }
    const std::int64_t column = i % shape[-1], row = i / shape[-1] % shape[-2], diagonal = n[4] - 3;
    const bool stays = node.name == "tril" ? column - row <= diagonal : column - row >= diagonal;
    result.elements.push_back(stays ? x.elements[static_cast<std::size_t>(i)] : Element{0, 0});
  }
  return {result};
}

}  // namespace

const OpFamily shapes_family{"shapes", draw_shape, shape_types, shapes_node<Variable>, shapes_node<Array>, shape_reference};

}  // namespace damo::testing
