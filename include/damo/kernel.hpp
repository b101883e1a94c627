// Kernel: compiled device code, ready to launch. From ThunkContext::compile (thunk.hpp). Cheap to copy; loaded as long
// as a copy lives. A launch's arguments are checked against the kernel's own parameter sizes where the compiler tells
// them (the CPU's and CUDA's do).
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <damo/array.hpp>
#include <damo/device.hpp>

namespace damo {

class LoadedKernel;  // src/runtime/backend.hpp

/// Extents along three axes; those left out are 1: {512} is {512, 1, 1}.
struct Dim3 {
  std::int64_t x = 1, y = 1, z = 1;

  constexpr std::int64_t operator[](int axis) const { return axis == 0 ? x : axis == 1 ? y : z; }
  constexpr std::int64_t& operator[](int axis) { return axis == 0 ? x : axis == 1 ? y : z; }
  constexpr std::int64_t count() const { return x * y * z; }
  friend constexpr bool operator==(const Dim3&, const Dim3&) = default;
};

/// CUDA's terms: a grid of blocks of threads.
struct LaunchConfig {
  Dim3 grid;
  Dim3 block;
  std::size_t shared_bytes = 0;
};

/// One argument: an Array passes the address of its first element, a number its bytes.
class KernelArgument {
 public:
  KernelArgument(const Array& array) : bytes_(sizeof(void*)) { *reinterpret_cast<void**>(value_) = array.data(); }
  template <class T>
    requires(std::is_trivially_copyable_v<T> && sizeof(T) <= 64 && !std::is_array_v<T>)
  KernelArgument(const T& value) : bytes_(sizeof(T)) {
    *reinterpret_cast<T*>(value_) = value;
  }
  /// A value of the Scalar's dtype.
  KernelArgument(const Scalar& value) : bytes_(itemsize(value.dtype())) { value.store(value_); }
  void* value() const { return const_cast<std::byte*>(value_); }
  std::size_t bytes() const { return bytes_; }

 private:
  alignas(16) std::byte value_[64];
  std::size_t bytes_;
};

class Kernel {
 public:
  Kernel() = default;
  Kernel(std::shared_ptr<const LoadedKernel> loaded, Stream stream) : loaded_(std::move(loaded)), stream_(std::move(stream)) {}

  explicit operator bool() const { return loaded_ != nullptr; }
  const std::string& name() const;

  /// Throws DeviceError for a launch beyond the device's limits, naming the limit; TypeError for arguments that do not
  /// fit the kernel's parameters.
  template <class... Arguments>
  void launch(const LaunchConfig& config, const Arguments&... arguments) const {
    const std::array<KernelArgument, sizeof...(Arguments)> values = {KernelArgument(arguments)...};
    launch_with(config, values.data(), values.size());
  }
  /// The same with as many arguments as are known only at run time.
  void launch_arguments(const LaunchConfig& config, std::span<const KernelArgument> arguments) const {
    launch_with(config, arguments.data(), arguments.size());
  }
  /// One thread for each of count elements, blocks of 512; nothing for count 0.
  template <class... Arguments>
  void launch_1d(std::int64_t count, const Arguments&... arguments) const {
    if (count == 0) return;
    launch({.grid = {(count + 511) / 512}, .block = {512}}, arguments...);
  }

 private:
  void launch_with(const LaunchConfig& config, const KernelArgument* arguments, std::size_t count) const;
  std::shared_ptr<const LoadedKernel> loaded_;
  std::optional<Stream> stream_;
};

}  // namespace damo
