#include <damo/array.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "runtime/array/array_layout.hpp"
#include "runtime/array/poison.hpp"
#include "runtime/backend.hpp"
#include "runtime/memory/buffer.hpp"
#include "runtime/memory/host_address.hpp"

namespace damo {
namespace {

// Checked here because a negative extent would come back as a huge number of bytes.
std::size_t bytes_of(const Shape& shape, DType dtype) {
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] < 0) {
      throw ShapeError("an array cannot have shape " + to_string(shape) + ": the extent of axis " +
                       std::to_string(axis) + " is " + std::to_string(shape[axis]),
                       "extents are 0 or more");
    }
  }
  const std::uint64_t size = static_cast<std::uint64_t>(shape.size());
  if (size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / itemsize(dtype)) {
    throw ShapeError("an array of shape " + to_string(shape) + " and dtype " + std::string(name(dtype)) +
                     " has more than 2^63 bytes", "give lesser extents");
  }
  return size * itemsize(dtype);
}

}  // namespace

Array::Array(Buffer* buffer, DType dtype, const Shape& shape, const Strides& strides, void* data)
    : buffer_(buffer), data_(data), size_(shape.size()), dtype_(dtype), shape_(shape), strides_(strides) {}

Array::Array(const Array& other)
    : buffer_(other.buffer_),
      data_(other.data_),
      size_(other.size_),
      dtype_(other.dtype_),
      shape_(other.shape_),
      strides_(other.strides_) {
  if (buffer_ != nullptr) buffer_->retain();
}

