// What views look at, for Arrays and for graphs: shape, strides and offset of the view from those of what it looks at.
// Everything is counted in elements. See tests/runtime/array/array_views_test.cpp.
#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include <damo/array.hpp>
#include <damo/shape.hpp>

namespace damo {

struct ViewLayout {
  Shape shape;
  Strides strides;
  std::int64_t offset = 0;
};

/// Positions that a slice selects of an axis; as Python's slice.indices(extent), so none is out of range.
struct SlicedAxis {
  std::int64_t first = 0, count = 0;
};
/// Throws ShapeError for a step of 0.
SlicedAxis sliced_axis(const Slice& slice, std::int64_t extent, int axis);

/// Axes beyond the slices are kept whole. Throws ShapeError for more slices than axes, and a step of 0.
ViewLayout slice_layout(const ViewLayout& x, std::span<const Slice> slices);

/// asked, with x's own extents where it has -1; x's may be unknown. Throws ShapeError unless asked, aligned at the last axis, differs from x's only where that is 1.
Shape stretched_shape(const Shape& x, const Shape& asked);

/// An extent of -1: that of x. Throws ShapeError unless shape, aligned at the last axis, differs from x's only where that is 1.
ViewLayout broadcast_layout(const ViewLayout& x, const Shape& shape);

/// asked, with the one extent of -1 replaced by what is left, if from's extents are known. Throws ShapeError if the elements do not fill it, as far as one can tell.
Shape complete_shape(const Shape& from, const Shape& asked);

/// Strides that show the same elements, in C order, in another shape of as many; none if they would have to move.
std::optional<Strides> reshaped_strides(const Shape& from, const Strides& strides, const Shape& to);

}  // namespace damo
