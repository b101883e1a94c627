// DevicePointer and DeviceMemory: what they own and where they point. memory_copy.cpp moves bytes.
#include <damo/memory.hpp>

#include <limits>
#include <string>
#include <utility>

#include <damo/error.hpp>
#include <damo/ipc.hpp>

#include "runtime/array/array_layout.hpp"
#include "runtime/memory/buffer.hpp"
#include "runtime/memory/memory_pool.hpp"
#include "runtime/memory/memory_state.hpp"

namespace damo {
namespace {

constexpr std::size_t kMost = std::size_t{1} << 62;

/// The negative number that a size was, if it was one.
std::string if_negative(std::size_t number) {
  const auto number_with_sign = static_cast<std::int64_t>(number);
  return number_with_sign < 0 ? ", or " + std::to_string(number_with_sign) + " if a negative number was meant" : "";
}

/// A negative number that became a size, or a product that does not fit, is nobody's wish.
void check_size(std::size_t bytes) {
  if (bytes <= kMost) return;
  throw ShapeError("memory of " + std::to_string(bytes) + " bytes: more than 2^62" + if_negative(bytes),
                   "give the number of bytes");
}

}  // namespace

DevicePointer::State::~State() {
  if (buffer != nullptr) buffer->release();
}

DevicePointer::DevicePointer(const Array& array) {
  if (!array) return;
  if (!array.is_contiguous()) {
    throw ShapeError("an Array of shape " + to_string(array.shape()) + " and strides " + to_string(array.strides()) +
                         " is not in C order: a DevicePointer stands for consecutive bytes",
                     "use array.contiguous()");
  }
  array.buffer_->retain();
  state_ = State::of(array.buffer_);
  bytes_ = array.nbytes();
  if (bytes_ > 0) {
    offset_ = static_cast<std::size_t>(static_cast<std::byte*>(array.data()) -
                                       static_cast<std::byte*>(array.buffer_->data()));
  }
}

DevicePointer::State& DevicePointer::state(const char* what) const {
  if (state_ == nullptr) {
    throw DeviceError(std::string(what) + ": the DeviceMemory is empty, or was moved from",
                      "make it with DeviceMemory(device, bytes)");
  }
  if (state_->is_freed) {
    throw DeviceError(std::string(what) + ": this DeviceMemory of " + std::to_string(state_->bytes) + " bytes on " +
                          state_->backend.name() + " was freed at " + to_string(state_->freed_at),
                      "free it after its last use, or leave that to its destructor");
  }
  if (state_->buffer->is_lost())
    refuse_lost(state_->backend, "this DeviceMemory of " + std::to_string(state_->bytes) + " bytes");
  return *state_;
}

void* DevicePointer::data() const {
  if (state_ == nullptr) return nullptr;
  auto* const base = static_cast<std::byte*>(state("data").buffer->data());
  return base == nullptr ? nullptr : base + offset_;
}

KernelArgument DevicePointer::argument() const {
  auto* const base = static_cast<std::byte*>(state("launch").buffer->data());
  return KernelArgument::address_on(Device(&state_->backend), base == nullptr ? nullptr : base + offset_);
}

Device DevicePointer::device() const {
  if (state_ == nullptr) state("device");
  return Device(&state_->backend);
}

bool DevicePointer::is_freed() const { return state_ != nullptr && state_->is_freed; }

DevicePointer DevicePointer::offset(std::size_t bytes) const {
  state("offset");
  require(bytes, "offset");
  return DevicePointer(state_, offset_ + bytes, bytes_ - bytes);
}

DevicePointer DevicePointer::first(std::size_t bytes) const {
  state("first");
  require(bytes, "first");
  return DevicePointer(state_, offset_, bytes);
}

std::ptrdiff_t DevicePointer::distance_from(const DevicePointer& other) const {
  if (state("difference of pointers").buffer != other.state("difference of pointers").buffer) {
    throw DeviceError("difference of pointers into different memory",
                      "only places in the same DeviceMemory have a distance");
  }
  return static_cast<std::ptrdiff_t>(offset_) - static_cast<std::ptrdiff_t>(other.offset_);
}

Array DevicePointer::array(DType dtype, const Shape& shape, std::size_t offset_bytes) const {
  State& memory = state("array");
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] < 0)
      throw ShapeError("array: the extent of axis " + std::to_string(axis) + " is " + std::to_string(shape[axis]), "extents are 0 or more");
  }
  const auto count = static_cast<std::size_t>(shape.size());
  if (offset_bytes > bytes_ || count > (bytes_ - offset_bytes) / itemsize(dtype)) {
    throw ShapeError("array: " + std::string(name(dtype)) + " " + to_string(shape) + " from byte " +
                         std::to_string(offset_bytes) + " on goes past the end: the memory has " +
                         std::to_string(bytes_) + " bytes",
                     "give a shape that fits");
  }
  if ((offset_ + offset_bytes) % itemsize(dtype) != 0) {
    throw TypeError("array: byte " + std::to_string(offset_ + offset_bytes) + " of the memory is no place for " +
                        std::string(name(dtype)) + ", whose addresses are multiples of " +
                        std::to_string(itemsize(dtype)),
                    "choose another offset");
  }
  memory.buffer->retain();
  auto* const base = static_cast<std::byte*>(memory.buffer->data());
  return Array(memory.buffer, dtype, shape, contiguous_strides(shape),
               base == nullptr ? nullptr : base + offset_ + offset_bytes);
}

DeviceMemory::DeviceMemory(Device device, std::size_t bytes) {
  check_size(bytes);
  state_ = State::of(Buffer::allocate(device.backend(), bytes, "DeviceMemory"));
  bytes_ = bytes;
}

std::size_t DeviceMemory::product(std::size_t count, std::size_t bytes) {
  if (count <= kMost / bytes) return count * bytes;
  throw ShapeError("memory of " + std::to_string(count) + " elements of " + std::to_string(bytes) +
                       " bytes: more than 2^62 bytes" + if_negative(count),
                   "give the number of elements");
}

DeviceMemory DeviceMemory::pitched(Device device, std::size_t row_bytes, std::size_t rows) {
  const std::size_t alignment = device.is_host() ? 64 : 512;  // a cache line; what cuMemAllocPitch takes
  check_size(row_bytes);
  const std::size_t pitch = (row_bytes + alignment - 1) / alignment * alignment;
  DeviceMemory memory(device, pitch == 0 ? 0 : product(rows, pitch));
  memory.pitch_ = pitch;
  return memory;
}

void DeviceMemory::free(const char* file, int line) {
  if (state_ != nullptr && state_->is_freed) {
    throw DeviceError("free: this DeviceMemory of " + std::to_string(state_->bytes) + " bytes on " +
                          state_->backend.name() + " was freed before, at " + to_string(state_->freed_at),
                      "free it once, or leave that to its destructor");
  }
  if (state_ == nullptr) state("free");
  state_->freed_at = {file, line};
  state_->is_freed = true;
  std::exchange(state_->buffer, nullptr)->release();
}

}  // namespace damo
