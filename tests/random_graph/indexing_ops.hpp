// Positions and masks that are data, in random graphs. A printed program carries this file with it.
#pragma once
#include <type_traits>

#include "family_parts.hpp"

namespace damo::testing {

/// numbers: axis, count.
template <class T>
std::vector<T> indexing_node(const std::string& how, const std::vector<T>& in, const std::vector<int>& numbers) {
  const T& x = in[0];
  const int axis = numbers[0];
  if (how == "take") return {take(x, positions_on(x, axis, in[1]), axis)};
  if (how == "take_doubled" || how == "take_less") {  // read by kernels alone, which may find what is taken themselves
    const T taken = take(x, positions_on(x, axis, in[1]), axis);
    return {how == "take_doubled" ? add(taken, taken) : sub(taken, max(taken, taken.rank() - 1, keepdims))};
  }
  if (how.ends_with("picked")) {  // x[i, j]; of repeated places the value that set writes is the same
    const T i = positions_on(x, 0, in[1]), j = positions_on(x, 1, in[2]);
    if (how == "picked") return {subtensor(x, {i, j})};
    return {how == "set_picked" ? set_subtensor(x, {i, j}, 2) : inc_subtensor(x, {i, j}, 1)};
  }
  if (how == "put") {  // also what comes later to a place than something else
    const T places = positions_on(ravel(x), 0, in[1]), values = in[2];
    if constexpr (std::is_same_v<T, Variable>) return {put(x, places, values)};
    else {
      const T written = x.copy();
      put(written, places, values);
      return {written};
    }
  }
  if (how == "nonzero") return {nonzero(x).back()};
  if (how == "flatnonzero") return {flatnonzero(x)};
  if (how == "masked") return {subtensor(x, converted(in[1], bool_))};
  if (how == "set_masked") return {set_subtensor(x, converted(in[1], bool_), in[2])};
  if (how == "add_masked") return {inc_subtensor(x, converted(in[1], bool_), in[2])};
  if (how == "add_rows_back") {  // what a mask took, put back behind it
    const T mask = converted(in[1], bool_);
    return {inc_subtensor(x, mask, subtensor(x, mask))};
  }
  if (how == "along_put") return {put_along_axis(x, positions_on(x, axis, in[1]), in[2], axis)};
  if (how == "along") return {take_along_axis(x, positions_on(x, axis, in[1]), axis)};
  if (how == "one_hot") return {one_hot(converted(in[0], int64), numbers[1], int32)};
  if constexpr (std::is_same_v<T, Variable>) {
    const T taken = how == "taken_back" ? take(x, positions_on(x, axis, in[1]), axis) : take_along_axis(x, positions_on(x, axis, in[1]), axis);
    const T weights = converted(index_along(taken, {}) + 1, x.dtype());  // "taken_back", "along_back": weights are added up where elements came from
    return {lop(taken, weights, x)};
  }
  return {};
}

}  // namespace damo::testing
