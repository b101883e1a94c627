// The reference of whole graphs: nodes that move elements, and the kernels of graph_ops.hpp.
#include <algorithm>
#include <cmath>
#include <functional>

#include "op_family.hpp"

namespace damo::testing {

Tensor gathered(const Tensor& x, const Shape& shape, const std::function<Coordinates(const Coordinates&)>& from) {
  Tensor result{x.dtype, shape, {}};
  Coordinates at(static_cast<std::size_t>(shape.rank()), 0);
  for (std::int64_t i = 0, size = shape.size(); i < size; ++i) {
    std::int64_t rest = i, offset = 0;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) at[static_cast<std::size_t>(axis)] = rest % shape[axis], rest /= shape[axis];
    const Coordinates there = from(at);
    for (int axis = 0; axis < x.shape.rank(); ++axis) offset = offset * x.shape[axis] + there[static_cast<std::size_t>(axis)];
    result.elements.push_back(x.elements[static_cast<std::size_t>(offset)]);
  }
  return result;
}

Tensor shuffled(const Tensor& x, const std::vector<int>& pattern) {
  Shape shape;
  for (int axis : pattern) shape.push_back(axis < 0 ? 1 : x.shape[axis]);
  return gathered(x, shape, [&](const Coordinates& at) {
    Coordinates there(static_cast<std::size_t>(x.shape.rank()), 0);
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      if (pattern[i] >= 0) there[static_cast<std::size_t>(pattern[i])] = at[i];
    }
    return there;
  });
}

Tensor dot_of(const Tensor& x, const Tensor& y, DType result) {
  const DType wide = is_half(result) ? float32 : result;
  const int summed = std::max(y.shape.rank() - 2, 0);
  std::vector<int> of_x, of_y, last = {x.shape.rank() + y.shape.rank() - 2};
  for (int axis = 0; axis < x.shape.rank() - 1; ++axis) of_x.push_back(axis);
  of_x.insert(of_x.end(), static_cast<std::size_t>(y.shape.rank() - 1), kNewAxis);
  of_x.push_back(x.shape.rank() - 1);
  for (int axis = 0; axis < y.shape.rank(); ++axis) {
    if (axis != summed) of_y.push_back(axis);
  }
  of_y.push_back(summed);
  const Tensor products = apply_row(*find_elementwise("mul"), {shuffled(cast_tensor(x, wide), of_x), shuffled(cast_tensor(y, wide), of_y)});
  const DType sums = is_floating(wide) ? wide : is_signed(wide) ? int64 : uint64;
  Tensor all = reduce_tensor("sum", products, last, false, sums);
  if (is_float8(x.dtype)) {  // a GPU keeps some 14 bits of each 32 products that it adds up
    const Tensor sizes = reduce_tensor("sum", apply_row(*find_elementwise("abs"), {products}), last, false, sums);
    for (std::size_t i = 0; i < all.elements.size(); ++i) all.elements[i].error += 0x1p-12L * (1 + static_cast<Wide>(x.shape[-1]) / 32) * std::fabs(sizes.elements[i].value);
  }
  return cast_tensor(all, result);
}

