// Graphs made of graphs in random graphs: derivatives beyond the gradient check, what steers gradients, and other values put in. A printed program carries this file with it.
#pragma once
#include <type_traits>

#include "family_parts.hpp"

namespace damo::testing {

template <class T>
std::vector<T> derivatives_node(const std::string& how, const std::vector<T>& in, const std::vector<int>&) {
  if constexpr (std::is_same_v<T, Variable>) {
    const Variable x = tamed(in[0]), w = tamed(in[1]);
    const auto by_x = [&](const Variable& y) { return grad(sum(y), x); };
    if (how == "grad") return {by_x(x * x * w)};
    if (how == "rop") return rop(std::vector<Variable>{x * x * w, x - w}, std::vector<Variable>{x, w}, std::vector<Variable>{w, x});
    if (how == "hessian_vector_product") return {hessian_vector_product(sum(x * x * x) + sum(x) * sum(x), x, w)};
    if (how == "substitute") {  // w where x stood
      const std::vector<Variable> outputs = {x * x - w};
      const std::vector<Assignment> givens = {{x, w}};
      return substitute(outputs, givens);
    }
    const Variable sums = stack({sum(x), sum(x * x)}, 0);
    if (how == "jacobian") return {jacobian(sums, x)};
    if (how == "hessian") {
      const Variable first = subtensor(sums, {0}), second_sum = subtensor(sums, {1});
      return {hessian(first * first * second_sum, sums)};
    }
    if (how == "consider_constant") return {by_x(consider_constant(x * x) * x)};
    if (how == "zero_grad") return {by_x(zero_grad(x) * w + x)};
    if (how == "disconnected_grad") return {by_x(disconnected_grad(x * w) * x)};
    if (how == "grad_clip") return {by_x(grad_clip(x, -1, 1) * w)};
    if (how == "with_gradient") {
      return {by_x(with_gradient(x * w, {x}, [](auto inputs, auto outputs, auto g) { return Gradients(g[0] * inputs[0] + outputs[0]); }))};
    }
    return {by_x(recompute(tanh(x) * x, {x}))};  // "recompute"
  }
  return {};
}

}  // namespace damo::testing
