// Backend: what a kind of device must do. One object a device, owned by device_registry for the life of the process.
// It moves bytes and runs code; it knows nothing of arrays, ops or graphs. Everything here is thread-safe.
// Implementations: null/, cpu/, cuda/.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <damo/device.hpp>
#include <damo/kernel.hpp>

namespace damo {

class MemoryPool;   // memory_pool.hpp
class KernelCache;  // kernel/cache.hpp
class Dialect;      // kernel/dialect.hpp

enum class SourceKind : std::uint8_t {
  kGenerated,  ///< by emit: the back end's dialect
  kCudaC       ///< a user's
};

/// One source to compile. Equal requests give equal code.
struct CompileRequest {
  std::string source;
  SourceKind kind = SourceKind::kGenerated;
  std::string file_name = "kernel.cu";  ///< as diagnostics should name it; no part of the cache key
  std::vector<std::string> kernels;     ///< names that load() will be asked for
  std::vector<std::string> flags;
};

struct CompiledCode {
  std::vector<std::byte> bytes;  ///< cubin, PTX or ELF object, with whatever load() needs besides
  std::string log;               ///< warnings
};

/// Touches no device.
class Compiler {
 public:
  virtual ~Compiler() = default;
  /// Version, target and whatever else changes the code: part of every cache key. Must not open the compiler itself.
  virtual const std::string& stamp() const = 0;
  /// Throws CompileError with log and numbered source.
  virtual CompiledCode compile(const CompileRequest& request) const = 0;
  /// How many compiles may usefully run at once.
  virtual int threads() const = 0;
};

/// One entry point of loaded code.
class LoadedKernel {
 public:
  virtual ~LoadedKernel() = default;
  const std::string& name() const { return name_; }
  /// Sizes in bytes of the parameters in order; empty if unknown.
  const std::vector<std::size_t>& parameter_bytes() const { return parameter_bytes_; }
  /// What Backend::launch gets: this, unless it stands for a kernel yet to be compiled (PendingKernel).
  virtual const LoadedKernel& resolved() const { return *this; }
  int registers = 0;    ///< a thread; 0 on a CPU
  int local_bytes = 0;  ///< spills and arrays, a thread
  std::size_t static_shared_bytes = 0;
  int max_threads_per_block = 0;
  Backend* backend = nullptr;

 protected:
  std::string name_;
  std::vector<std::size_t> parameter_bytes_;
};

/// Code on a device; kernels share its ownership.
class LoadedModule {
 public:
  virtual ~LoadedModule() = default;
  /// Throws DeviceError naming the kernels there are.
  virtual std::shared_ptr<const LoadedKernel> kernel(const std::string& name) const = 0;
  /// Address and bytes of a __device__ or __constant__ variable; {null, 0} if there is none.
  virtual std::pair<void*, std::size_t> global(const std::string& name) const = 0;
};

enum class CopyKind : std::uint8_t { kHostToDevice, kDeviceToHost, kDeviceToDevice };

class Backend {
 public:
  Backend(std::string name, DeviceKind kind);
  virtual ~Backend();
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  const std::string& name() const { return name_; }
  DeviceKind kind() const { return kind_; }
  virtual DeviceProperties properties() const = 0;
  /// properties() as they were at the first call: for what does not change, the limits of a launch. Cheap.
  const DeviceProperties& limits() const;

  // Memory. allocate gives null if there is none left and throws DeviceError for anything else; addresses are
  // 256-aligned (CPU: 64). release waits for no stream: MemoryPool sees to that.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  virtual void* allocate_pinned(std::size_t bytes) = 0;
  virtual void release_pinned(void* memory) noexcept = 0;
  /// In stream order. Host memory that is not pinned: returns when the host side has been read or written.
  virtual void copy(void* to, const void* from, std::size_t bytes, CopyKind kind, void* stream) = 0;
  /// Repeats an element of 1, 2, 4 or 8 bytes.
  virtual void fill(void* to, const void* element, std::size_t element_bytes, std::size_t count, void* stream) = 0;
  /// Between two devices of the same kind; other is not this.
  virtual void copy_peer(void* to, Backend& other, const void* from, std::size_t bytes, void* stream) = 0;

  // Streams and events: opaque handles. Null is a valid stream: the default one.
  virtual void* create_stream() = 0;
  virtual void destroy_stream(void* stream) noexcept = 0;
  virtual void* default_stream() = 0;
  virtual void synchronize(void* stream) = 0;
  virtual void synchronize() = 0;
  virtual void* create_event() = 0;
  virtual void destroy_event(void* event) noexcept = 0;
  virtual void record(void* event, void* stream) = 0;
  virtual void wait(void* stream, void* event) = 0;
  virtual void synchronize_event(void* event) = 0;
  virtual bool is_done(void* event) = 0;
  virtual double milliseconds(void* from, void* to) = 0;

  // Code.
  virtual const Compiler& compiler() = 0;
  virtual const Dialect& dialect() = 0;
  /// bytes as the compiler gave them. Throws DeviceError.
  virtual std::shared_ptr<const LoadedModule> load(std::span<const std::byte> bytes, const std::string& name) = 0;
  /// arguments[i] points at the i-th argument's value. The caller has checked limits (check_launch). The hot path.
  virtual void launch(const LoadedKernel& kernel, const LaunchConfig& config, void* const* arguments, void* stream) = 0;

  MemoryPool& pool() { return *pool_; }
  KernelCache& cache() { return *cache_; }

  std::atomic<std::uint64_t> launches = 0;  ///< by kernels since the process began; what compare() counts
  /// Seconds after which a CUDA C kernel is stopped; 0: none. DAMO_KERNEL_TIME_LIMIT at first. A GPU can't do it.
  std::atomic<double> kernel_time_limit = 0;
  std::atomic<double> copy_bytes_per_second = 0;  ///< as Device::measure_copy found it; 0: not yet

 private:
  std::string name_;
  DeviceKind kind_;
  std::unique_ptr<MemoryPool> pool_;
  std::unique_ptr<KernelCache> cache_;
  mutable std::once_flag limits_known_;
  mutable DeviceProperties limits_;
};

/// Throws DeviceError naming the limit that config breaks.
void check_launch(const LoadedKernel& kernel, const LaunchConfig& config);

}  // namespace damo
