#include "runtime/array/view_layout.hpp"

#include <algorithm>
#include <string>
#include "graph/base/counted.hpp"

namespace damo {

SlicedAxis sliced_axis(const Slice& slice, std::int64_t extent, int axis) {
  if (slice.step == 0) throw ShapeError("slice: the step of axis " + std::to_string(axis) + " is 0", "1 takes every position, -1 goes backwards");
  const bool forward = slice.step > 0;
  const std::int64_t lowest = forward ? 0 : -1, highest = forward ? extent : extent - 1;
  const auto clamp = [&](std::int64_t position) {
    if (position < 0) position += extent;
    return std::clamp(position, lowest, std::max(lowest, highest));
  };
  const std::int64_t start = slice.start ? clamp(*slice.start) : forward ? lowest : highest;
  const std::int64_t stop = slice.stop ? clamp(*slice.stop) : forward ? highest : lowest;
  const std::int64_t distance = forward ? stop - start : start - stop;
  if (distance <= 0) return {0, 0};
  // step may be the least int64, whose magnitude only an unsigned holds
  const std::uint64_t step =
      forward ? static_cast<std::uint64_t>(slice.step) : 0 - static_cast<std::uint64_t>(slice.step);
  return {start, 1 + static_cast<std::int64_t>(static_cast<std::uint64_t>(distance - 1) / step)};
}

ViewLayout slice_layout(const ViewLayout& x, std::span<const Slice> slices) {
  if (slices.size() > static_cast<std::size_t>(x.shape.rank())) {
    throw ShapeError("slice: " + std::to_string(slices.size()) + " slices given, " + to_string(x.shape) + " has " +
                         counted_axes(x.shape.rank()),
                     "give at most one for each axis; expand_dims makes more of these");
  }
  ViewLayout view = x;
  for (int axis = 0; axis < static_cast<int>(slices.size()); ++axis) {
    const Slice& slice = slices[static_cast<std::size_t>(axis)];
    const SlicedAxis sliced = sliced_axis(slice, x.shape[axis], axis);
    view.shape[axis] = sliced.count;
    view.offset += sliced.first * x.strides[axis];
    if (sliced.count > 1) view.strides[axis] = slice.step * x.strides[axis];  // else the step may be beyond any stride
  }
  // no element, so no address to point at
  if (std::find(view.shape.begin(), view.shape.end(), 0) != view.shape.end()) view.offset = x.offset;
  return view;
}

Shape stretched_shape(const Shape& x, const Shape& asked) {
  Shape shape = asked;
  const auto fail = [&](const std::string& why, const std::string& remedy) {
    throw ShapeError("broadcast_to: " + to_string(x) + " cannot become " + to_string(asked) + ": " + why, remedy);
  };
  const int added = shape.rank() - x.rank();
  if (added < 0) fail("it has more axes", "squeeze or reshape it first");
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool is_new = axis < added;
    if (shape[axis] < -1 || (is_new && shape[axis] == -1)) {
      fail("the extent of axis " + std::to_string(axis) + " is " + std::to_string(shape[axis]),
           is_new ? "give an axis that x does not have an extent of 0 or more" : "give 0 or more, or -1 for x's own extent");
    }
    if (is_new) continue;
    const std::int64_t extent = x[axis - added];
    if (shape[axis] == -1) shape[axis] = extent;
    if (extent != shape[axis] && extent != 1 && extent != kUnknown) {
      fail("axis " + std::to_string(axis) + " has " + std::to_string(shape[axis]) + " against " + std::to_string(extent),
           "only an extent of 1 stretches: expand_dims or reshape x first");
    }
  }
  return shape;
}

ViewLayout broadcast_layout(const ViewLayout& x, const Shape& asked) {
  const Shape shape = stretched_shape(x.shape, asked);
  const int added = shape.rank() - x.shape.rank();
  Strides strides = Shape::filled(shape.rank(), 0);
  for (int axis = added; axis < shape.rank(); ++axis) {
    if (x.shape[axis - added] == shape[axis]) strides[axis] = x.strides[axis - added];
  }
  return {shape, strides, x.offset};
}

Shape complete_shape(const Shape& from, const Shape& asked) {
  Shape shape = asked;
  int open = -1;
  std::int64_t known = 1;
  const auto fail = [&](const std::string& why, const std::string& remedy) {
    throw ShapeError("reshape: " + to_string(from) + " cannot become " + to_string(asked) + ": " + why, remedy);
  };
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == -1) {
      if (open >= 0) fail("only one extent may be -1", "give the others as numbers");
      open = i;
    } else if (shape[i] < 0) {
      fail("the extent of axis " + std::to_string(i) + " is " + std::to_string(shape[i]), "give 0 or more, or -1 for one that follows from the others");
    } else if (__builtin_mul_overflow(known, shape[i], &known)) {
      fail("it has more than 2^63 elements", "give lesser extents");
    }
  }
  if (!from.is_known()) return shape;
  const std::int64_t size = from.size();
  if (open >= 0) {
    if (known == 0) fail("the extent for -1 could be any beside an extent of 0", "give a number instead of -1");
    if (size % known != 0) fail(std::to_string(size) + " elements are not a multiple of " + std::to_string(known), "give extents that divide " + std::to_string(size) + ", or slice or pad x first");
    shape[open] = size / known;
  } else if (known != size) {
    fail(std::to_string(size) + " elements against " + std::to_string(known), "give extents whose product is " + std::to_string(size) + "; -1 stands for one that follows from the others");
  }
  return shape;
}

// Groups of old axes are matched with groups of new axes of the same product; a group works if its old axes step as one.
std::optional<Strides> reshaped_strides(const Shape& shape, const Strides& steps_of, const Shape& to) {
  Strides strides = contiguous_strides(to);
  if (to.size() == 0 || is_contiguous(shape, steps_of)) return strides;
  Shape from, steps;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == 1) continue;
    from.push_back(shape[i]);
    steps.push_back(steps_of[i]);
  }
  int old_axis = 0, new_axis = 0;
  while (old_axis < from.rank()) {
    const int old_first = old_axis, new_first = new_axis;
    std::int64_t old_size = from[old_axis++], new_size = to[new_axis++];
    while (old_size != new_size) {
      if (old_size < new_size)
        old_size *= from[old_axis++];
      else
        new_size *= to[new_axis++];
    }
    for (int i = old_first; i + 1 < old_axis; ++i) {
      if (steps[i] != steps[i + 1] * from[i + 1]) return std::nullopt;
    }
    std::int64_t step = steps[old_axis - 1];
    for (int i = new_axis - 1; i >= new_first; --i) {
      strides[i] = step;
      step *= to[i];
    }
  }
  return strides;
}

}  // namespace damo
