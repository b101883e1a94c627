#include "users_ops.hpp"

#include "op_family.hpp"

namespace damo::testing {
namespace {

bool has_axis(const std::string& name) { return name != "bend" && name != "numbered"; }

std::optional<NodeSpec> draw_user_op(Draw& draw) {
  static const char* kUsers[] = {"bend", "bend", "numbered", "mean_of_squares", "spread", "running", "variance", "running_mean"};
  const std::string name = kUsers[draw.pick(std::size(kUsers))];
  const std::optional<int> x = draw.find([&](const ValueType& type) { return (type.dtype == float32 || type.dtype == float64) && (!has_axis(name) || !type.dims.empty()); });
  if (!x) return {};
  NodeSpec node{.kind = NodeSpec::Kind::kFamily, .family = "users", .name = name, .operands = {*x}, .pattern = {draw.number(0, std::max(draw.rank(*x) - 1, 0)), draw.number(0, 1), draw.number(0, 1)}};
  if (name == "bend") node.operands.push_back(*draw.find([&](const ValueType& type) { return type.dtype == draw.type(*x).dtype; }));
  return node;
}

std::vector<ValueType> user_types(const NodeSpec& node, const std::vector<ValueType>& in, const NewSymbols&) {
  ValueType result = in.at(0);
  demand(result.dtype == float32 || result.dtype == float64);
  if (has_axis(node.name)) demand(node.pattern.at(0) < static_cast<int>(result.dims.size()));
  if (node.name == "bend") {
    demand(in.at(1).dtype == result.dtype);
    demand(broadcast({in[0].dims, in[1].dims}, result.dims));
  }
  if (node.name == "mean_of_squares" || node.name == "spread" || node.name == "variance") result.dims[static_cast<std::size_t>(node.pattern[0])] = kOne;
  return {result};
}

std::vector<Tensor> user_reference(const NodeSpec& node, const std::vector<Tensor>& in, const std::vector<DType>&) {
  const Tensor x = tamed_tensor(in[0]);
  const auto row = [](const char* name, const std::vector<Tensor>& operands) { return apply_row(*find_elementwise(name), operands); };
  const int axis = node.pattern[0];
  if (node.name == "bend") return {row("add", {row("mul", {row("abs", {x}), in[1]}), {x.dtype, {}, {{1, 0}}}})};
  if (node.name == "numbered") {
    Tensor numbers{x.dtype, x.shape, {}};
    for (std::size_t i = 0; i < x.elements.size(); ++i) numbers.elements.push_back({static_cast<Wide>(i % 5), 0});
    return {row("add", {x, numbers})};
  }
  const Tensor squares = row("mul", {x, x});
  if (node.name == "running_mean") {
    Tensor counts{x.dtype, x.shape, {}};
    for (std::size_t i = 0; i < x.elements.size(); ++i) counts.elements.push_back({1, 0});
    const Tensor all = scan_tensor("cumsum", counts, axis, node.pattern[1] != 0, node.pattern[2] != 0, x.dtype);
    return {row("true_div", {scan_tensor("cumsum", squares, axis, node.pattern[1] != 0, node.pattern[2] != 0, x.dtype), row("add", {all, {x.dtype, {}, {{1, 0}}}})})};
  }
  if (node.name == "running") return {scan_tensor("cumsum", squares, axis, node.pattern[1] != 0, node.pattern[2] != 0, x.dtype)};
  demand_extents(x.shape[axis] > 0);
  if (node.name == "variance") {
    const Tensor apart = row("sub", {x, reduce_tensor("mean", x, {axis}, true, x.dtype)});
    return {reduce_tensor("mean", row("mul", {apart, apart}), {axis}, true, x.dtype)};
  }
  if (node.name == "mean_of_squares") return {reduce_tensor("mean", squares, {axis}, true, x.dtype)};
  return {row("sub", {reduce_tensor("max", x, {axis}, true, x.dtype), reduce_tensor("min", x, {axis}, true, x.dtype)})};
}

}  // namespace

const OpFamily users_family{"users", draw_user_op, user_types, users_node<Variable>, users_node<Array>, user_reference};

}  // namespace damo::testing
