// Views: arrays that share the elements of another.
#include <algorithm>
#include <string>

#include <damo/array.hpp>

#include "graph/base/counted.hpp"
#include "runtime/array/view_layout.hpp"
#include "runtime/memory/buffer.hpp"

namespace damo {

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
    throw ShapeError("permute: (" + text + ") does not order the axes of " + to_string(shape_) + ": " + why,
                     "name each axis once, in the new order");
  };
  if (static_cast<int>(axes.size()) != rank()) {
    fail(counted_axes(axes.size()) + " given, the array has " + std::to_string(rank()));
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
  const ViewLayout view = slice_layout({shape_, strides_}, slices);
  return this->view(dtype_, view.shape, view.strides, view.offset);
}

Array Array::broadcast_to(const Shape& shape) const {
  const ViewLayout layout = broadcast_layout({shape_, strides_}, shape);
  return view(dtype_, layout.shape, layout.strides, 0);
}

Array Array::reshape(const Shape& asked) const {
  const Shape shape = complete_shape(shape_, asked);
  if (const auto strides = reshaped_strides(shape_, strides_, shape)) return view(dtype_, shape, *strides, 0);
  return copy().view(dtype_, shape, contiguous_strides(shape), 0);
}

}  // namespace damo
