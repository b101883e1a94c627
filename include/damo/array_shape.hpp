// Arrays in another order or shape. Views where the name says so; else new arrays in C order on the same device, made
// by kernels: nothing passes through the host. Array itself has transpose, permute, slice, reshape, broadcast_to. Axes
// may be negative; ShapeError for those that do not exist. See tests/ops/eager/shape_test.cpp.
#pragma once
#include <initializer_list>
#include <span>
#include <vector>

#include <damo/array.hpp>
#include <damo/axes.hpp>

namespace damo {

// Views.
Array squeeze(const Array& x, const Axes& axes = {});  ///< without those axes, whose extent is 1; all such unless told
Array expand_dims(const Array& x, int axis);           ///< a new axis of extent 1
Array flip(const Array& x, const Axes& axes = {});     ///< backwards along the axes: PyCUDA's reverse
Array swap_axes(const Array& x, int a, int b);

Array ravel(const Array& x);       ///< rank 1; a view if x is in C order
Array contiguous(const Array& x);  ///< x if it is in C order, else a copy by a kernel

/// Along an axis that exists; the other extents must agree. Of the promoted dtype. Throws GraphError for no arrays.
Array concatenate(std::span<const Array> arrays, int axis = 0);
inline Array concatenate(std::initializer_list<Array> arrays, int axis = 0) {
  return concatenate(std::span(arrays.begin(), arrays.size()), axis);
}
/// Along a new axis; all shapes must be equal.
Array stack(std::span<const Array> arrays, int axis = 0);
inline Array stack(std::initializer_list<Array> arrays, int axis = 0) {
  return stack(std::span(arrays.begin(), arrays.size()), axis);
}

/// x's elements, or slices along the axis, at integer positions; negative ones count from the end. Without an axis: of
/// x in C order. A position beyond the end reads the nearest element there is. TypeError for positions that are no
/// integers, ShapeError if there is nothing to take from.
Array take(const Array& x, const Array& positions);
Array take(const Array& x, const Array& positions, int axis);
/// x[positions[j]] = values[j] in C order; values broadcast to the positions. What several values are put at gets one
/// of them; positions beyond the ends are left out.
void put(const Array& x, const Array& positions, const Array& values);

}  // namespace damo
