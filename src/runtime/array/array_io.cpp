// Copies between arrays, and between arrays and host memory.
#include <cstring>
#include <memory>
#include <vector>

#include <damo/array.hpp>

#include "runtime/array/array_layout.hpp"
#include "runtime/backend.hpp"
#include "runtime/memory/buffer.hpp"
#include "runtime/array/copy_kernel.hpp"
#include "runtime/memory/host_address.hpp"
#include "runtime/stream/work_log.hpp"

namespace damo {
namespace {

using Bytes = std::unique_ptr<std::byte[]>;

// Up to here the whole range of a strided array crosses to the host in less time than a first kernel takes to compile.
constexpr std::size_t kSmallRange = std::size_t{1} << 20;

Bytes host_bytes(std::size_t count) { return std::make_unique_for_overwrite<std::byte[]>(count); }

std::byte* first_byte(const Array& array) { return const_cast<std::byte*>(array.address_range().first); }

std::size_t range_bytes(const Array& array) {
  return byte_range(array.shape(), array.strides(), itemsize(array.dtype())).bytes();
}

void store_contiguous(const Array& to, const void* elements) {
  Backend& backend = to.device().backend();
  backend.copy(to.data(), elements, to.nbytes(), CopyKind::kHostToDevice, nullptr);
  if (!is_host(backend) && backend.is_pinned(elements)) backend.synchronize(nullptr);
}

// Fills the array, wherever and however it lies, from host elements in C order.
void store(const Array& to, const void* elements) {
  Backend& backend = to.device().backend();
  const Strides packed = contiguous_strides(to.shape());
  if (to.is_contiguous()) {
    store_contiguous(to, elements);
  } else if (is_host(backend)) {
    enter_default_stream(backend);
    copy_strided(itemsize(to.dtype()), to.shape(), to.data(), to.strides(), elements, packed);
  } else if (range_bytes(to) > kSmallRange) {
    const Array arrived = Array::empty(to.shape(), to.dtype(), to.device());
    store_contiguous(arrived, elements);
    copy_by_kernel(to, arrived);
  } else {  // its range comes here, because what lies between its elements must stay, and goes back
    const std::size_t bytes = range_bytes(to);
    std::byte* first = first_byte(to);
    const Bytes range = host_bytes(bytes);
    if (!is_dense(to.shape(), to.strides())) backend.copy(range.get(), first, bytes, CopyKind::kDeviceToHost, nullptr);
    std::byte* data = range.get() + (static_cast<std::byte*>(to.data()) - first);
    copy_strided(itemsize(to.dtype()), to.shape(), data, to.strides(), elements, packed);
    backend.copy(first, range.get(), bytes, CopyKind::kHostToDevice, nullptr);
  }
}

// Both on one device, or both in host memory.
void copy_within(const Array& to, const Array& from) {
  Backend& backend = to.device().backend();
  const bool same_layout = to.strides() == from.strides() && is_dense(to.shape(), to.strides());
  if (same_layout || (to.is_contiguous() && from.is_contiguous())) {
    backend.copy(first_byte(to), first_byte(from), to.nbytes(), CopyKind::kDeviceToDevice, nullptr);
    return;
  }
  if (is_host(backend) &&
      !current_log(backend)) {  // in a log it is a piece of work as all others, of what those before it leave
    check_default_stream(backend);
    copy_strided(itemsize(to.dtype()), to.shape(), to.data(), to.strides(), from.data(), from.strides());
    return;
  }
  copy_by_kernel(to, from);
}

void copy_between_devices(const Array& to, const Array& from) {
  Backend &there = to.device().backend(), &here = from.device().backend();
  if (is_host(here) && from.is_contiguous()) return store(to, from.data());
  if (is_host(there) && to.is_contiguous()) return from.to_host(to.data());
  if (here.kind() == there.kind() && to.is_contiguous() && from.is_contiguous()) {
    here.synchronize(nullptr);  // the two devices' streams know nothing of each other
    there.copy_peer(to.data(), here, from.data(), to.nbytes(), nullptr);
    there.synchronize(nullptr);
    return;
  }
  const Bytes elements = host_bytes(from.nbytes());
  from.to_host(elements.get());
  store(to, elements.get());
}

void check_copy(const Array& to, const Array& from) {
  if (!to || !from) throw TypeError("copy_from: an empty Array has no elements to copy", "check the Array with if (array)");
  if (to.dtype() != from.dtype()) {
    throw TypeError("copy_from: dtypes differ: " + describe(to) + " from " + describe(from), "cast one of them first");
  }
  if (to.shape() != from.shape()) {
    throw ShapeError("copy_from: shapes differ: " + to_string(to.shape()) + " from " + to_string(from.shape()),
                     "use broadcast_to or reshape on the source");
  }
  const std::string shared = shared_places(to.shape(), to.strides(), "the destination");
  if (!shared.empty()) throw ShapeError("copy_from: " + shared, "copy() the destination first");
}

}  // namespace

void Array::copy_from(const Array& other) const {
  check_copy(*this, other);
  if (size_ == 0 || (data_ == other.data_ && strides_ == other.strides_ && device() == other.device())) return;
  Backend &there = device().backend(), &here = other.device().backend();
  const bool same_memory = &there == &here || (is_host(there) && is_host(here));
  if (!same_memory) return copy_between_devices(*this, other);
  if (share_memory(*this, other)) return copy_from(other.copy());
  copy_within(*this, other);
}

Array Array::copy() const {
  if (buffer_ == nullptr) return {};
  Array result = empty(shape_, dtype_, device());
  result.copy_from(*this);
  return result;
}

Array Array::contiguous() const { return buffer_ == nullptr || is_contiguous() ? *this : copy(); }

Array Array::to(Device device) const {
  if (buffer_ == nullptr || this->device() == device) return *this;
  Array result = empty(shape_, dtype_, device);
  result.copy_from(*this);
  return result;
}

void Array::to_host(void* elements) const {
  if (size_ == 0) return;
  require_host_address(elements, nbytes(), "to_host");
  Backend& backend = device().backend();
  const Strides packed = contiguous_strides(shape_);
  if (is_contiguous()) {
    backend.copy(elements, data_, nbytes(), CopyKind::kDeviceToHost, nullptr);
    if (is_host(backend)) return;
    backend.synchronize(nullptr);  // into pinned memory a copy returns before it is done
    backend.throw_found();
  } else if (is_host(backend)) {
    enter_default_stream(backend);
    copy_strided(itemsize(dtype_), shape_, elements, packed, data_, strides_);
  } else if (range_bytes(*this) > kSmallRange) {
    copy().to_host(elements);
  } else {  // one copy of the whole range, as a copy an element would cost microseconds each
    const std::size_t bytes = range_bytes(*this);
    const std::byte* first = first_byte(*this);
    const Bytes range = host_bytes(bytes);
    backend.copy(range.get(), first, bytes, CopyKind::kDeviceToHost, nullptr);
    const std::byte* data = range.get() + (static_cast<const std::byte*>(data_) - first);
    copy_strided(itemsize(dtype_), shape_, elements, packed, data, strides_);
    backend.throw_found();
  }
}

std::vector<double> Array::to_doubles() const {
  const std::size_t item = itemsize(dtype_);
  const Bytes elements = host_bytes(nbytes());
  to_host(elements.get());
  std::vector<double> values(static_cast<std::size_t>(size_));
  visit(dtype_, [&](auto zero) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      auto value = zero;
      std::memcpy(&value, elements.get() + i * item, item);
      values[i] = static_cast<double>(value);
    }
  });
  return values;
}

Scalar Array::item() const {
  if (size_ != 1) {
    throw ShapeError("item: the array has " + std::to_string(size_) + " elements, not one: " + describe(*this),
                     "to_vector<T>() and to_doubles() read all of them; slice takes one out");
  }
  std::byte element[8];
  to_host(element);
  return Scalar::load(dtype_, element);
}

}  // namespace damo
