// Device, Stream, Event: where arrays live and kernels run. "cpu", "cuda:0", "cuda:1", ... and "null", which runs
// nothing (for tests). A device is initialised at its first use. Work on one stream runs in order; on the CPU every
// stream runs in the calling thread. Handles are cheap to copy and safe to use from several threads.
// See tests/runtime/device_test.cpp.
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
  void reset_peak() const;
  /// Gives cached memory back to the system.
  void free_cache() const;
  /// Allocations beyond it fail with OutOfMemoryError; 0: none.
  void set_memory_limit(std::size_t bytes) const;

  /// A CUDA C kernel that takes longer on the CPU is stopped and its launch throws DeviceError, with the line where the
  /// kernel stood; what it wrote until then stays. 0: no limit. At first what DAMO_KERNEL_TIME_LIMIT says. The seconds of
  /// one launch count, not its threads'. A kernel on a GPU can't be stopped: there this logs one line.
  void set_kernel_time_limit(double seconds) const;

  /// Waits for all work on all streams. A fault of an earlier kernel is thrown here as DeviceError.
  void synchronize() const;
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

class Event;

class Stream {
 public:
  /// A new stream of the device.
  explicit Stream(Device device);
  /// The stream that everything uses unless told otherwise.
  static Stream default_of(Device device);

  Device device() const;
  void synchronize() const;
  /// Later work waits for the event.
  void wait(const Event& event) const;
  /// CUstream on a GPU, null on the CPU.
  void* handle() const;

 private:
  struct Data;
  explicit Stream(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  std::shared_ptr<const Data> data_;
};

/// A point in a stream's work.
class Event {
 public:
  explicit Event(Device device);
  void record(const Stream& stream) const;
  void synchronize() const;
  bool is_done() const;
  /// Milliseconds from earlier to this; waits for neither. Throws DeviceError unless both were recorded and are done.
  double milliseconds_since(const Event& earlier) const;
  void* handle() const;

 private:
  struct Data;
  std::shared_ptr<const Data> data_;
};

/// Host memory that a GPU copies to and from without staging. Plain memory where there is no GPU.
class PinnedMemory {
 public:
  explicit PinnedMemory(std::size_t bytes, Device device = Device());
  PinnedMemory(PinnedMemory&& other) noexcept;
  PinnedMemory& operator=(PinnedMemory&& other) noexcept;
  ~PinnedMemory();
  void* data() const { return data_; }
  std::size_t size() const { return bytes_; }

 private:
  Backend* backend_ = nullptr;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace damo
