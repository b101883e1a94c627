// Filled tensors, ranges, extents as numbers, grids and choices, in random graphs. A printed program carries this file with it.
#pragma once
#include <type_traits>

#include "family_parts.hpp"

namespace damo::testing {

/// Of no operand, though Arrays are made where x lies. count: at least 1.
template <class T>
T created(const std::string& how, const T& x, int start, int count, int step, DType dtype) {
  const int stop = start + (count - 1) * step + (step > 0 ? 1 : -1);
  if constexpr (std::is_same_v<T, Variable>) {
    if (how == "arange" && count % 2 == 0) return arange(start, add(mul(size_of(x), 0), stop), step, dtype);  // known at the call alone
    if (how == "arange") return symbolic::arange(start, stop, step, dtype);
    if (how == "linspace") return symbolic::linspace(start, stop, count, dtype);
    if (how == "eye") return symbolic::eye(count, count + 1, start, dtype);
    if (how == "tri") return symbolic::tri(count, count + 1, start, dtype);
    if (how == "zeros") return symbolic::zeros({count, 2}, dtype);
    return how == "ones" ? symbolic::ones({count, 2}, dtype) : symbolic::full({count, 2}, start, dtype);
  } else {
    if (how == "arange") return arange(start, stop, step, dtype, x.device());
    if (how == "linspace") return linspace(start, stop, count, dtype, x.device());
    if (how == "eye") return eye(count, count + 1, start, dtype, x.device());
    if (how == "tri") return tri(count, count + 1, start, dtype, x.device());
    if (how == "zeros") return Array::zeros({count, 2}, dtype, x.device());
    return how == "ones" ? Array::ones({count, 2}, dtype, x.device()) : Array::full({count, 2}, start, dtype, x.device());
  }
}

inline std::vector<int> axes_of_bits(int rank, int bits) {
  std::vector<int> axes;
  for (int axis = 0; axis < rank; ++axis) {
    if (bits >> axis & 1) axes.push_back(axis);
  }
  return axes;
}

/// numbers: a start or a diagonal; a count, or a bit for each axis; a step, not 0; whether of another dtype than x's.
template <class T>
std::vector<T> creation_node(const std::string& how, const std::vector<T>& in, const std::vector<int>& numbers) {
  const T& x = in[0];
  const std::optional<DType> dtype = numbers[3] != 0 ? std::optional<DType>(int32) : std::nullopt;
  if (how == "choose") return {choose(sub(mod(converted(x, int64), 6), 3), {in[1], in[2], in[3]})};
  if (how == "meshgrid") return meshgrid({x, in[1]}, numbers[3] != 0 ? "ij" : "xy");
  if (how == "full_like") return {full_like(x, numbers[0], dtype)};
  if (how == "zeros_like") return {zeros_like(x, dtype)};
  if (how == "ones_like") return {ones_like(x, dtype)};
  if (how == "eye_like") return {eye_like(x, numbers[0], dtype)};
  if (how == "diag") return {diag(x, numbers[0])};
  if (how == "shape_of") return {shape_of(x)};
  if (how == "size_of") return {size_of(x)};
  if (how == "index_along") {
    const std::vector<int> axes = axes_of_bits(x.rank(), numbers[1]), others = axes_of_bits(x.rank(), ~numbers[1]);
    const T places = index_along(x, axes);
    return {places, sum(places, axes, keepdims), sum(places * 2, others, keepdims)};
  }
  return {created(how, x, numbers[0], numbers[1], numbers[2], numbers[3] != 0 && how != "linspace" ? int32 : float32)};
}

}  // namespace damo::testing
