// DeviceMemory: bytes on a device, owned; DevicePointer: a place in such memory. For programs that speak of addresses
// and bytes, as CUDA's and PyCUDA's do; an Array (array.hpp) is the same memory with dtype and shape.
//
//   auto a = DeviceMemory::of<float>(device, 400);
//   a.copy_from_host(values);                        // vector, span, array: any contiguous range, all of it
//   kernel.launch(config, a, a + 100 * sizeof(float));
//   std::vector<float> result = a.to_vector<float>();
//   Array matrix = a.array(float32, {20, 20});       // the same elements, no copy
//
// Whatever needs memory holds it alive: a DevicePointer and an Array share it, in whatever order things are destroyed.
// DeviceMemory::free() ends it at once for every DevicePointer; using one then is a DeviceError that says where it was
// freed. Arrays made of the memory keep their elements even then.
//
// Every copy is checked against both sides and throws ShapeError past an end. Without a Stream a call is done when it
// returns, for host memory, and in the order of the device's default stream. With a Stream it is given to that stream:
// pinned host memory (host_memory.hpp) must stay as it is until the stream has done it; plain host memory has been read
// or written when the call returns. The memory itself may be dropped at any time.
// See tests/runtime/memory/memory_test.cpp.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <ranges>
#include <string>
#include <type_traits>
#include <vector>

#include <damo/array.hpp>
#include <damo/device.hpp>
#include <damo/kernel_argument.hpp>

namespace damo {

class IpcHandle;  // ipc.hpp

/// Contiguous host elements that can be copied as bytes: vector, array, span.
template <class R>
concept HostRange = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    std::is_trivially_copyable_v<std::ranges::range_value_t<R>>;
template <class R>
concept WritableHostRange =
    HostRange<R> && !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

template <HostRange R>
std::size_t host_bytes(const R& range) {
  return std::ranges::size(range) * sizeof(std::ranges::range_value_t<R>);
}

/// A place in memory of a device and the bytes from there to its end. Cheap to copy; shares the memory. As a kernel's
/// argument it passes its address.
class DevicePointer {
 public:
  DevicePointer() = default;  ///< empty: no device, no bytes
  /// The elements of an Array in C order: throws ShapeError for another layout.
  DevicePointer(const Array& array);

  explicit operator bool() const { return state_ != nullptr; }
  /// Address on the device. Throws DeviceError if the memory was freed or the device was reset since.
  void* data() const;
  template <class T>
  T* as() const {
    return static_cast<T*>(data());
  }
  std::size_t size() const { return bytes_; }  ///< bytes from here to the end
  Device device() const;
  bool is_freed() const;
  /// So many bytes further on. Throws ShapeError past the end; the end itself has no bytes but is a place.
  DevicePointer offset(std::size_t bytes) const;
  friend DevicePointer operator+(const DevicePointer& pointer, std::size_t bytes) { return pointer.offset(bytes); }
  /// Bytes from b to a. Throws DeviceError if they lie in different memory.
  friend std::ptrdiff_t operator-(const DevicePointer& a, const DevicePointer& b) { return a.distance_from(b); }
  /// The first so many bytes only.
  DevicePointer first(std::size_t bytes) const;

