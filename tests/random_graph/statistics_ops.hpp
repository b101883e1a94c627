// Order statistics, counts and what is different, in random graphs. A printed program carries this file with it.
#pragma once
#include <type_traits>

#include "family_parts.hpp"

namespace damo::testing {

/// Few different values, some of them NaN where x has any.
template <class T>
T coarse(const T& x) {
  return is_floating(x.dtype()) ? where(isnan(x), x, trunc(clip(x, -4.0, 4.0))) : x;
}

/// numbers: the axis, -1: of all elements; how many eighths the quantile is, or the least length, or the tolerance; whether the axis stays, or NaN is close to NaN.
template <class T>
std::vector<T> statistics_node(const std::string& how, const std::vector<T>& in, const std::vector<int>& numbers) {
  const T& x = in[0];
  const std::optional<int> axis = numbers[0] < 0 ? std::nullopt : std::optional<int>(numbers[0]);
  const bool keeps = numbers[2] != 0;
  if (how == "ptp") return {ptp(x, axis ? Axes(*axis) : Axes(), keeps)};
  if (how == "max_and_argmax") {
    const auto both = max_and_argmax(x, axis ? Axes(*axis) : Axes(), keeps);
    return {both.values, both.positions};
  }
  if (how == "median") return {median(x, axis, keeps)};
  if (how == "quantile") return {quantile(x, numbers[1] / 8.0, axis, keeps)};
  if (how == "isclose") return {isclose(x, in[1], 0.25, numbers[1] / 8.0, keeps)};
  if (how == "allclose") {
    if constexpr (std::is_same_v<T, Variable>) return {allclose(x, in[1], 0.5, numbers[1], keeps)};
    else return {Array::scalar(Scalar(allclose(x, in[1], 0.5, numbers[1], keeps)), x.device())};
  }
  if (how == "unique") {
    const auto all = unique(coarse(x));
    return {all.values, all.positions, all.inverse, all.counts};
  }
  const T labels = mod(converted(x, int64), 5);
  if (how == "bincount") return {bincount(labels, numbers[1])};
  if (how == "weighed") return {bincount(labels, in[1], numbers[1])};
  const auto both = confusion_matrix(labels, mod(converted(in[1], int64), 5));  // "confusion_matrix"
  return {both.matrix, both.labels};
}

}  // namespace damo::testing
