// Softmax, norms and their kin in random graphs. A printed program carries this file with it.
#pragma once
#include <limits>
#include <type_traits>

#include "family_parts.hpp"

namespace damo::testing {

/// numbers: axis; for norm_p how many half of p is, 0: infinity; which element scans go from and whether without its own.
template <class T>
std::vector<T> norms_node(const std::string& how, const std::vector<T>& in, const std::vector<int>& numbers) {
  const T& x = in[0];
  const int axis = numbers[0];
  if (how == "var") return {var(x, axis, true, numbers[1] % 2)};
  if (how == "stddev") return {stddev(x, axis, false, 0)};
  if (how == "norm") return {norm(x, axis, true)};
  if (how == "norm_p") return {norm(x, axis, {.ord = numbers[1] == 0 ? std::numeric_limits<double>::infinity() : static_cast<double>(numbers[1])})};
  if (how == "logcumsumexp") return {logcumsumexp(x, axis, {.reverse = numbers[2] != 0})};
  if (how == "sigmoid_cross_entropy") return {sigmoid_cross_entropy(x, in[1])};
  if constexpr (std::is_same_v<T, Variable>) {
    if (how == "softmax") return {softmax(x, axis)};
    if (how == "log_softmax") return {log_softmax(x, axis)};
    if (how == "global_norm") return {optim::global_norm({x, in[1]})};
    if (how == "clip_by_global_norm") return optim::clip_by_global_norm({x, in[1]}, 2);
    if (how == "logsumexp") return {logsumexp(x, axis, true)};
    if (how == "cross_entropy") return {cross_entropy(x, argmax(in[1], axis), axis)};
    if (how == "layer_norm") {
      const Variable centred = x - mean(x, axis, true);
      return {centred / sqrt(mean(centred * centred, axis, true) + 0.5)};
    }
    if (how == "log_sum_exp_by_hand") return {log(sum(exp(x), axis, true))};  // what rewrite rules make logsumexp
    if (how == "softmax_by_hand") return {log(exp(x) / sum(exp(x), axis, true))};
  }
  return {};
}

}  // namespace damo::testing
