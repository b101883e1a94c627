// Parts, and what is put together of them, in random graphs. A printed program carries this file with it.
#pragma once
#include <type_traits>

#include "family_parts.hpp"

namespace damo::testing {

/// numbers: axis; start, stop and step of a slice, 9: none; how many before and after, or times; by axis whether its extent is said to be 1.
template <class T>
std::vector<T> shapes_node(const std::string& how, const std::vector<T>& in, const std::vector<int>& numbers) {
  const T& x = in[0];
  const int axis = numbers[0];
  const auto bound = [](int number) { return number == 9 ? std::nullopt : std::optional<std::int64_t>(number); };
  std::vector<Index> part(static_cast<std::size_t>(axis) + 1);
  part.back() = Index(bound(numbers[1]), bound(numbers[2]), numbers[3]);
  if (how == "slice") return {subtensor(x, part)};
  if (how == "flip") return {flip(x, axis)};
  if (how == "concatenate") return {concatenate({x, in[1], x}, axis)};
  if (how == "stack") return {stack({x, in[1]}, axis)};
  if (how == "flatten") return {flatten(x, axis, -1)};
  if (how == "ravel") return {ravel(x)};
  if (how == "repeat") return {repeat(x, numbers[4], axis)};
  if (how == "tile") {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(x.rank() - axis), 1);
    counts.front() = numbers[4];
    return {tile(x, counts)};
  }
  if (how == "pad") {
    std::vector<PadWidth> widths(static_cast<std::size_t>(x.rank()));
    widths[static_cast<std::size_t>(axis)] = {numbers[4] - 2, numbers[5]};
    if constexpr (std::is_same_v<T, Variable>) return {pad(x, widths, constant(Scalar(1).cast(x.dtype())))};
    else return {pad(x, widths, Array::scalar(Scalar(1).cast(x.dtype()), x.device()))};
  }
  if (how == "tril") return {tril(x, numbers[4] - 3)};
  if (how == "triu") return {triu(x, numbers[4] - 3)};
  if (how == "diagonal") return {diagonal(x)};
  if (how == "squeeze") return {squeeze(expand_dims(x, axis), axis)};
  if (how == "split") return split(stack({x, in[1], x}, axis), {1, 2}, axis);
  if (how == "transpose") return {transpose(x)};
  if (how == "broadcast_to" || how == "reshape") {
    Shape shape{3, -1};
    if (how == "reshape") return {reshape(stack({x, x, in[1]}, 0), shape)};
    for (int i = 1; i < x.rank(); ++i) shape.push_back(-1);
    return {broadcast_to(expand_dims(x, 0), shape)};
  }
  if (how == "specify_shape") {  // where types tell nothing of an extent that is 1 in every call
    Shape shape = Shape::filled(x.rank(), damo::kUnknown);
    for (int i = 0; i < x.rank(); ++i) shape[i] = numbers[static_cast<std::size_t>(6 + i)] != 0 ? 1 : damo::kUnknown;
    return {specify_shape(x, shape)};
  }
  if (how == "set_slice") return {set_subtensor(x, part, subtensor(in[1], part))};
  if (how == "add_slice") return {inc_subtensor(x, part, subtensor(in[1], part))};
  if (how == "shifted") {  // what lies in one buffer moves along itself
    std::vector<Index> front = part, back = part;
    front.back() = Index(std::nullopt, -1), back.back() = Index(1, std::nullopt);
    return {set_subtensor(x, front, subtensor(x, back))};
  }
  if constexpr (std::is_same_v<T, Variable>) {
    if (how == "observed") return {observe(x, [](const Array&) {})};
  }
  return {};
}

}  // namespace damo::testing
