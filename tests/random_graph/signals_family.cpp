#include "signals_ops.hpp"

#include <algorithm>
#include <cmath>

#include "op_family.hpp"

namespace damo::testing {
namespace {

bool is_known_to_hold_some(int symbol) { return symbol < kSizedSymbols || symbol >= kFreshSymbols; }

std::optional<NodeSpec> draw_signal(Draw& draw) {
  static const char* kNames[] = {"convolve", "convolve", "convolve_whole", "bilinear_upsampling", "images2neibs", "separable_conv2d", "global_avg_pool"};
  const std::string name = kNames[draw.pick(std::size(kNames))];
  const std::optional<int> x = draw.find([&](const ValueType& type) {
    const std::size_t rank = type.dims.size();
    if (name == "convolve") return rank == 1;
    if (name == "convolve_whole") return rank == 1 && is_floating(type.dtype);
    return is_floating(type.dtype) && (name == "separable_conv2d" ? rank == 2 : rank >= 2 && rank <= 4);
  });
  if (!x) return {};
  const int rank = draw.rank(*x), ratio = draw.number(1, 3);
  NodeSpec node{.kind = NodeSpec::Kind::kFamily, .family = "signals", .name = name, .operands = {*x}, .pattern = {draw.number(0, 2), ratio, std::min(draw.number(rank - 2, rank), 3)}};
  node.pattern[2] = std::max(node.pattern[2], 1);
  draw.result_size = 4 * draw.size(*x);
  if (name.starts_with("convolve")) {
    node.operands.push_back(*draw.find([&](const ValueType& type) { return type.dims.size() == 1 && (name == "convolve" || is_floating(type.dtype)); }));
    draw.bounds = {draw.size(*x) + (name == "convolve" ? 3 : draw.size(node.operands[1]))};
    if (name == "convolve_whole") draw.result_size = draw.size(*x) * draw.size(node.operands[1]) / 4;
  } else if (name == "images2neibs") {
    draw.bounds = {draw.size(*x), 9};
    draw.result_size = 9 * draw.size(*x);
  } else if (name != "global_avg_pool") {
    const Dims& dims = draw.type(*x).dims;
    draw.bounds = {ratio * draw.extent(dims[static_cast<std::size_t>(rank) - 2]), ratio * draw.extent(dims.back()), 1};
    draw.result_size = ratio * ratio * draw.size(*x);
  }
  return node;
}

std::vector<ValueType> signal_types(const NodeSpec& node, const std::vector<ValueType>& in, const NewSymbols& symbols) {
  const ValueType& x = in.at(0);
  const std::size_t rank = x.dims.size();
  for (const ValueType& value : in) demand(std::all_of(value.dims.begin(), value.dims.end(), is_known_to_hold_some));
  if (node.name.starts_with("convolve")) {
    demand(rank == 1 && in.at(1).dims.size() == 1 && (node.name == "convolve" || (is_floating(x.dtype) && is_floating(in[1].dtype))));
    return {{promote(x.dtype, in[1].dtype), {symbols.fresh()}}};
  }
  demand(is_floating(x.dtype) && rank >= 2 && rank <= 4);
  if (node.name == "global_avg_pool") {
    const auto spatial = static_cast<std::size_t>(node.pattern.at(2));
    demand(spatial + 2 >= rank && spatial <= rank && spatial >= 1);
    Dims dims(spatial + 2 - rank, kOne);
    dims.insert(dims.end(), x.dims.begin(), x.dims.end() - static_cast<std::ptrdiff_t>(spatial));
    return {{x.dtype, dims}};
  }
  if (node.name == "images2neibs") return {{x.dtype, {symbols.fresh(), symbols.fresh(1)}}};
  Dims dims(4 - rank, kOne);
  dims.insert(dims.end(), x.dims.begin(), x.dims.end());
  if (node.name == "separable_conv2d") demand(rank == 2), dims[1] = symbols.fresh(2);
  if (node.name != "bilinear_upsampling" || node.pattern.at(1) != 1) dims[2] = symbols.fresh(), dims[3] = symbols.fresh(1);
  return {{x.dtype, dims}};
}

DType kept_in(DType dtype) { return is_half(dtype) ? float32 : dtype == bool_ ? int64 : dtype; }

Tensor convolved(const NodeSpec& node, const Tensor& x, const Tensor& w, DType dtype) {
  const auto m = static_cast<std::int64_t>(x.elements.size()), n = static_cast<std::int64_t>(w.elements.size());
  const bool whole = node.name == "convolve_whole" || node.pattern[0] == 0, same = node.pattern[0] == 1;
  demand_extents(m > 0 && n > 0 && (node.name == "convolve_whole" || m >= n));
  const DType kept = kept_in(dtype);
  const std::int64_t first = whole ? 0 : same ? (n - 1) / 2 : n - 1, count = whole ? m + n - 1 : same ? m : m - n + 1;
  Tensor result{kept, {count}, {}};
  for (std::int64_t i = first; i < first + count; ++i) {
    std::vector<Element> row;
    for (std::int64_t k = std::max<std::int64_t>(i - n + 1, 0); k <= std::min(i, m - 1); ++k) {
      row.push_back(product_of(x.elements[static_cast<std::size_t>(k)], w.elements[static_cast<std::size_t>(i - k)], kept));
    }
    result.elements.push_back(sum_of(row, kept, false));
  }
  return cast_tensor(result, dtype);
}

Tensor picture_of(const Tensor& x, int spatial) {
  Tensor result{x.dtype, Shape::filled(std::max(spatial + 2 - x.shape.rank(), 0), 1), x.elements};
  for (std::int64_t extent : x.shape) result.shape.push_back(extent);
  return result;
}

/// Along the last axis but `behind`: between the centres of elements linearly, beyond the outermost as those.
Tensor upsampled(const Tensor& x, int axis, int ratio) {
  Tensor result{x.dtype, x.shape, {}};
  result.shape[axis] *= ratio;
  const std::int64_t extent = x.shape[axis], inner = inner_size(x.shape, axis);
  const Wide unit = x.dtype == float16 ? 0x1p-11L : x.dtype == bfloat16 ? 0x1p-8L : x.dtype == float32 ? 0x1p-24L : 0x1p-53L;
  for (std::int64_t i = 0; i < result.shape.size(); ++i) {
    const std::int64_t outer = i / inner / result.shape[axis], place = i / inner % result.shape[axis];
    const Wide at = std::clamp<Wide>((static_cast<Wide>(place) + 0.5L) / ratio - 0.5L, 0, static_cast<Wide>(extent - 1));
    const auto below = static_cast<std::int64_t>(std::floor(at)), above = std::min(below + 1, extent - 1);
    const auto element = [&](std::int64_t k) { return x.elements[static_cast<std::size_t>((outer * extent + k) * inner + i % inner)]; };
    const Element low = element(below), high = element(above);
    const Wide part = at - static_cast<Wide>(below);
    const Wide error = std::max(low.error, high.error) + 5 * unit * (std::fabs(low.value) + std::fabs(high.value)) + (x.dtype == float16 ? 0x1p-23L : 1e-38L);
    result.elements.push_back({low.value * (1 - part) + high.value * part, error});
  }
  return result;
}

/// Two channels, x and x turned around, each with two windows, and what a corner makes of the four sums.
Tensor separable(const NodeSpec& node, const Tensor& x) {
  const std::int64_t height = x.shape[0], width = x.shape[1], down = std::min<std::int64_t>(node.pattern[1], height), right = std::min<std::int64_t>(node.pattern[1], width);
  const auto number = [&](double value) { return number_like(x, value); };
  const Tensor turned = gathered(x, x.shape, [&](const Coordinates& at) { return Coordinates{at[0], width - 1 - at[1]}; });
  const Tensor window = gathered(x, {down, right}, [](const Coordinates& at) { return at; }), corner{x.dtype, {}, {x.elements[0]}};
  const Tensor windows[] = {window, apply_row("mul", {window, number(2)}), apply_row("sub", {window, number(1)}), window};
  const Tensor factors[] = {corner, apply_row("add", {corner, number(1)}), apply_row("mul", {corner, number(0.5)}), corner};
  const DType kept = kept_in(x.dtype);
  Tensor result{kept, {1, 1, height - down + 1, width - right + 1}, {}};
  for (std::int64_t i = 0; i < result.shape.size(); ++i) {
    const std::int64_t row = i / result.shape[3], column = i % result.shape[3];
    std::vector<Element> sums;
    for (std::size_t k = 0; k < 4; ++k) {
      std::vector<Element> products;
      for (std::int64_t j = 0; j < down * right; ++j) {
        const auto place = static_cast<std::size_t>((row + j / right) * width + column + j % right);
        products.push_back(product_of((k < 2 ? x : turned).elements[place], windows[k].elements[static_cast<std::size_t>(j)], kept));
      }
      const Tensor sum = cast_tensor({kept, {}, {sum_of(products, kept, false)}}, x.dtype);
      sums.push_back(product_of(sum.elements[0], factors[k].elements[0], kept));
    }
    result.elements.push_back(sum_of(sums, kept, false));
  }
  return cast_tensor(result, x.dtype);
}

Tensor windows_of(const Tensor& x, std::int64_t extent, std::int64_t step) {
  const std::int64_t height = x.shape[2], width = x.shape[3];
  demand_extents(x.elements.size() > 0 && height >= extent && width >= extent);
  Tensor result{x.dtype, {0, extent * extent}, {}};
  for (std::int64_t plane = 0; plane < x.shape[0] * x.shape[1]; ++plane) {
    for (std::int64_t i = 0; i + extent <= height; i += step) {
      for (std::int64_t j = 0; j + extent <= width; j += step, ++result.shape[0]) {
        for (std::int64_t k = 0; k < extent * extent; ++k) result.elements.push_back(x.elements[static_cast<std::size_t>((plane * height + i + k / extent) * width + j + k % extent)]);
      }
    }
  }
  return result;
}

std::vector<Tensor> signal_reference(const NodeSpec& node, const std::vector<Tensor>& in, const std::vector<DType>& dtypes) {
  const auto finite = [](const Tensor& x) { return is_floating(x.dtype) ? tamed_tensor(x) : x; };
  const Tensor x = finite(in[0]);
  demand_extents(x.shape.size() > 0);
  if (node.name.starts_with("convolve")) {
    Tensor y = finite(in[1]);
    demand_extents(y.shape.size() > 0);
    if (node.name == "convolve") y = {y.dtype, {3}, {y.elements.front(), y.elements.back(), y.elements.front()}};
    return {convolved(node, cast_tensor(x, dtypes[0]), cast_tensor(y, dtypes[0]), dtypes[0])};
  }
  if (node.name == "separable_conv2d") return {separable(node, x)};
  if (node.name == "images2neibs") return {windows_of(picture_of(x, 2), node.pattern[1], node.pattern[0] + 1)};
  if (node.name == "bilinear_upsampling") {
    const Tensor picture = picture_of(x, 2);
    return {node.pattern[1] == 1 ? picture : upsampled(upsampled(picture, 2, node.pattern[1]), 3, node.pattern[1])};
  }
  const Tensor picture = picture_of(x, node.pattern[2]);  // "global_avg_pool"
  std::vector<int> axes;
  for (int axis = 2; axis < picture.shape.rank(); ++axis) axes.push_back(axis);
  return {reduce_tensor("mean", picture, axes, false, x.dtype)};
}

}  // namespace

const OpFamily signals_family{"signals", draw_signal, signal_types, signals_node<Variable>, signals_node<Array>, signal_reference};

}  // namespace damo::testing