namespace {

Tensor backwards_of(const Tensor& x) {
  return gathered(x, x.shape, [&](Coordinates at) {
    at.back() = x.shape[-1] - 1 - at.back();
    return at;
  });
}

/// What parts_of of graph_ops.hpp gives.
Tensor parts_of_tensor(const NodeSpec& node, const Tensor& x) {
  const int axis = node.pattern[0];
  const auto along = static_cast<std::size_t>(axis);
  const std::int64_t extent = x.shape[axis];
  const Tensor value = cast_tensor({int64, {}, {{static_cast<Wide>(node.number), 0}}}, x.dtype);
  if (node.name == "set_number" || node.name == "add_number") {
    Tensor result = x;
    const Tensor other = node.name == "set_number" ? apply_row(*find_elementwise("second"), {x, value}) : apply_row(*find_elementwise("add"), {x, value});
    std::int64_t inner = 1;
    for (int i = axis + 1; i < x.shape.rank(); ++i) inner *= x.shape[i];
    for (std::size_t i = 0; i < result.elements.size(); ++i) {
      if (static_cast<std::int64_t>(i) / inner % extent % 2 == 1) result.elements[i] = other.elements[i];
    }
    return result;
  }
  return gathered(x, x.shape, [&](Coordinates at) {
    std::int64_t& place = at[along];
    if (node.name == "roll") place = ((place - static_cast<std::int64_t>(node.number)) % extent + extent) % extent;
    else if (node.name == "doubled") place = 2 * place % extent;
    else if (node.name == "set_flipped") place = extent - 1 - place;
    return at;
  });
}

Tensor head_of(const Tensor& x, const Tensor& n) {
  Shape shape = x.shape;
  shape[0] = std::clamp<std::int64_t>(static_cast<std::int64_t>(n.elements[0].value), 0, shape[0]);
  return gathered(x, shape, [](const Coordinates& at) { return at; });
}

/// a * x + b * y, as float32 or wrapped to int32.
Element mixed(DType dtype, Element x, Element y, Wide a, Wide b, Wide plus = 0) {
  if (!std::isfinite(x.error) || !std::isfinite(y.error)) return {0, std::numeric_limits<Wide>::infinity()};
  const Wide value = a * x.value + b * y.value + plus;
  if (dtype == int32) return {static_cast<Wide>(static_cast<std::int32_t>(static_cast<std::int64_t>(value))), 0};
  if (!std::isfinite(value)) return {value, 0};
  const Wide size = std::fabs(a * x.value) + std::fabs(b * y.value);
  const Element result{value, std::fabs(a) * x.error + std::fabs(b) * y.error + size * 0x1p-22L + 0x1p-148L};
  return size + result.error < 1e37L ? result : Element{0, std::numeric_limits<Wide>::infinity()};
}

std::vector<Tensor> raw_results(const NodeSpec& node, const std::vector<Tensor>& in) {
  const Tensor &x = in[0], &y = in.size() > 1 ? in[1] : in[0];
  std::vector<Tensor> results(static_cast<std::size_t>(node.output_count()), Tensor{x.dtype, x.shape, {}});
  const std::size_t size = x.elements.size();
  for (std::size_t i = 0; i < size; ++i) {
    const Element a = x.elements[i], b = y.elements[i];
    if (node.name == "raw_mix") results[0].elements.push_back(mixed(float32, a, b, 0.5L, -0.25L));
    if (node.name == "raw_strided") results[0].elements.push_back(mixed(int32, a, a, 1, 0, 7));
    if (node.name == "raw_into") results[0].elements.push_back(mixed(float32, a, b, 0.5L, 0.5L));
    if (node.name == "raw_mirror") results[0].elements.push_back(mixed(int32, a, y.elements[size - 1 - i], 1, -1));
    if (node.name != "raw_both") continue;
    results[0].elements.push_back(mixed(int32, a, b, 1, -1));
    results[1].elements.push_back(mixed(int32, a, b, 1, 2));
  }
  return results;
}

std::vector<Tensor> results_of(const NodeSpec& node, const std::vector<Tensor>& in, const std::vector<DType>& dtypes) {
  const DType result = dtypes[0];
  switch (node.kind) {
    case NodeSpec::Kind::kRow: return {apply_row(*find_elementwise(node.name), in)};
    case NodeSpec::Kind::kCast: return {cast_tensor(in[0], node.dtype)};
    case NodeSpec::Kind::kConstant: {
      const Scalar value = Scalar(node.number).cast(node.dtype);
      return {{node.dtype, {}, {{static_cast<Wide>(value.as_double()), 0}}}};
    }
    case NodeSpec::Kind::kDimshuffle: return {shuffled(in[0], node.pattern)};
    case NodeSpec::Kind::kBackwards:
    case NodeSpec::Kind::kBackwardsInto: return {backwards_of(in[0])};
    case NodeSpec::Kind::kHead: return {head_of(in[0], in[1])};
    case NodeSpec::Kind::kRaw: return raw_results(node, in);
    case NodeSpec::Kind::kParts: return {parts_of_tensor(node, in[0])};
    case NodeSpec::Kind::kDot: return {dot_of(in[0], in[1], result)};
    case NodeSpec::Kind::kScan: return {scan_tensor(node.name, in[0], node.pattern[0], node.number >= 2, static_cast<int>(node.number) % 2 != 0, result)};
    case NodeSpec::Kind::kReduce: return {reduce_tensor(node.name, in[0], node.pattern, node.number != 0, result)};
    case NodeSpec::Kind::kFamily: return op_family(node.family).reference(node, in, dtypes);
    default: return {in[0]};
  }
}

Tensor input_tensor(const GraphSpec& graph, int input, std::size_t call) {
  const InputSpec& spec = graph.inputs[static_cast<std::size_t>(input)];
  const std::vector<Scalar> buffer = buffer_values(graph, buffer_of(graph, input), call);
  const Placement place = placement_of(spec, graph.calls[call]);
  Tensor tensor{spec.dtype, place.shape, {}};
  for (std::int64_t i = 0, size = place.shape.size(); i < size; ++i) {
    std::int64_t rest = i, offset = place.offset;
    for (int axis = place.shape.rank() - 1; axis >= 0; --axis) offset += rest % place.shape[axis] * place.strides[axis], rest /= place.shape[axis];
    const Scalar& value = buffer[static_cast<std::size_t>(offset)];
    tensor.elements.push_back({is_floating(spec.dtype)  ? static_cast<Wide>(value.as_double())
                               : spec.dtype == uint64 ? static_cast<Wide>(static_cast<std::uint64_t>(value.as_int()))
                                                      : static_cast<Wide>(value.as_int()),
                               0});
  }
  return tensor;
}

}  // namespace

std::vector<Tensor> reference_of(const GraphSpec& graph, std::size_t call) {
  const std::vector<ValueType> types = graph.types();
  std::vector<Tensor> values;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) values.push_back(input_tensor(graph, static_cast<int>(i), call));
  for (const NodeSpec& node : graph.nodes) {
    std::vector<Tensor> in;
    for (int operand : node.operands) in.push_back(values[static_cast<std::size_t>(operand)]);
    std::vector<DType> dtypes;
    for (int i = 0; i < node.output_count(); ++i) dtypes.push_back(types[values.size() + static_cast<std::size_t>(i)].dtype);
    for (Tensor& result : results_of(node, in, dtypes)) values.push_back(std::move(result));
  }
  return values;
}

}  // namespace damo::testing
