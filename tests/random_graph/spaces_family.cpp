#include "spaces_ops.hpp"

#include "op_family.hpp"

namespace damo::testing {
namespace {

int results_of_space(const std::string& name) { return name == "greatest_beside_sums" ? 2 : 3; }

std::optional<NodeSpec> draw_space(Draw& draw) {
  const std::optional<int> x = draw.find([](const ValueType& type) { return type.dims.size() >= 2 && is_floating(type.dtype) && !is_float8(type.dtype); });
  if (!x) return {};
  const int all = (1 << draw.rank(*x)) - 1;
  NodeSpec node{.kind = NodeSpec::Kind::kFamily, .family = "spaces", .name = draw.pick(2) == 0 ? "greatest_beside_sums" : "centred_beside_sums", .operands = {*x, draw.twin(*x)}, .pattern = {draw.number(1, all), draw.number(1, all)}};
  if (draw.pick(2) == 0) node.pattern[0] = all & ~(all >> 1);  // the last axis: rows that lie beside each other
  node.outputs = results_of_space(node.name);
  draw.result_size = 3 * draw.size(*x);
  return node;
}

std::vector<ValueType> space_types(const NodeSpec& node, const std::vector<ValueType>& in, const NewSymbols&) {
  const ValueType& x = in.at(0);
  const int all = (1 << x.dims.size()) - 1;
  demand(x.dims.size() >= 2 && is_floating(x.dtype) && !is_float8(x.dtype) && in.at(1).dtype == x.dtype && in[1].dims == x.dims && node.outputs == results_of_space(node.name));
  for (int bits : {node.pattern.at(0), node.pattern.at(1)}) demand(bits > 0 && bits <= all);
  for (int symbol : x.dims) demand(symbol < kSizedSymbols || symbol >= kFreshSymbols);  // may have no greatest element
  const auto reduced = [&](int bits) {
    ValueType result = x;
    for (std::size_t axis = 0; axis < result.dims.size(); ++axis) {
      if (bits >> axis & 1) result.dims[axis] = kOne;
    }
    return result;
  };
  const ValueType sums = reduced(node.pattern[1]);
  return node.outputs == 2 ? std::vector<ValueType>{reduced(node.pattern[0]), sums} : std::vector<ValueType>{x, sums, sums};
}

std::vector<Tensor> space_reference(const NodeSpec& node, const std::vector<Tensor>& in, const std::vector<DType>&) {
  const Tensor x = tamed_tensor(in[0]), y = tamed_tensor(in[1]);
  const auto reduced = [&](const char* how, const Tensor& of, int bits) {
    std::vector<int> axes;
    for (int axis = 0; axis < of.shape.rank(); ++axis) {
      if (bits >> axis & 1) axes.push_back(axis);
    }
    if (std::string(how) != "sum") {
      for (int axis : axes) demand_extents(of.shape[axis] > 0);
    }
    return reduce_tensor(how, of, axes, true, of.dtype);
  };
  const int rows = node.pattern[0], across = node.pattern[1];
  if (node.outputs == 2) {
    const Tensor product = apply_row("mul", {x, y});
    return {reduced("max", product, rows), reduced("sum", product, across)};
  }
  const Tensor centred = apply_row("sub", {x, reduced("mean", x, rows)});
  return {centred, reduced("sum", apply_row("mul", {centred, y}), across), reduced("sum", y, across)};
}

}  // namespace

const OpFamily spaces_family{"spaces", draw_space, space_types, spaces_node<Variable>, spaces_node<Array>, space_reference};

}  // namespace damo::testing
