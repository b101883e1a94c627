// Views: arrays that share the elements of another.
#include <algorithm>
#include <string>

#include <damo/array.hpp>

#include "runtime/array/array_layout.hpp"
#include "runtime/memory/buffer.hpp"

namespace damo {
namespace {

struct Interval {
  std::int64_t first, count;
};

// As Python's slice.indices(extent), with the number of positions. No position is ever out of range.
Interval resolve(const Slice& slice, std::int64_t extent) {
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

// The one extent of -1 replaced by what is left.
Shape complete(const Shape& asked, const Array& array) {
  Shape shape = asked;
  int open = -1;
  std::int64_t known = 1;
  const auto fail = [&](const std::string& why) {
    throw ShapeError("reshape: " + to_string(array.shape()) + " cannot become " + to_string(asked) + ": " + why);
  };
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == -1) {
      if (open >= 0) fail("only one extent may be -1");
      open = i;
    } else if (shape[i] < 0) {
      fail("the extent of axis " + std::to_string(i) + " is " + std::to_string(shape[i]));
    } else if (__builtin_mul_overflow(known, shape[i], &known)) {
      fail("it has more than 2^63 elements");
    }
  }
  if (open >= 0) {
    if (known == 0) fail("the extent for -1 could be any beside an extent of 0");
    if (array.size() % known != 0) {
      fail(std::to_string(array.size()) + " elements are not a multiple of " + std::to_string(known));
    }
    shape[open] = array.size() / known;
  } else if (known != array.size()) {
    fail(std::to_string(array.size()) + " elements against " + std::to_string(known));
  }
  return shape;
}

// Strides that show the same elements, in C order, in another shape; false if there are none. Groups of old axes are
// matched with groups of new axes of the same product; a group works if its old axes step as one.
bool strides_for(const Array& array, const Shape& shape, Strides& strides) {
  Shape from, steps;
  for (int i = 0; i < array.rank(); ++i) {
    if (array.shape()[i] == 1) continue;
    from.push_back(array.shape()[i]);
    steps.push_back(array.strides()[i]);
  }
  strides = contiguous_strides(shape);
  int old_axis = 0, new_axis = 0;
  while (old_axis < from.rank()) {
    const int old_first = old_axis, new_first = new_axis;
    std::int64_t old_size = from[old_axis++], new_size = shape[new_axis++];
    while (old_size != new_size) {
      if (old_size < new_size)
        old_size *= from[old_axis++];
      else
        new_size *= shape[new_axis++];
    }
    for (int i = old_first; i + 1 < old_axis; ++i) {
      if (steps[i] != steps[i + 1] * from[i + 1]) return false;
    }
    std::int64_t step = steps[old_axis - 1];
    for (int i = new_axis - 1; i >= new_first; --i) {
      strides[i] = step;
      step *= shape[i];
    }
  }
  return true;
}

}  // namespace

Array Array::view(DType dtype, const Shape& shape, const Strides& strides, std::int64_t offset_elements) const {
  const std::int64_t offset = offset_elements * static_cast<std::int64_t>(itemsize(dtype));
  void* data = offset == 0 ? data_ : static_cast<std::byte*>(data_) + offset;
  Array result(buffer_, dtype, shape, strides, data);  // throws for a size past 2^63, so it comes first
  if (buffer_ != nullptr) buffer_->retain();
  return result;
}

Array Array::transpose() const {
  Shape shape = shape_, strides = strides_;
  std::reverse(shape.begin(), shape.end());
  std::reverse(strides.begin(), strides.end());
  return view(dtype_, shape, strides, 0);
}

Array Array::permute(std::span<const int> axes) const {
  const auto fail = [&](const std::string& why) {
    std::string text;
    for (int axis : axes) text += (text.empty() ? "" : ", ") + std::to_string(axis);
    throw ShapeError("permute: (" + text + ") does not order the axes of " + to_string(shape_) + ": " + why);
  };
  if (static_cast<int>(axes.size()) != rank()) {
    fail(std::to_string(axes.size()) + " axes given, the array has " + std::to_string(rank()));
  }
  Shape shape, strides;
  unsigned seen = 0;
  for (int given : axes) {
    if (given < -rank() || given >= rank()) fail("there is no axis " + std::to_string(given));
    const int axis = given < 0 ? given + rank() : given;
    if (seen >> axis & 1u) fail("axis " + std::to_string(axis) + " appears twice");
    seen |= 1u << axis;
    shape.push_back(shape_[axis]);
    strides.push_back(strides_[axis]);
  }
  return view(dtype_, shape, strides, 0);
}

Array Array::slice(std::span<const Slice> slices) const {
  if (slices.size() > static_cast<std::size_t>(rank())) {
    throw ShapeError("slice: " + std::to_string(slices.size()) + " slices given, " + to_string(shape_) + " has " +
                     std::to_string(rank()) + " axes");
  }
  Shape shape = shape_, strides = strides_;
  std::int64_t offset = 0;
  for (int axis = 0; axis < static_cast<int>(slices.size()); ++axis) {
    const Slice& slice = slices[static_cast<std::size_t>(axis)];
    if (slice.step == 0) throw ShapeError("slice: the step of axis " + std::to_string(axis) + " is 0");
    const Interval interval = resolve(slice, shape_[axis]);
    shape[axis] = interval.count;
    offset += interval.first * strides_[axis];
    if (interval.count > 1) strides[axis] = slice.step * strides_[axis];  // else the step may be beyond any stride
  }
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) offset = 0;  // no element, so no address to point at
  return view(dtype_, shape, strides, offset);
}

Array Array::broadcast_to(const Shape& shape) const {
  const auto fail = [&](const std::string& why) {
    throw ShapeError("broadcast_to: " + to_string(shape_) + " cannot become " + to_string(shape) + ": " + why);
  };
  const int added = shape.rank() - rank();
  if (added < 0) fail("it has more axes");
  Strides strides = Shape::filled(shape.rank(), 0);
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] < 0) fail("the extent of axis " + std::to_string(axis) + " is " + std::to_string(shape[axis]));
    if (axis < added) continue;
    const std::int64_t extent = shape_[axis - added];
    if (extent == shape[axis])
      strides[axis] = strides_[axis - added];
    else if (extent != 1) {
      fail("axis " + std::to_string(axis) + " has " + std::to_string(shape[axis]) + " against " +
           std::to_string(extent));
    }
  }
  return view(dtype_, shape, strides, 0);
}

Array Array::reshape(const Shape& asked) const {
  const Shape shape = complete(asked, *this);
  if (size_ == 0 || is_contiguous()) return view(dtype_, shape, contiguous_strides(shape), 0);
  Strides strides;
  if (strides_for(*this, shape, strides)) return view(dtype_, shape, strides, 0);
  const Array packed = copy();
  return packed.view(dtype_, shape, contiguous_strides(shape), 0);
}

}  // namespace damo
