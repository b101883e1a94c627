// Device: where arrays live and kernels run. "cpu", "cuda:0", "cuda:1", ... and "null", which runs nothing (for tests).
// A device is initialised at its first use. Handles are cheap to copy and safe to use from several threads. Streams,
// events and host memory for copies have headers of their own, which this one brings along.
//
// A kernel that faults on a GPU (an illegal address, a trap) loses the device's context: every later call on the device
// fails and says so. With DAMO_SYNC=1 in the environment each launch waits for its kernel, and the fault is thrown by
// the launch that caused it. Whoever goes on after a fault starts a new process: drivers of today (580) give one that
// had a fault no working context again. reset() asks the driver for one and throws where it refuses; a sound device it
// makes anew.
//
// On the CPU a kernel's fault is an error of its launch and loses nothing; docs/errors.md tells how.
//
// See tests/runtime/device_test.cpp and tests/runtime/reset_test.cpp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace damo {

class Backend;  // src/runtime/backend.hpp

enum class DeviceKind : std::uint8_t { kCpu, kCuda, kNull };

struct MemoryStatistics {
  std::size_t in_use_bytes = 0;   ///< held by arrays
  std::size_t cached_bytes = 0;   ///< kept for the next allocation
  std::size_t peak_bytes = 0;     ///< greatest in_use since the last reset_peak
  std::size_t limit_bytes = 0;    ///< 0: none
  std::uint64_t allocations = 0;  ///< by arrays
  std::uint64_t device_allocations = 0;  ///< that the cache could not serve
};

struct DeviceProperties {
  std::string description;          ///< "NVIDIA H200", or the CPU's model
  std::string architecture;         ///< "sm_90", "x86-64 avx512"
  std::size_t memory_bytes = 0;     ///< of the device
  std::size_t free_memory_bytes = 0;
  int multiprocessors = 0;          ///< CPU: worker threads
  int max_threads_per_block = 0;
  std::int64_t max_grid[3] = {0, 0, 0};
  std::int64_t max_block[3] = {0, 0, 0};
  std::size_t max_shared_bytes = 0; ///< dynamic and static together, of one block
  double copy_bytes_per_second = 0; ///< what a large copy reaches (reads and writes counted); 0: not measured yet
};

class Device {
 public:
  /// The default device: DAMO_DEVICE if set, else the first GPU, else the CPU (with one log line saying so).
  Device();
  /// "cpu", "cuda" (the first), "cuda:1", "null". Throws DeviceError naming what there is and how to get the rest.
  explicit Device(std::string_view name);
  explicit Device(Backend* backend) : backend_(backend) {}

  const std::string& name() const;
  DeviceKind kind() const;
  bool is_host() const { return kind() != DeviceKind::kCuda; }  ///< its memory is the host's
  DeviceProperties properties() const;

  MemoryStatistics memory() const;
  /// Of the host memory that PinnedMemory holds and keeps for this device; its limit is none.
  MemoryStatistics pinned_memory() const;
  void reset_peak() const;
  /// Gives cached memory, the device's and pinned, back to the system. Waits for the device.
  void free_cache() const;
  /// Allocations beyond it fail with OutOfMemoryError; 0: none.
  void set_memory_limit(std::size_t bytes) const;

  /// A CUDA C kernel that takes longer on the CPU is stopped and its launch throws DeviceError, with the line where the
  /// kernel stood; what it wrote until then stays. 0: no limit. At first what DAMO_KERNEL_TIME_LIMIT says. The seconds of
  /// one launch count, not its threads'. A kernel on a GPU can't be stopped: there this logs one line.
  void set_kernel_time_limit(double seconds) const;

  /// Waits for all work on all streams. A fault of an earlier kernel is thrown here as DeviceError, and so is what a
  /// callback threw.
  void synchronize() const;
  /// Makes a GPU's context anew, to give everything back. Every Array, DeviceMemory, PinnedMemory, Stream, Event, module,
  /// kernel and compiled function of the device is lost: destroying it is harmless, using it throws DeviceError. Kernels
  /// come back from the disk cache. Other libraries of the process that use the GPU lose what they have too. No other
  /// thread may use the device meanwhile. Throws DeviceError if the driver gives no context, as after a fault: then only a
  /// new process can use it. The CPU loses nothing: Damo's signal handlers go in front of those installed meanwhile.
  void reset() const;
  /// Copies 256 MiB once and remembers bytes per second; takes a few ms.
  double measure_copy() const;

  Backend& backend() const { return *backend_; }
  friend bool operator==(Device a, Device b) { return a.backend_ == b.backend_; }

 private:
  Backend* backend_;
};

Device cpu();
Device cuda(int index = 0);
/// Every usable device, GPUs first. Never throws: a driver that fails is reported by `damo doctor`.
std::vector<Device> devices();

}  // namespace damo

// What goes with a device; they include this header themselves.
#include <damo/event.hpp>
#include <damo/host_memory.hpp>
#include <damo/stream.hpp>
