// Several results of one space in random graphs: what rows give beside what is joined across rows, over all of them or in batches. A printed program carries this file with it.
#pragma once
#include "family_parts.hpp"

namespace damo::testing {

/// The axes whose bits are set.
inline Axes axes_of(int bits) {
  std::vector<int> axes;
  for (int axis = 0; bits >> axis != 0; ++axis) {
    if (bits >> axis & 1) axes.push_back(axis);
  }
  return Axes(axes);
}

/// numbers: the axes of rows, and those that are joined across, as bits. All axes stay.
template <class T>
std::vector<T> spaces_node(const std::string& how, const std::vector<T>& in, const std::vector<int>& numbers) {
  const T x = tamed(in[0]), y = tamed(in[1]);
  const Axes rows = axes_of(numbers[0]), across = axes_of(numbers[1]);
  const T product = mul(x, y);
  if (how == "greatest_beside_sums") return {max(product, rows, true), sum(product, across, true)};
  const T centred = sub(x, mean(x, rows, true));  // "centred_beside_sums": as a norm and its weights' gradients
  return {centred, sum(mul(centred, y), across, true), sum(y, across, true)};
}

}  // namespace damo::testing
