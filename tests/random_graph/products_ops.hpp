// Sums of products in random graphs. A printed program carries this file with it.
#pragma once
#include "family_parts.hpp"

namespace damo::testing {

/// numbers: how many axes tensordot sums over. x and y have the same axes, but for what the names of `how` say.
template <class T>
std::vector<T> products_node(const std::string& how, const std::vector<T>& in, const std::vector<int>& numbers) {
  const T &x = in[0], &y = in[1];
  if (how == "vdot") return {vdot(x, y)};
  if (how == "outer") return {outer(x, y)};
  if (how == "matmul") return {matmul(x, y)};
  if (how == "matmul_turned") return {matmul(x, swap_axes(y, -1, -2))};
  if (how == "matmul_broadcast") return {matmul(expand_dims(swap_axes(x, -1, -2), 0), y)};
  if (how == "tensordot") {
    std::vector<int> axes;
    for (int i = 0; i < numbers[0]; ++i) axes.push_back(x.rank() - 1 - i);
    return {tensordot(x, y, axes, axes)};
  }
  if (how.ends_with("3")) return {einsum(how.substr(0, how.size() - 1), in)};  // of a list
  return {einsum(how, {x, y})};
}

}  // namespace damo::testing
