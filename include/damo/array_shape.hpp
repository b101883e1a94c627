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
/// Axis i of the result is axis pattern[i] of x, or a new axis of extent 1 for kNewAxis; axes that the pattern leaves out have extent 1.
Array dimshuffle(const Array& x, std::span<const int> pattern);
inline Array dimshuffle(const Array& x, std::initializer_list<int> pattern) { return dimshuffle(x, std::span(pattern.begin(), pattern.size())); }
Array squeeze(const Array& x, const Axes& axes = {});  ///< without those axes, whose extent is 1; all such unless told
Array expand_dims(const Array& x, int axis);           ///< a new axis of extent 1
Array flip(const Array& x, const Axes& axes = {});     ///< backwards along the axes: PyCUDA's reverse
Array swap_axes(const Array& x, int a, int b);
inline Array transpose(const Array& x) { return x.transpose(); }  ///< axes reversed
inline Array broadcast_to(const Array& x, const Shape& shape) { return x.broadcast_to(shape); }  ///< an extent of -1: that of x
inline Array reshape(const Array& x, const Shape& shape) { return x.reshape(shape); }  ///< a view where strides allow it

/// x, whose extents are those of shape; kUnknown fits to any. ShapeError for another rank or extent: what a graph is told by
/// ops/specify_shape.hpp, an Array is checked for.
Array specify_shape(const Array& x, const Shape& shape);

Array ravel(const Array& x);       ///< rank 1; a view if x is in C order
Array flatten(const Array& x, int first = 0, int last = -1);  ///< the axes from first to last as one; a view likewise
/// Parts of these sizes along an axis, which they fill: views.
std::vector<Array> split(const Array& x, std::span<const std::int64_t> sizes, int axis = 0);
inline std::vector<Array> split(const Array& x, std::initializer_list<std::int64_t> sizes, int axis = 0) {
  return split(x, std::span(sizes.begin(), sizes.size()), axis);
}
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

/// Moved by shift along an axis; what leaves it comes in at the other end.
Array roll(const Array& x, std::int64_t shift, int axis);
/// x counts times side by side along each axis, aligned at the last; more counts than axes add axes on the left.
Array tile(const Array& x, std::span<const std::int64_t> counts);
inline Array tile(const Array& x, std::initializer_list<std::int64_t> counts) { return tile(x, std::span(counts.begin(), counts.size())); }
/// Each element along the axis count times in a row.
Array repeat(const Array& x, std::int64_t count, int axis);
/// widths of each axis, of a value before and after x. value: a number, or an Array of rank 0.
Array pad(const Array& x, std::span<const PadWidth> widths, Scalar value = Scalar(0.0));
inline Array pad(const Array& x, std::initializer_list<PadWidth> widths, Scalar value = Scalar(0.0)) {
  return pad(x, std::span(widths.begin(), widths.size()), value);
}
Array pad(const Array& x, std::span<const PadWidth> widths, const Array& value);
inline Array pad(const Array& x, std::initializer_list<PadWidth> widths, const Array& value) {
  return pad(x, std::span(widths.begin(), widths.size()), value);
}

/// x's elements, or slices along the axis, at integer positions; negative ones count from the end. Without an axis: of
/// x in C order. IndexError for a position that is not on the axis: on a GPU from whoever waits for the device. TypeError for
/// positions that are no integers, ShapeError if there is nothing to take from.
Array take(const Array& x, const Array& positions);
Array take(const Array& x, const Array& positions, int axis);
/// Into x itself, at positions among its elements in C order; values broadcast to the positions' shape and are cast to x's dtype. Of several
/// values for one place the last in C order stays. Values and positions that share memory with x are those from before the call. IndexError as in take.
void put(const Array& x, const Array& positions, const Array& values);

}  // namespace damo
