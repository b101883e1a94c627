// Order, in random graphs. A printed program carries this file with it.
#pragma once
#include "family_parts.hpp"

namespace damo::testing {

/// numbers: axis, then whether from the greatest on (topk: whether the greatest), or from behind equals; how many.
template <class T>
std::vector<T> sorting_node(const std::string& how, const std::vector<T>& in, const std::vector<int>& numbers) {
  const int axis = numbers[0];
  const bool greatest = numbers[1] != 0;
  if (how == "sort") return {sort(in[0], axis, greatest)};
  if (how == "argsort") return {argsort(in[0], axis, greatest)};
  if (how == "searchsorted") return {searchsorted(sort(in[0]), in[1], greatest)};
  const auto best = topk(in[0], numbers[2], axis, greatest);
  return {best.values, best.positions};
}

}  // namespace damo::testing
