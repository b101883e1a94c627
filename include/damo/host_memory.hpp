// Host memory that a GPU can reach: PinnedMemory (allocated), RegisteredMemory (yours, pinned for a while) and
// ManagedMemory (moved between host and device by the driver). On the CPU all are plain memory, and an address on the
// device is the address on the host, so a program needs no second path.
//
//   PinnedMemory staging(bytes, device);
//   std::span<float> values = staging.as<float>();
//   memory.copy_from_host(values, stream);             // returns at once; plain memory would be staged first
//
// PinnedMemory comes from a pool of the device (Device::pinned_memory(), Device::free_cache()): pinning a page costs
// microseconds. A block is handed out again only when the device has done what it had to do when the block was given
// up. See tests/runtime/memory/host_memory_test.cpp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>

#include <damo/device.hpp>

namespace damo {

class Stream;
class KernelArgument;

struct PinnedOptions {
  bool mapped = false;          ///< kernels may use it in place: device_data()
  bool write_combined = false;  ///< faster for the device to read, very slow for the host to read
};

class PinnedMemory {
 public:
  /// Contents are arbitrary. Throws OutOfMemoryError.
  explicit PinnedMemory(std::size_t bytes, Device device = Device(), PinnedOptions options = {});
  PinnedMemory(PinnedMemory&& other) noexcept;
  PinnedMemory& operator=(PinnedMemory&& other) noexcept;
  ~PinnedMemory();

  /// Null for 0 bytes. Throws DeviceError if the device was reset since.
  void* data() const;
  std::size_t size() const { return bytes_; }  ///< bytes
  Device device() const { return Device(backend_); }
  /// Whole elements of T that fit.
  template <class T>
  std::span<T> as() const {
    return {static_cast<T*>(data()), bytes_ / sizeof(T)};
  }
  /// Where kernels find it. Throws DeviceError unless it was made with .mapped.
  void* device_data() const;

 private:
  void release() noexcept;
  Backend* backend_ = nullptr;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  PinnedOptions options_;
  std::uint32_t generation_ = 0;
};

/// Host memory of the caller's, pinned as long as this lives; it must outlive this. Whole pages are pinned: costs about
/// a microsecond for 10 KiB.
class RegisteredMemory {
 public:
  /// Throws DeviceError if a part of it is pinned already.
  RegisteredMemory(void* data, std::size_t bytes, Device device = Device(), PinnedOptions options = {});
  /// A vector, array or span.
  template <class Range>
  requires(std::ranges::contiguous_range<Range&>&& std::ranges::sized_range<Range&>) explicit RegisteredMemory(
      Range& range, Device device = Device(), PinnedOptions options = {})
      : RegisteredMemory(std::ranges::data(range), std::ranges::size(range) * sizeof(*std::ranges::data(range)), device,
                         options) {}
  RegisteredMemory(const RegisteredMemory&) = delete;
  RegisteredMemory& operator=(const RegisteredMemory&) = delete;
  /// Waits for the device, which may still read it.
  ~RegisteredMemory();

  void* data() const { return data_; }
  std::size_t size() const { return bytes_; }
  Device device() const { return Device(backend_); }
  /// Where kernels find it. Throws DeviceError unless it was made with .mapped.
  void* device_data() const;

 private:
  bool is_known_to_kernels() const;
  Backend* backend_;
  void* data_;
  std::size_t bytes_;
  PinnedOptions options_;
  std::uint32_t generation_;
};

enum class MemoryAdvice : std::uint8_t {
  kReadMostly,    ///< each side may keep a copy
  kPreferDevice,  ///< stays on the device, the host reaches over
  kPreferHost,    ///< stays in host memory, the device reaches over
};

/// One address for host and device; the driver moves pages to whoever touches them. The host waits for the device
/// (Stream::synchronize) before it touches what a kernel uses.
class ManagedMemory {
 public:
  /// Throws DeviceError where the device has no managed memory, OutOfMemoryError.
  explicit ManagedMemory(std::size_t bytes, Device device = Device());
  ManagedMemory(ManagedMemory&& other) noexcept;
  ManagedMemory& operator=(ManagedMemory&& other) noexcept;
  /// Waits for the device, which may still use it.
  ~ManagedMemory();

  /// Throws DeviceError if the device was reset since.
  void* data() const;
  std::size_t size() const { return bytes_; }
  Device device() const { return Device(backend_); }
  template <class T>
  std::span<T> as() const {
    return {static_cast<T*>(data()), bytes_ / sizeof(T)};
  }
  /// Moves it ahead of use, in stream order; to the device or to the host. Only a hint: nothing happens where the
  /// device cannot.
  void prefetch(const Stream& stream) const;
  void prefetch_to_host(const Stream& stream) const;
  void advise(MemoryAdvice advice) const;

 private:
  void release() noexcept;
  Backend* backend_ = nullptr;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint32_t generation_ = 0;
};

// As arguments of kernels: their addresses on the device. Pinned and registered memory must be mapped.
KernelArgument to_kernel_argument(const PinnedMemory& memory);
KernelArgument to_kernel_argument(const RegisteredMemory& memory);
KernelArgument to_kernel_argument(const ManagedMemory& memory);

}  // namespace damo