Array::Array(Array&& other) noexcept
    : buffer_(std::exchange(other.buffer_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      dtype_(other.dtype_),
      shape_(other.shape_),
      strides_(other.strides_) {
  other.shape_ = other.strides_ = Shape();
}

Array& Array::operator=(const Array& other) {
  if (this == &other) return *this;
  if (other.buffer_ != nullptr) other.buffer_->retain();
  Buffer* old = std::exchange(buffer_, other.buffer_);
  data_ = other.data_;
  size_ = other.size_;
  dtype_ = other.dtype_;
  shape_ = other.shape_;
  strides_ = other.strides_;
  if (old != nullptr) old->release();  // last: it may run a callback that looks at this array
  return *this;
}

Array& Array::operator=(Array&& other) noexcept {
  if (this == &other) return *this;
  Buffer* old = std::exchange(buffer_, std::exchange(other.buffer_, nullptr));
  data_ = std::exchange(other.data_, nullptr);
  size_ = std::exchange(other.size_, 0);
  dtype_ = other.dtype_;
  shape_ = other.shape_;
  strides_ = other.strides_;
  other.shape_ = other.strides_ = Shape();
  if (old != nullptr) old->release();  // last: it may run a callback that looks at this array
  return *this;
}

void swap(Array& a, Array& b) noexcept {
  std::swap(a.buffer_, b.buffer_);
  std::swap(a.data_, b.data_);
  std::swap(a.size_, b.size_);
  std::swap(a.dtype_, b.dtype_);
  if (!(a.shape_ == b.shape_)) std::swap(a.shape_, b.shape_);
  if (!(a.strides_ == b.strides_)) std::swap(a.strides_, b.strides_);
}

Array::~Array() {
  if (buffer_ != nullptr) buffer_->release();
}

void poison(const Array& array, std::uint8_t byte) {
  array.device().backend().fill(array.data(), &byte, 1, array.nbytes(), nullptr);
}

Array Array::empty(const Shape& shape, DType dtype, Device device) {
  const std::size_t bytes = bytes_of(shape, dtype);
  try {
    Buffer* buffer = Buffer::allocate(device.backend(), bytes);
    Array array(buffer, dtype, shape, contiguous_strides(shape), buffer->data());
    if (poison_of_new_arrays && bytes > 0) [[unlikely]] poison(array, *poison_of_new_arrays);
    return array;
  } catch (OutOfMemoryError& error) {  // the text is built here, off the path that everybody takes
    error.add_operands({std::string(damo::name(dtype)) + " " + to_string(shape)});
    throw;
  }
}

Array Array::full(const Shape& shape, Scalar value, DType dtype, Device device) {
  Array array = empty(shape, dtype, device);
  if (array.size_ == 0) return array;
  std::byte element[8];
  value.cast(dtype).store(element);
  device.backend().fill(array.data_, element, itemsize(dtype), static_cast<std::size_t>(array.size_), nullptr);
  return array;
}

Array Array::zeros(const Shape& shape, DType dtype, Device device) { return full(shape, Scalar(0), dtype, device); }

Array Array::ones(const Shape& shape, DType dtype, Device device) { return full(shape, Scalar(1), dtype, device); }

Array Array::scalar(Scalar value, Device device) { return full(Shape(), value, value.dtype(), device); }

Array Array::from_bytes(const void* elements, std::size_t count, DType dtype, const Shape& shape, Device device) {
  const std::size_t bytes = bytes_of(shape, dtype);
  if (count != static_cast<std::size_t>(shape.size())) {
    throw ShapeError("Array::from: " + std::to_string(count) + " values do not fill shape " + to_string(shape) +
                     ", which has " + std::to_string(shape.size()) + " elements",
                     "give as many values as the shape has elements, or no shape: they then lie along one axis");
  }
  require_host_address(elements, bytes, "Array::from");
  Array array = empty(shape, dtype, device);
  if (bytes == 0) return array;
  Backend& backend = device.backend();
  backend.copy(array.data_, elements, bytes, CopyKind::kHostToDevice, nullptr);
  if (!is_host(backend) && backend.is_pinned(elements)) backend.synchronize(nullptr);  // read later, else
  return array;
}

Array Array::borrow(void* elements, DType dtype, const Shape& shape, const Strides& strides, Device device) {
  if (strides.rank() != shape.rank()) {
    throw ShapeError("Array::borrow: shape " + to_string(shape) + " has " + std::to_string(shape.rank()) +
                     " axes, strides " + to_string(strides) + " have " + std::to_string(strides.rank()),
                     "give a stride for each axis, in elements");
  }
  bytes_of(shape, dtype);
  Backend& backend = device.backend();
  const ByteRange range = byte_range(shape, strides, itemsize(dtype));
  require_host_address(elements, range.bytes(), "Array::borrow");
  std::byte* first = static_cast<std::byte*>(elements) + range.first;
  if (is_host(backend)) {
    return Array(Buffer::adopt(backend, first, range.bytes()), dtype, shape, strides, elements);
  }
  Buffer* buffer = Buffer::allocate(backend, range.bytes(), "Array::borrow");
  Array array(buffer, dtype, shape, strides, static_cast<std::byte*>(buffer->data()) - range.first);
  if (range.bytes() != 0) backend.copy(buffer->data(), first, range.bytes(), CopyKind::kHostToDevice, nullptr);
  return array;
}

Device Array::device() const {
  if (buffer_ == nullptr) throw TypeError("an empty Array is on no device", "check the Array with if (array)");
  if (buffer_->is_lost()) [[unlikely]] refuse_lost(buffer_->backend(), "an Array");
  return Device(&buffer_->backend());
}

bool Array::is_lost() const { return buffer_ != nullptr && buffer_->is_lost(); }

bool Array::is_unique() const { return buffer_ != nullptr && buffer_->is_unique(); }

bool Array::claim() const {
  if (!is_unique() || !buffer_->is_own()) return false;
  buffer_->order_reuse();
  return true;
}

std::pair<const std::byte*, const std::byte*> Array::address_range() const {
  const ByteRange range = byte_range(shape_, strides_, itemsize(dtype_));
  const std::byte* first = static_cast<const std::byte*>(data_);
  if (buffer_ == nullptr) return {first, first};
  return {first + range.first, first + range.last};
}

void Array::require_dtype(DType dtype) const {
  if (dtype == dtype_) return;
  throw TypeError("this array is " + describe(*this) + ": its elements cannot be read as " + std::string(name(dtype)),
                  "read them as " + std::string(name(dtype_)) + ", or call to_doubles()");
}

std::string describe(const Array& array) {
  if (!array) return "empty Array";
  if (array.is_lost()) return "lost Array";
  return std::string(name(array.dtype())) + " " + to_string(array.shape()) + " on " + array.device().backend().name();
}

}  // namespace damo