  // Copies. A host range gives the number of bytes unless that is stated.
  template <HostRange R>
  void copy_from_host(const R& host) const {
    copy_from_host(std::ranges::data(host), host_bytes(host));
  }
  template <HostRange R>
  void copy_from_host(const R& host, const Stream& stream) const {
    copy_from_host(std::ranges::data(host), host_bytes(host), stream);
  }
  template <WritableHostRange R>
  void copy_to_host(R&& host) const {
    copy_to_host(std::ranges::data(host), host_bytes(host));
  }
  template <WritableHostRange R>
  void copy_to_host(R&& host, const Stream& stream) const {
    copy_to_host(std::ranges::data(host), host_bytes(host), stream);
  }
  /// The first bytes of the range. Throws ShapeError if it has fewer.
  template <HostRange R>
  void copy_from_host(const R& host, std::size_t bytes) const {
    require_host(host_bytes(host), bytes, "copy_from_host");
    copy_from_host(static_cast<const void*>(std::ranges::data(host)), bytes);
  }
  template <WritableHostRange R>
  void copy_to_host(R&& host, std::size_t bytes) const {
    require_host(host_bytes(host), bytes, "copy_to_host");
    copy_to_host(static_cast<void*>(std::ranges::data(host)), bytes);
  }
  void copy_from_host(const void* host, std::size_t bytes) const;
  void copy_from_host(const void* host, std::size_t bytes, const Stream& stream) const;
  void copy_to_host(void* host, std::size_t bytes) const;
  void copy_to_host(void* host, std::size_t bytes, const Stream& stream) const;
  /// From the same device or another one. In stream order; the stream, if there is one, is this side's device's.
  void copy_from(const DevicePointer& from, std::size_t bytes) const;
  void copy_from(const DevicePointer& from, std::size_t bytes, const Stream& stream) const;

  /// All whole elements of T.
  template <class T>
  std::vector<T> to_vector() const {
    std::vector<T> values(bytes_ / sizeof(T));
    copy_to_host(values);
    return values;
  }
  /// Repeats an element of 1, 2, 4 or 8 bytes as often as it fits whole, or count times. In stream order.
  template <class T>
  void fill(T value) const {
    fill_bytes(&value, checked_element<T>(), bytes_ / sizeof(T), nullptr);
  }
  template <class T>
  void fill(T value, std::size_t count) const {
    fill_bytes(&value, checked_element<T>(), count, nullptr);
  }
  template <class T>
  void fill(T value, std::size_t count, const Stream& stream) const {
    fill_bytes(&value, checked_element<T>(), count, &stream);
  }
  /// rows of columns elements, pitch bytes apart.
  template <class T>
  void fill_2d(T value, std::size_t pitch, std::size_t columns, std::size_t rows) const {
    fill_rows(&value, checked_element<T>(), pitch, columns, rows, nullptr);
  }
  template <class T>
  void fill_2d(T value, std::size_t pitch, std::size_t columns, std::size_t rows, const Stream& stream) const {
    fill_rows(&value, checked_element<T>(), pitch, columns, rows, &stream);
  }

  /// Shares count(shape) elements from offset_bytes on. Throws ShapeError past the end, TypeError if the address is no
  /// multiple of the element's size.
  Array array(DType dtype, const Shape& shape, std::size_t offset_bytes = 0) const;
  /// For another process; see ipc.hpp.
  IpcHandle ipc_handle() const;

  /// As a kernel's argument: bytes on the device, for a pointer of any type.
  KernelArgument argument() const;

 protected:
  struct State;
  DevicePointer(std::shared_ptr<State> state, std::size_t offset, std::size_t bytes)
      : state_(std::move(state)), offset_(offset), bytes_(bytes) {}
  State& state(const char* what) const;

  std::shared_ptr<State> state_;
  std::size_t offset_ = 0, bytes_ = 0;

