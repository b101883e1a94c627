// Global: a __device__ or __constant__ variable of a Module. Keeps the module loaded; cheap to copy. Writes and reads are
// copies on the device's default stream that have happened when they return. As an argument of a launch it is a pointer.
//
//   module.global("coefficients").set(std::array{0.25f, 0.5f, 0.25f});
//
// See tests/runtime/module/global_test.cpp.
#pragma once
#include <cstddef>
#include <memory>
#include <ranges>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <damo/device.hpp>
#include <damo/kernel_argument.hpp>

namespace damo {

class LoadedModule;  // src/runtime/backend.hpp

class Global {
 public:
  Global(Device device, std::shared_ptr<const LoadedModule> module, std::string name, void* data, std::size_t bytes)
      : device_(device), module_(std::move(module)), name_(std::move(name)), data_(data), bytes_(bytes) {}

  const std::string& name() const { return name_; }
  /// On the device.
  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  Device device() const { return device_; }

  /// Writes a contiguous range or one value, from offset_bytes on; what lies beyond keeps its contents. Throws ShapeError
  /// for more than there is room for.
  template <class X>
  void set(const X& x, std::size_t offset_bytes = 0) const {
    if constexpr (std::ranges::contiguous_range<const X>) {
      static_assert(std::is_trivially_copyable_v<std::ranges::range_value_t<const X>>);
      write(std::ranges::data(x), std::ranges::size(x) * sizeof(std::ranges::range_value_t<const X>), offset_bytes);
    } else {
      static_assert(std::is_trivially_copyable_v<X>, "a value or a contiguous range of trivially copyable values");
      write(&x, sizeof x, offset_bytes);
    }
  }
  /// The variable as a T, "float", "std::array<float, 3>", of its own size. Throws ShapeError for another size.
  template <class T>
  T get() const {
    static_assert(std::is_trivially_copyable_v<T>);
    require_bytes(sizeof(T));
    T value;
    read(&value, sizeof value, 0);
    return value;
  }
  /// All of it. Throws ShapeError if its size is no multiple of T's.
  template <class T>
  std::vector<T> to_vector() const {
    static_assert(std::is_trivially_copyable_v<T>);
    require_multiple(sizeof(T));
    std::vector<T> values(bytes_ / sizeof(T));
    read(values.data(), bytes_, 0);
    return values;
  }
  void write(const void* from, std::size_t bytes, std::size_t offset_bytes = 0) const;
  void read(void* to, std::size_t bytes, std::size_t offset_bytes = 0) const;

 private:
  void require_bytes(std::size_t bytes) const;
  void require_multiple(std::size_t bytes) const;
  void require_room(const char* what, std::size_t bytes, std::size_t offset_bytes) const;

  Device device_;
  std::shared_ptr<const LoadedModule> module_;
  std::string name_;
  void* data_;
  std::size_t bytes_;
};

KernelArgument to_kernel_argument(const Global& global);

}  // namespace damo
