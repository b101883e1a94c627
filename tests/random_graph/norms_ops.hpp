// Softmax, norms and their kin in random graphs. A printed program carries this file with it.
#pragma once
#include <limits>
#include <optional>
#include <type_traits>

#include "family_parts.hpp"

namespace damo::testing {

/// What sums and their kin are told of dtypes. 1: an accumulator that is wider, of integers a result that is narrower; 2 and 3: a result in float64, in float32.
struct ToldDTypes {
  std::optional<DType> dtype, acc_dtype;
  ToldDTypes(DType x, int number) {
    if (number == 1 && is_floating(x)) acc_dtype = float64;
    if (number == 1 && !is_floating(x)) dtype = int32;
    if (number > 1) dtype = number == 2 ? float64 : float32;
  }
};

/// numbers: axis; for norm_p how many half of p is, 0: infinity; which element scans go from and whether without its own; what is told of dtypes.
template <class T>
std::vector<T> norms_node(const std::string& how, const std::vector<T>& in, const std::vector<int>& numbers) {
  const T& x = in[0];
  const int axis = numbers[0];
  const ToldDTypes told(x.dtype(), numbers[3]);
  const ReduceOptions sums{.keepdims = true, .dtype = told.dtype, .acc_dtype = told.acc_dtype};
  const CumulativeOptions scans{.reverse = numbers[2] != 0, .exclusive = numbers[1] % 2 != 0, .dtype = told.dtype, .acc_dtype = told.acc_dtype};
  if (how == "sum_told") return {sum(x, axis, sums)};
  if (how == "prod_told") return {prod(x, axis, sums)};
  if (how == "mean_told") return {mean(x, axis, sums)};
  if (how == "cumsum_told") return {cumsum(x, axis, scans)};
  if (how == "cumprod_told") return {cumprod(x, axis, scans)};
  if (how == "var") return {var(x, axis, {.ddof = numbers[1] % 2, .keepdims = true, .dtype = told.dtype, .acc_dtype = told.acc_dtype})};
  if (how == "stddev") return {stddev(x, axis, {.dtype = told.dtype, .acc_dtype = told.acc_dtype})};
  if (how == "norm") return {norm(x, axis, {.keepdims = true, .dtype = told.dtype, .acc_dtype = told.acc_dtype})};
  if (how == "norm_p") {
    const double ord = numbers[1] == 0 ? std::numeric_limits<double>::infinity() : static_cast<double>(numbers[1]);
    return {norm(x, axis, {.ord = ord, .dtype = told.dtype, .acc_dtype = told.acc_dtype})};
  }
  if (how == "logcumsumexp") return {logcumsumexp(x, axis, {.reverse = numbers[2] != 0, .dtype = told.dtype, .acc_dtype = told.acc_dtype})};
  if (how == "logsumexp") return {logsumexp(x, axis, sums)};
  if (how == "sigmoid_cross_entropy") return {sigmoid_cross_entropy(x, in[1])};
  if constexpr (std::is_same_v<T, Variable>) {
    if (how == "softmax") return {softmax(x, axis)};
    if (how == "log_softmax") return {log_softmax(x, axis)};
    if (how == "global_norm") return {optim::global_norm({x, in[1]})};
    if (how == "clip_by_global_norm") return optim::clip_by_global_norm({x, in[1]}, 2);
    if (how == "cross_entropy") return {cross_entropy(x, argmax(in[1], axis), axis)};
    if (how == "layer_norm") {
      const Variable centred = x - mean(x, axis, true);
      return {centred / sqrt(mean(centred * centred, axis, true) + 0.5)};
    }
    if (how == "shares_of_halves") {  // rows of two halves, which then go different ways
      const T both = concatenate({x, in[1]}, axis), whole = sum(abs(both), axis, true) + 0.5;
      const std::int64_t half = x.dims()[axis];
      const std::vector<T> halves = half == kUnknown ? std::vector<T>{x / whole, in[1] / whole} : split(both / whole, {half, half}, axis);
      return {halves[0] * 0.75 - halves[1] * 0.5};
    }
    if (how == "log_sum_exp_by_hand") return {log(sum(exp(x), axis, true))};  // what rewrite rules make logsumexp
    if (how == "softmax_by_hand") return {log(exp(x) / sum(exp(x), axis, true))};
  }
  return {};
}

}  // namespace damo::testing
