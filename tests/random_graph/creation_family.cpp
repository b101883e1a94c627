#include "creation_ops.hpp"

#include <algorithm>
#include <cmath>

#include "op_family.hpp"

namespace damo::testing {
namespace {

constexpr const char* kCreations[] = {"choose", "choose", "choose", "meshgrid", "meshgrid", "full_like", "zeros_like", "ones_like", "eye_like", "diag", "shape_of", "size_of", "index_along", "index_along",
                                      "arange", "linspace", "eye", "tri", "zeros", "ones", "full"};

bool is_like(const std::string& name) { return name.ends_with("_like"); }

std::optional<NodeSpec> draw_creation(Draw& draw) {
  const std::string name = kCreations[draw.pick(std::size(kCreations))];
  const std::optional<int> x = draw.find([&](const ValueType& type) {
    return name == "meshgrid" || name == "diag" ? type.dims.size() == 1 : name == "eye_like" ? type.dims.size() == 2 : name != "shape_of" || !type.dims.empty();
  });
  if (!x) return {};
  NodeSpec node{.kind = NodeSpec::Kind::kFamily, .family = "creation", .name = name, .operands = {*x},
                .pattern = {draw.number(-2, 2), draw.number(1, 5), draw.pick(2) == 0 ? draw.number(1, 3) : -draw.number(1, 3), draw.number(0, 1)}};
  draw.bounds = {name == "shape_of" ? draw.rank(*x) : 5, 6};
  if (name == "diag") draw.bounds = {draw.size(*x) + 2}, draw.result_size = draw.bounds[0] * draw.bounds[0];
  if (name == "meshgrid") {
    node.operands.push_back(*draw.find([](const ValueType& type) { return type.dims.size() == 1; }));
    draw.result_size = 2 * draw.size(*x) * draw.size(node.operands[1]);
    node.outputs = 2;
  }
  if (name == "index_along") node.outputs = 3, node.pattern[1] = draw.number(0, 15);
  if (name == "choose") {
    Dims dims;
    std::vector<Dims> all{draw.type(*x).dims};
    const auto fits = [&](const ValueType& type) {
      all.push_back(type.dims);
      const bool goes = broadcast(all, dims);
      all.pop_back();
      return goes;
    };
    for (int i = 0; i < 3; ++i) node.operands.push_back(*draw.find(fits)), all.push_back(draw.type(node.operands.back()).dims);
    broadcast(all, dims);
    draw.result_size = draw.size(dims);
  }
  return node;
}

std::vector<ValueType> creation_types(const NodeSpec& node, const std::vector<ValueType>& in, const NewSymbols& symbols) {
  const ValueType& x = in.at(0);
  const bool other = node.pattern.at(3) != 0;
  if (node.name == "choose") {
    ValueType result{result_type(std::vector<Promotable>{{in.at(1).dtype}, {in.at(2).dtype}, {in.at(3).dtype}}), {}};
    demand(broadcast({x.dims, in[1].dims, in[2].dims, in[3].dims}, result.dims));
    return {result};
  }
  if (node.name == "meshgrid") {
    demand(x.dims.size() == 1 && in.at(1).dims.size() == 1);
    const Dims dims = other ? Dims{x.dims[0], in[1].dims[0]} : Dims{in[1].dims[0], x.dims[0]};
    return {{x.dtype, dims}, {in[1].dtype, dims}};
  }
  if (is_like(node.name)) {
    demand(node.name != "eye_like" || x.dims.size() == 2);
    return {{other ? int32 : x.dtype, x.dims}};
  }
  if (node.name == "size_of") return {{int64, {}}};
  if (node.name == "index_along") {
    demand(node.outputs == 3);
    ValueType along{int64, x.dims}, others{int64, x.dims};
    for (std::size_t axis = 0; axis < x.dims.size(); ++axis) (node.pattern[1] >> axis & 1 ? along : others).dims[axis] = kOne;
    return {{int64, x.dims}, along, others};
  }
  if (node.name == "shape_of") {
    demand(!x.dims.empty());
    return {{int64, {symbols.fresh()}}};
  }
  if (node.name == "diag") {
    demand(x.dims.size() == 1 && (x.dims[0] < kSizedSymbols || x.dims[0] >= kFreshSymbols));  // which may have no elements, and so the matrix
    return {{x.dtype, {symbols.fresh(), symbols.fresh()}}};
  }
  const DType dtype = other && node.name != "linspace" ? int32 : float32;
  if (node.name == "arange" || node.name == "linspace") return {{dtype, {symbols.fresh()}}};
  return {{dtype, {symbols.fresh(), symbols.fresh(1)}}};
}

/// Elements told by row and column.
Tensor matrix_of(DType dtype, std::int64_t rows, std::int64_t columns, const std::function<Wide(std::int64_t, std::int64_t)>& element) {
  Tensor result{dtype, {rows, columns}, {}};
  for (std::int64_t i = 0; i < rows * columns; ++i) result.elements.push_back({element(i / columns, i % columns), 0});
  return result;
}

/// The element at a place of the whole that an operand stretches over.
Element stretched_element(const Tensor& x, const Coordinates& at) {
  std::int64_t offset = 0;
  for (int axis = 0, rank = x.shape.rank(); axis < rank; ++axis) {
    offset = offset * x.shape[axis] + (x.shape[axis] == 1 ? 0 : at[at.size() - static_cast<std::size_t>(rank - axis)]);
  }
  return x.elements[static_cast<std::size_t>(offset)];
}

Tensor chosen_elements(const std::vector<Tensor>& in, DType dtype) {
  const Tensor which = cast_tensor(in[0], int64);
  std::vector<Tensor> choices;
  std::vector<Shape> shapes{which.shape};
  for (std::size_t i = 1; i < in.size(); ++i) choices.push_back(cast_tensor(in[i], dtype)), shapes.push_back(in[i].shape);
  Tensor result{dtype, broadcast_shapes(shapes), {}};
  Coordinates at(static_cast<std::size_t>(result.shape.rank()));
  for (std::int64_t i = 0, size = result.shape.size(); i < size; ++i) {
    std::int64_t rest = i;
    for (int axis = result.shape.rank() - 1; axis >= 0; --axis) at[static_cast<std::size_t>(axis)] = rest % result.shape[axis], rest /= result.shape[axis];
    const Element number = stretched_element(which, at);
    if (!std::isfinite(number.error)) result.elements.push_back(number);
    else result.elements.push_back(stretched_element(choices[static_cast<std::size_t>(((static_cast<std::int64_t>(number.value) % 6 + 6) % 6) % 3)], at));
  }
  return result;
}

/// Where each element lies among those of the axes that have a bit, and the sums of that along those axes, and of twice that along the others.
std::vector<Tensor> places_of(const Shape& shape, int bits) {
  Tensor places{int64, shape, {}}, along{int64, shape, {}}, others{int64, shape, {}};
  for (int axis = 0; axis < shape.rank(); ++axis) (bits >> axis & 1 ? along : others).shape[axis] = 1;
  along.elements.resize(static_cast<std::size_t>(along.shape.size()), {0, 0});
  others.elements.resize(static_cast<std::size_t>(others.shape.size()), {0, 0});
  for (std::int64_t i = 0; i < shape.size(); ++i) {
    std::int64_t rest = i, place = 0, unit = 1, of_along = 0, of_others = 0, along_unit = 1, others_unit = 1;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      const std::int64_t at = rest % shape[axis];
      rest /= shape[axis];
      if (bits >> axis & 1) place += at * unit, unit *= shape[axis], of_others += at * others_unit, others_unit *= shape[axis];
      else of_along += at * along_unit, along_unit *= shape[axis];
    }
    places.elements.push_back({static_cast<Wide>(place), 0});
    along.elements[static_cast<std::size_t>(of_along)].value += place;
    others.elements[static_cast<std::size_t>(of_others)].value += 2 * place;
  }
  return {places, along, others};
}

std::vector<Tensor> creation_reference(const NodeSpec& node, const std::vector<Tensor>& in, const std::vector<DType>& dtypes) {
  const Tensor& x = in[0];
  const std::string& name = node.name;
  const int start = node.pattern[0], count = node.pattern[1], step = node.pattern[2];
  if (name == "choose") return {chosen_elements(in, dtypes[0])};
  if (name == "meshgrid") {
    const bool by_rows = node.pattern[3] != 0;
    const Shape shape = by_rows ? Shape{x.shape[0], in[1].shape[0]} : Shape{in[1].shape[0], x.shape[0]};
    const auto along = [&](const Tensor& of, std::size_t axis) { return gathered(of, shape, [axis](const Coordinates& at) { return Coordinates{at[axis]}; }); };
    return {along(x, by_rows ? 0 : 1), along(in[1], by_rows ? 1 : 0)};
  }
  if (name == "eye_like") return {matrix_of(dtypes[0], x.shape[0], x.shape[1], [&](std::int64_t i, std::int64_t j) -> Wide { return j == i + start; })};
  if (is_like(name)) {
    const Tensor number = cast_tensor({int64, {}, {{name == "full_like" ? static_cast<Wide>(start) : name == "ones_like" ? 1.0L : 0.0L, 0}}}, dtypes[0]);
    return {{dtypes[0], x.shape, std::vector<Element>(x.elements.size(), number.elements[0])}};
  }
  if (name == "diag") {
    const std::int64_t extent = x.shape[0] + std::abs(start), down = std::max(-start, 0), right = std::max(start, 0);
    Tensor result = matrix_of(x.dtype, extent, extent, [](std::int64_t, std::int64_t) -> Wide { return 0; });
    for (std::int64_t i = 0; i < x.shape[0]; ++i) result.elements[static_cast<std::size_t>((i + down) * extent + i + right)] = x.elements[static_cast<std::size_t>(i)];
    return {result};
  }
  if (name == "index_along") return places_of(x.shape, count);
  if (name == "size_of") return {{int64, {}, {{static_cast<Wide>(x.shape.size()), 0}}}};
  Tensor result{dtypes[0], {}, {}};
  if (name == "shape_of") {
    result.shape = {x.shape.rank()};
    for (std::int64_t extent : x.shape) result.elements.push_back({static_cast<Wide>(extent), 0});
    return {result};
  }
  if (name == "arange" || name == "linspace") {
    const Wide stop = start + (count - 1) * step + (step > 0 ? 1 : -1), along = name == "arange" ? static_cast<Wide>(step) : count == 1 ? 0 : (stop - start) / (count - 1);
    result.shape = {count};
    for (int i = 0; i < count; ++i) result.elements.push_back({start + along * i, name == "arange" ? 0 : 0x1p-24L * 20});
    return {result};
  }
  const bool square = name == "eye" || name == "tri";
  return {matrix_of(dtypes[0], count, square ? count + 1 : 2, [&](std::int64_t i, std::int64_t j) -> Wide {
    return name == "eye" ? j == i + start : name == "tri" ? j <= i + start : name == "full" ? start : name == "ones" ? 1 : 0;
  })};
}

}  // namespace

const OpFamily creation_family{"creation", draw_creation, creation_types, creation_node<Variable>, creation_node<Array>, creation_reference};

}  // namespace damo::testing
