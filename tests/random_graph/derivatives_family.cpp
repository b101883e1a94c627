#include "derivatives_ops.hpp"

#include <algorithm>

#include "op_family.hpp"

namespace damo::testing {
namespace {

constexpr const char* kDerivatives[] = {"grad", "rop", "hessian_vector_product", "jacobian", "hessian", "consider_constant",
                                        "zero_grad", "disconnected_grad", "grad_clip", "with_gradient", "recompute", "substitute"};

std::optional<NodeSpec> draw_derivative(Draw& draw) {
  const std::optional<int> x = draw.find([](const ValueType& type) { return type.dtype == float32 || type.dtype == float64; });
  if (!x) return {};
  NodeSpec node{.kind = NodeSpec::Kind::kFamily, .family = "derivatives", .name = kDerivatives[draw.pick(std::size(kDerivatives))], .operands = {*x, draw.twin(*x)}, .pattern = {0}};
  if (node.name == "rop") node.outputs = 2;
  draw.bounds = {2, 2};
  draw.result_size = 2 * draw.size(*x);
  return node;
}

std::vector<ValueType> derivative_types(const NodeSpec& node, const std::vector<ValueType>& in, const NewSymbols& symbols) {
  ValueType x = in.at(0);
  demand((x.dtype == float32 || x.dtype == float64) && in.at(1).dtype == x.dtype && in[1].dims == x.dims && node.outputs == (node.name == "rop" ? 2 : 1));
  if (node.name == "hessian") return {{x.dtype, {symbols.fresh(), symbols.fresh(1)}}};
  if (node.name == "jacobian") demand(x.dims.size() < 6), x.dims.insert(x.dims.begin(), symbols.fresh());
  return std::vector<ValueType>(static_cast<std::size_t>(node.outputs), x);
}

Tensor times(const Tensor& x, const Tensor& y) { return apply_row("mul", {x, y}); }
Tensor times(const Tensor& x, double factor) { return times(x, number_like(x, factor)); }
Tensor plus(const Tensor& x, const Tensor& y) { return apply_row("add", {x, y}); }

/// By x, of what the op of that name differentiates, written down by hand.
std::vector<Tensor> derivative_reference(const NodeSpec& node, const std::vector<Tensor>& in, const std::vector<DType>&) {
  const Tensor x = tamed_tensor(in[0]), w = tamed_tensor(in[1]);
  const std::string& name = node.name;
  if (name == "grad") return {times(times(x, w), 2)};                                                                    // x^2 w
  if (name == "rop") return {plus(times(times(times(x, w), 2), w), times(times(x, x), x)), apply_row("sub", {w, x})};    // x^2 w and x - w, along (w, x)
  if (name == "consider_constant") return {times(x, x)};
  if (name == "zero_grad") return {plus(times(x, 0), number_like(x, 1))};
  if (name == "disconnected_grad") return {times(x, w)};
  if (name == "grad_clip") return {apply_row("clip", {w, number_like(x, -1), number_like(x, 1)})};
  if (name == "with_gradient") return {plus(x, times(x, w))};                                                           // the gradient times x, and the value
  if (name == "substitute") return {apply_row("sub", {times(w, w), w})};                                                 // x^2 - w
  if (name == "recompute") {                                                                                              // x tanh(x)
    const Tensor t = apply_row("tanh", {x});
    return {plus(t, times(x, apply_row("sub", {number_like(x, 1), times(t, t)})))};
  }
  const auto sum = [](const Tensor& of) { return reduce_tensor("sum", of, all_axes(of), false, of.dtype); };
  if (name == "hessian_vector_product") return {plus(times(times(x, w), 6), times(sum(w), 2))};                          // x^3 summed up, and the square of the sum
  Tensor first = sum(x), second = sum(times(x, x));
  if (name == "hessian") {  // a^2 b by a and b
    const Tensor mixed = times(first, 2);
    return {{x.dtype, {2, 2}, {times(second, 2).elements[0], mixed.elements[0], mixed.elements[0], Element{0, 0}}}};
  }
  Tensor result{x.dtype, {2}, std::vector<Element>(x.elements.size(), Element{1, 0})};  // "jacobian" of the sum and of the sum of squares
  for (std::int64_t extent : x.shape) result.shape.push_back(extent);
  for (const Element& element : times(x, 2).elements) result.elements.push_back(element);
  return {result};
}

}  // namespace

const OpFamily derivatives_family{"derivatives", draw_derivative, derivative_types, derivatives_node<Variable>, derivatives_node<Array>, derivative_reference};

}  // namespace damo::testing