 private:
  friend class Rows;
  friend class CapturedGraph;
  friend void copy_2d(const class Rows&, const class Rows&, std::size_t, std::size_t, const Stream*);
  template <class T>
  static constexpr std::size_t checked_element() {
    static_assert(std::is_trivially_copyable_v<T>, "fill takes a plain value");
    static_assert(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8,
                  "fill takes 1, 2, 4 or 8 bytes");
    return sizeof(T);
  }
  std::ptrdiff_t distance_from(const DevicePointer& other) const;
  static void require_host(std::size_t available, std::size_t bytes, const char* what);
  void require(std::size_t bytes, const char* what) const;
  void* handle_of(const Stream* stream, const char* what) const;
  void copy_in(const void* host, std::size_t bytes, const Stream* stream) const;
  void copy_out(void* host, std::size_t bytes, const Stream* stream) const;
  void copy_across(const DevicePointer& from, std::size_t bytes, const Stream* stream) const;
  void fill_bytes(const void* element, std::size_t element_bytes, std::size_t count, const Stream* stream) const;
  void fill_rows(const void* element, std::size_t element_bytes, std::size_t pitch, std::size_t columns,
                 std::size_t rows, const Stream* stream) const;
};

class DeviceMemory : public DevicePointer {
 public:
  DeviceMemory() = default;  ///< empty
  /// From the device's pool; contents are arbitrary. Throws OutOfMemoryError.
  DeviceMemory(Device device, std::size_t bytes);
  /// count elements of T. Throws ShapeError for a number that no memory has.
  template <class T>
  static DeviceMemory of(Device device, std::size_t count) {
    return DeviceMemory(device, product(count, sizeof(T)));
  }
  /// With the contents of a host range.
  template <HostRange R>
  static DeviceMemory from(Device device, const R& host) {
    DeviceMemory memory(device, host_bytes(host));
    memory.copy_from_host(host);
    return memory;
  }
  /// Rows of row_bytes, each beginning at a multiple of what the device likes: pitch() bytes apart.
  static DeviceMemory pitched(Device device, std::size_t row_bytes, std::size_t rows);
  /// Memory that ipc_handle() works for on every device: on a GPU any does, on the CPU this alone (shared memory of the
  /// system's).
  static DeviceMemory shareable(Device device, std::size_t bytes);
  /// Memory of another process. Throws DeviceError if that process has freed it or is gone. free() lets go of it.
  static DeviceMemory open(Device device, const IpcHandle& handle);

  DeviceMemory(DeviceMemory&&) noexcept = default;
  DeviceMemory& operator=(DeviceMemory&&) noexcept = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() = default;

  /// Bytes between rows of pitched(); 0 for other memory.
  std::size_t pitch() const { return pitch_; }
  /// Gives the memory back now: to the pool, where work that still uses it is waited for before it is reused. Throws
  /// DeviceError if it was freed before, naming the line.
  void free(const char* file = __builtin_FILE(), int line = __builtin_LINE());

 private:
  explicit DeviceMemory(std::shared_ptr<State> state, std::size_t bytes) : DevicePointer(std::move(state), 0, bytes) {}
  static std::size_t product(std::size_t count, std::size_t bytes);
  std::size_t pitch_ = 0;
};

/// A launch passes the address. Throws DeviceError if the memory was freed.
template <std::derived_from<DevicePointer> Pointer>
KernelArgument to_kernel_argument(const Pointer& pointer) {
  return pointer.argument();
}

/// One side of copy_2d: rows that begin pitch bytes apart, in memory of a device or of the host.
class Rows {
 public:
  Rows(const DeviceMemory& memory);  ///< of DeviceMemory::pitched
  Rows(DevicePointer memory, std::size_t pitch) : device_(std::move(memory)), bytes_(device_.size()), pitch_(pitch) {}
  template <HostRange R>
  requires(!std::is_base_of_v<DevicePointer, std::remove_cvref_t<R>>) Rows(R&& host, std::size_t pitch)
      : host_(const_cast<void*>(static_cast<const void*>(std::ranges::data(host)))),
        bytes_(host_bytes(host)),
        pitch_(pitch) {
    is_writable_ = WritableHostRange<R>;
  }

 private:
  friend class DevicePointer;
  friend void copy_2d(const Rows&, const Rows&, std::size_t, std::size_t, const Stream*);
  void require(std::size_t row_bytes, std::size_t rows, const char* side) const;
  void* data() const { return host_ ? host_ : device_.data(); }

  DevicePointer device_;  // empty: host memory
  void* host_ = nullptr;
  std::size_t bytes_ = 0, pitch_ = 0;
  bool is_writable_ = true;
};

/// rows times row_bytes. At least one side is a device's; devices may differ. Throws ShapeError past either end and
/// for a pitch below row_bytes.
void copy_2d(const Rows& to, const Rows& from, std::size_t row_bytes, std::size_t rows, const Stream* stream = nullptr);
inline void copy_2d(const Rows& to, const Rows& from, std::size_t row_bytes, std::size_t rows, const Stream& stream) {
  copy_2d(to, from, row_bytes, rows, &stream);
}

}  // namespace damo
