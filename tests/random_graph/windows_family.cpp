#include "windows_ops.hpp"

#include <algorithm>

#include "conv/window_reference.hpp"
#include "op_family.hpp"

namespace damo::testing {
namespace {

bool is_pooling(const std::string& name) { return name.ends_with("_pool"); }

std::optional<NodeSpec> draw_windows(Draw& draw) {
  static const char* kNames[] = {"conv", "conv", "conv", "conv_by_x", "conv_by_w", "conv_transpose", "max_pool", "avg_pool"};
  const std::string name = kNames[draw.pick(std::size(kNames))];
  const int spatial = draw.number(1, 3);
  const auto rank_fits = [&](const ValueType& type) { return static_cast<int>(type.dims.size()) >= spatial && static_cast<int>(type.dims.size()) <= spatial + 2 && is_floating(type.dtype); };
  const std::optional<int> x = draw.find(rank_fits);
  if (!x) return {};
  const int window = draw.number(1, 3);
  const bool pools = is_pooling(name);
  NodeSpec node{.kind = NodeSpec::Kind::kFamily, .family = "windows", .name = name, .operands = {*x},
                .pattern = {spatial, window, draw.number(1, 3), draw.number(0, pools ? window / 2 : 2), draw.number(1, 2), draw.number(0, 1), 0}};
  if (name == "conv_transpose") node.pattern[6] = draw.number(0, node.pattern[2] - 1);
  if (!pools) node.operands.push_back(draw.twin(*x));
  std::int64_t products = 8 * draw.size(*x) / (name == "conv_transpose" ? 1 : 4);
  for (int i = 0; i < spatial; ++i) products *= window;
  draw.result_size = products / 3;
  for (int i = 0; i < spatial + 1; ++i) {
    const auto axis = static_cast<std::size_t>(draw.rank(*x) - spatial - 1 + i);
    draw.bounds.push_back(i == 0 ? 4 : 3 * draw.extent(draw.type(*x).dims[axis]) + 6);
  }
  return node;
}

std::vector<ValueType> window_types(const NodeSpec& node, const std::vector<ValueType>& in, const NewSymbols& symbols) {
  const ValueType& x = in.at(0);
  const auto spatial = static_cast<std::size_t>(node.pattern.at(0)), rank = x.dims.size();
  demand(rank >= spatial && rank <= spatial + 2 && is_floating(x.dtype));
  if (!is_pooling(node.name)) demand(in.at(1).dtype == x.dtype && in[1].dims == x.dims);
  Dims dims(spatial + 2 - rank, kOne);
  dims.insert(dims.end(), x.dims.begin(), x.dims.end());
  if (node.name == "conv_by_x") {
    if (node.pattern[5]) dims[1] = symbols.fresh(7);
    return {{x.dtype, dims}};
  }
  if (!is_pooling(node.name)) dims[1] = symbols.fresh();
  if (node.name == "conv_by_w") dims[0] = symbols.fresh(6), dims[1] = x.dims.size() > spatial ? x.dims[x.dims.size() - spatial - 1] : kOne;
  for (std::size_t i = 0; i < spatial; ++i) dims[i + 2] = symbols.fresh(static_cast<int>(i) + 1);
  return {{x.dtype, dims}};
}

Tensor as_picture_tensor(const Tensor& x, int spatial) {
  Shape shape;
  for (int i = x.shape.rank(); i < spatial + 2; ++i) shape.push_back(1);
  for (std::int64_t extent : x.shape) shape.push_back(extent);
  return {x.dtype, shape, x.elements};
}

Tensor joined(const Tensor& a, const Tensor& b, int axis) {
  Shape shape = a.shape;
  shape[axis] += b.shape[axis];
  Tensor result{a.dtype, shape, {}};
  const std::int64_t inner_a = a.shape[axis] * inner_size(a.shape, axis), inner_b = b.shape[axis] * inner_size(b.shape, axis);
  for (std::int64_t i = 0; i < (inner_a == 0 ? 0 : a.shape.size() / inner_a); ++i) {
    result.elements.insert(result.elements.end(), a.elements.begin() + i * inner_a, a.elements.begin() + (i + 1) * inner_a);
    result.elements.insert(result.elements.end(), b.elements.begin() + i * inner_b, b.elements.begin() + (i + 1) * inner_b);
  }
  return result;
}

/// Of a convolution from x (n, channels, ...) and w (filters, channels of a group, ...).
WindowCase case_of(const NodeSpec& node, const Shape& x, const Shape& w, std::int64_t groups) {
  WindowCase c;
  c.n = x[0], c.channels = x[1], c.filters = w[0], c.groups = groups;
  for (int i = 0; i < node.pattern[0]; ++i) {
    const auto at = static_cast<std::size_t>(i);
    c.in[at] = x[i + 2], c.window[at] = w[i + 2], c.stride[at] = node.pattern[2], c.dilation[at] = is_pooling(node.name) ? 1 : node.pattern[4];
    c.before[at] = c.after[at] = node.pattern[3];
    demand_extents(c.in[at] > 0 && c.window[at] > 0 && c.in[at] + 2 * c.before[at] >= c.dilation[at] * (c.window[at] - 1) + 1);
  }
  return c;
}

Shape shape_of(std::int64_t n, std::int64_t channels, const Triple& extents, int spatial) {
  Shape shape{n, channels};
  for (int i = 0; i < spatial; ++i) shape.push_back(extents[static_cast<std::size_t>(i)]);
  return shape;
}

using WindowTerms = std::vector<std::vector<Element>>;
/// Sums of products, added up in float32 at least.
Tensor summed_up(WindowTerms terms, Shape shape, DType dtype) {
  const DType kept = is_half(dtype) ? float32 : dtype;
  Tensor result{kept, std::move(shape), {}};
  for (const std::vector<Element>& row : terms) result.elements.push_back(sum_of(row, kept, false));
  return cast_tensor(result, dtype);
}

Tensor pooled(const NodeSpec& node, const Tensor& x) {
  Shape w = x.shape;
  for (int i = 0; i < node.pattern[0]; ++i) w[i + 2] = node.pattern[1];
  const WindowCase c = case_of(node, x.shape, w, 1);
  const Shape shape = shape_of(c.n, c.channels, c.out(), node.pattern[0]);
  Tensor result{x.dtype, shape, std::vector<Element>(static_cast<std::size_t>(shape.size()))};
  const DType kept = is_half(x.dtype) ? float32 : x.dtype;
  std::int64_t all = 1;
  for (int i = 0; i < node.pattern[0]; ++i) all *= node.pattern[1];
  for_each_window(c, [&](std::size_t y, const std::vector<std::size_t>& places) {
    std::vector<Element> row;
    for (std::size_t place : places) row.push_back(x.elements[place]);
    demand_extents(!row.empty());
    if (node.name == "max_pool") {
      result.elements[y] = greatest_of(row);
      return;
    }
    Element mean = sum_of(row, kept, false);
    const auto count = static_cast<Wide>(node.pattern[5] ? all : static_cast<std::int64_t>(row.size()));
    mean.value /= count, mean.error = mean.error / count + std::abs(mean.value) * 0x1p-22L * (kept == float64 ? 0x1p-29L : 1.0L);
    result.elements[y] = cast_tensor({kept, {}, {mean}}, x.dtype).elements[0];
  });
  return result;
}

std::vector<Tensor> window_reference(const NodeSpec& node, const std::vector<Tensor>& in, const std::vector<DType>&) {
  const int spatial = node.pattern[0];
  Tensor x = as_picture_tensor(tamed_tensor(in[0]), spatial);
  demand_extents(x.shape.size() > 0);
  if (is_pooling(node.name)) return {pooled(node, x)};
  const Tensor v = as_picture_tensor(tamed_tensor(in[1]), spatial);
  Shape front = v.shape;
  front[0] = std::min<std::int64_t>(front[0], 2);
  for (int i = 0; i < spatial; ++i) front[i + 2] = std::min<std::int64_t>(front[i + 2], node.pattern[1]);
  Tensor w = gathered(v, front, [](const Coordinates& at) { return at; });
  const DType kept = is_half(x.dtype) ? float32 : x.dtype;
  if (node.name == "conv_transpose") {  // as a convolution of the result by the filters gives x
    Shape result{x.shape[0], w.shape[0]};
    for (int i = 0; i < spatial; ++i) result.push_back(node.pattern[2] * (x.shape[i + 2] - 1) - 2 * node.pattern[3] + node.pattern[4] * (w.shape[i + 2] - 1) + 1 + node.pattern[6]);
    for (std::int64_t extent : result) demand_extents(extent > 0);
    Shape filters = w.shape;
    filters[0] = w.shape[1], filters[1] = w.shape[0];
    const Tensor turned = gathered(w, filters, [](Coordinates at) { return std::swap(at[0], at[1]), at; });
    WindowCase c = case_of(node, result, filters, 1);
    const Triple reached = c.out();
    for (int i = 0; i < spatial; ++i) demand_extents(reached[static_cast<std::size_t>(i)] >= x.shape[i + 2]);
    for (int i = 0; i < spatial; ++i) demand_extents(reached[static_cast<std::size_t>(i)] == x.shape[i + 2]);
    WindowTerms terms(static_cast<std::size_t>(result.size()));
    for_each_product(c, [&](std::size_t to, std::size_t weight, std::size_t from) { terms[to].push_back(product_of(x.elements[from], turned.elements[weight], kept)); });
    return {summed_up(std::move(terms), result, x.dtype)};
  }
  if (node.pattern[5]) {
    x = joined(x, gathered(x, x.shape, [&](Coordinates at) { return at.back() = x.shape[-1] - 1 - at.back(), at; }), 1);
    w = joined(w, w, 0);
  }
  const WindowCase c = case_of(node, x.shape, w.shape, node.pattern[5] ? 2 : 1);
  const Shape shape = shape_of(c.n, c.filters, c.out(), spatial);
  WindowTerms terms(static_cast<std::size_t>(shape.size()));
  for_each_product(c, [&](std::size_t from, std::size_t weight, std::size_t to) { terms[to].push_back(product_of(x.elements[from], w.elements[weight], kept)); });
  const Tensor y = summed_up(std::move(terms), shape, x.dtype);
  if (node.name == "conv") return {y};
  const bool by_x = node.name == "conv_by_x";
  WindowTerms back(by_x ? x.elements.size() : w.elements.size());
  for_each_product(c, [&](std::size_t from, std::size_t weight, std::size_t to) {
    back[by_x ? from : weight].push_back(product_of(y.elements[to], (by_x ? w.elements[weight] : x.elements[from]), kept));
  });
  return {summed_up(std::move(back), by_x ? x.shape : w.shape, x.dtype)};
}

}  // namespace

const OpFamily windows_family{"windows", draw_windows, window_types, windows_node<Variable>, windows_node<Array>, window_reference};

}  // namespace damo::testing
