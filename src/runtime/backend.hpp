// Backend: what a kind of device must do. One object a device, owned by device_registry for the life of the process.
// It moves bytes and runs code; it knows nothing of arrays, ops or graphs. Everything here is thread-safe.
// Implementations: null/, cpu/, cuda/.
#pragma once
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <typeindex>
#include <utility>
#include <vector>

#include <damo/device.hpp>
#include <damo/kernel.hpp>

namespace damo {

class DataReport;
class MemoryPool;   // memory_pool.hpp
class PinnedPool;   // pinned_pool.hpp
class KernelCache;  // kernel/cache.hpp
class Dialect;      // kernel/dialect.hpp
class MatrixEngine;  // library/matrix_product.hpp
class ConvolutionEngine;  // library/convolution.hpp
class DenseSolver;   // library/dense_solver.hpp
class FourierEngine;  // library/fourier.hpp
class ReplayedWork;  // stream/work_log.hpp
class WorkLog;

enum class SourceKind : std::uint8_t {
  kGenerated,  ///< by emit: the back end's dialect
  kCudaC       ///< a user's
};

/// How a user's CUDA C is compiled: ModuleOptions in a form that each compiler turns into its own flags. Those that do
/// not concern a compiler are ignored by it.
struct CompileOptions {
  std::vector<std::pair<std::string, std::string>> defines;
  std::vector<std::string> include_directories;
  std::string standard;      ///< "c++17"; empty: the compiler's usual
  bool fast_math = false;
  bool contract = true;  ///< products and the sums that they go into may be one fused multiply-add; of generated text, too
  bool line_info = true;
  int max_registers = 0;     ///< 0: any number
  bool check = false;        ///< CPU: bounds of memory are checked as the kernel runs
  bool relocatable = false;  ///< GPU: code to be linked (Backend::link)

  /// For hashes and cache keys: equal options have equal texts.
  std::string text() const;
  friend bool operator==(const CompileOptions&, const CompileOptions&) = default;
};

/// Among a request's kernels: every __global__ function of the source that is no template.
inline constexpr const char* kAllKernels = "*";

/// One source to compile. Equal requests give equal code.
struct CompileRequest {
  std::string source;
  SourceKind kind = SourceKind::kGenerated;
  std::string file_name = "kernel.cu";  ///< as diagnostics should name it; in CUDA C part of the cache key
  std::vector<std::string> kernels;     ///< names that load() will be asked for; kAllKernels
  std::vector<std::string> flags;       ///< the compiler's own
  CompileOptions options = {};
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

/// One entry point of loaded code. A captured graph shares the ownership of the kernels in it.
class LoadedKernel : public std::enable_shared_from_this<LoadedKernel> {
 public:
  virtual ~LoadedKernel() = default;
  const std::string& name() const { return name_; }
  /// In order; nothing if they are unknown.
  const std::optional<std::vector<ParameterType>>& parameters() const { return parameters_; }
  /// What Backend::launch gets: this, unless it stands for a kernel yet to be compiled (PendingKernel).
  virtual const LoadedKernel& resolved() const { return *this; }
  /// Of blocks of so many threads, with so much dynamic shared memory a block.
  virtual Occupancy occupancy(int, std::size_t) const { return {1, 1.0}; }
  /// Clusters of so many blocks of so many threads, with so much dynamic shared memory a block, that the device holds at once; 0: unknown.
  virtual int resident_clusters(int, int, std::size_t) const { return 0; }
  /// Threads of a block that fill the device best.
  virtual int suggested_threads(std::size_t) const {
    return max_threads_per_block > 0 && max_threads_per_block < 256 ? max_threads_per_block : 256;
  }
  int registers = 0;    ///< a thread; 0 on a CPU
  int local_bytes = 0;  ///< spills and arrays, a thread
  std::size_t static_shared_bytes = 0;
  std::size_t max_shared_bytes = 0;  ///< a block, with static_shared_bytes; 0: as the device says
  std::size_t constant_bytes = 0;
  int max_threads_per_block = 0;
  int ptx_version = 0, binary_version = 0;  ///< 90 for compute_90, sm_90; 0: unknown
  bool is_checked = false;  ///< its accesses to memory are checked as it runs
  Backend* backend = nullptr;
  mutable std::atomic<int> block_1d = 0;  ///< Kernel::launch_1d's, once it is known
  mutable std::atomic<std::uint32_t> block_bytes = 0;  ///< of a kernel that Damo generates, which takes one struct: the size of that; 0: parameters() tells

 protected:
  std::string name_;
  std::optional<std::vector<ParameterType>> parameters_;
};

/// Code on a device; kernels share its ownership.
class LoadedModule {
 public:
  virtual ~LoadedModule() = default;
  /// Throws DeviceError naming the kernels there are.
  virtual std::shared_ptr<const LoadedKernel> kernel(const std::string& name) const = 0;
  /// Address and bytes of a __device__ or __constant__ variable; {null, 0} if there is none.
  virtual std::pair<void*, std::size_t> global(const std::string& name) const = 0;
  /// Those that kernel() knows, sorted; may be empty where nobody tells.
  virtual std::vector<std::string> kernel_names() const { return {}; }
};

/// One part of what Backend::link makes one module of.
struct CodePart {
  enum class Kind : std::uint8_t { kCompiled, kPtx, kCubin, kFatbin, kObject, kLibrary };
  Kind kind;  ///< kCompiled: what the compiler gave for a request with options.relocatable
  std::string name;
  std::span<const std::byte> bytes;
};

/// What a later layer keeps with a device until it is reset: the kernels of arithmetic on arrays.
class Companion {
 public:
  virtual ~Companion() = default;
};

/// Streams of one device as bits. The default stream has none: all memory is in its order.
using StreamSet = std::uint64_t;
inline constexpr StreamSet kAllStreams = ~StreamSet{0};

enum class CopyKind : std::uint8_t { kHostToDevice, kDeviceToHost, kDeviceToDevice };

/// rows times row_bytes, each side's rows a pitch apart.
struct RowsCopy {
  void* to;
  std::size_t to_pitch;
  const void* from;
  std::size_t from_pitch, row_bytes, rows;
};

/// Elements of 1, 2, 4 or 8 bytes, in rows a pitch apart.
struct RowsFill {
  void* to;
  std::size_t pitch;
  const void* element;
  std::size_t element_bytes, columns, rows;
};

/// What end_capture gives: it can be run again and again. What it uses is held by its owner (CaptureHolds).
class CapturedWork {
 public:
  virtual ~CapturedWork() = default;
  virtual void launch(void* stream) = 0;
  virtual std::size_t node_count() const = 0;
};

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
  /// Host memory. Null if there is none left.
  virtual void* allocate_pinned(std::size_t bytes, PinnedOptions options = {}) = 0;
  virtual void release_pinned(void* memory) noexcept = 0;
  /// Whether the driver copies it without staging, and so after the call has returned.
  virtual bool is_pinned(const void*) { return false; }
  virtual void register_host(void*, std::size_t, PinnedOptions) {}
  virtual void unregister_host(void*) noexcept {}
  /// The device's address of mapped host memory.
  virtual void* device_address(void* host) { return host; }
  virtual void* allocate_managed(std::size_t bytes) { return allocate(bytes); }
  virtual void prefetch(void*, std::size_t, bool /*to_host*/, void* /*stream*/) {}
  virtual void advise(void*, std::size_t, MemoryAdvice) {}
  /// In stream order. Host memory that is not pinned: returns when the host side has been read or written.
  virtual void copy(void* to, const void* from, std::size_t bytes, CopyKind kind, void* stream) = 0;
  /// Repeats an element of 1, 2, 4 or 8 bytes.
  virtual void fill(void* to, const void* element, std::size_t element_bytes, std::size_t count, void* stream) = 0;
  /// Here: row by row.
  virtual void copy_rows(const RowsCopy& copy, CopyKind kind, void* stream);
  virtual void fill_rows(const RowsFill& fill, void* stream);
  /// Between two devices of the same kind; other is not this.
  virtual void copy_peer(void* to, Backend& other, const void* from, std::size_t bytes, void* stream) = 0;

  // Memory for other processes. The text means something to open_shared of the same kind of device in another process.
  /// Memory that share() takes; null if there is none left.
  virtual void* allocate_shareable(std::size_t bytes) { return allocate(bytes); }
  virtual void release_shareable(void* memory) noexcept { release(memory); }
  /// Of the block that memory lies in, and memory's bytes from its beginning on. Throws DeviceError.
  virtual std::pair<std::string, std::size_t> share(void* memory);
  /// bytes: that the block must have. Throws DeviceError if it is gone.
  virtual void* open_shared(const std::string& text, std::size_t bytes);
  virtual void close_shared(void* /*memory*/) noexcept {}

  // Streams and events: opaque handles. Null is a valid stream: the default one.
  virtual void* create_stream(StreamOptions options = {}) = 0;
  virtual void destroy_stream(void* stream) noexcept = 0;
  virtual void* default_stream() = 0;
  virtual StreamPriorities stream_priorities() { return {}; }
  virtual void synchronize(void* stream) = 0;
  virtual void synchronize() = 0;
  virtual bool is_stream_done(void*) { return true; }
  /// The bits of a stream. 0: the default one, and every stream of a device whose streams run in the calling thread.
  virtual StreamSet stream_set(void* /*stream*/) const noexcept { return 0; }
  /// Later work of the default stream waits for what these streams have now: before memory that they use is given up
  /// or written again.
  virtual void join_streams(StreamSet) noexcept {}
  /// Later work of the default stream waits for what a stream of another device has now: when that read memory of this
  /// one. Here: waits on the host.
  virtual void wait_for_device(Backend& other, void* stream) { other.synchronize(stream); }
  /// Another library may give the stream work from now on.
  virtual void note_foreign_work(void* /*stream*/) noexcept {}
  /// Later work of other streams waits for what the default stream has now: when memory is handed out again.
  virtual void fork_streams() {}
  virtual void* create_event(EventOptions options = {}) = 0;
  virtual void destroy_event(void* event) noexcept = 0;
  virtual void record(void* event, void* stream) = 0;
  virtual void wait(void* stream, void* event) = 0;
  virtual void synchronize_event(void* event) = 0;
  virtual bool is_done(void* event) = 0;
  virtual double milliseconds(void* from, void* to) = 0;
  /// In stream order; the function throws nothing. Here: at once.
  virtual void add_callback(void* stream, std::function<void()> function);

  // Captures: CaptureScope (capture.hpp) calls these and knows which thread captures.
  virtual void begin_capture(void* stream);
  virtual std::unique_ptr<CapturedWork> end_capture(void* stream);
  virtual void abandon_capture(void* /*stream*/) noexcept {}

  /// The work of a log made ready to be given to the default stream again and again, by one call; null if that can't be done
  /// now. Throws DeviceError if there is work among it of which no graph can be made.
  virtual std::unique_ptr<ReplayedWork> prepare_replay(const WorkLog& log);
  /// Items from which on a replay is the quicker way; 0: never.
  std::atomic<int> least_replayed = 0;
  std::atomic<std::uint64_t> replays = 0;          ///< launched since the process began
  std::atomic<std::uint64_t> replayed_values = 0;  ///< kernels of replays whose arguments were set anew
  /// Gives the log's work to a stream that is captured.
  virtual void capture_work(const WorkLog& log, void* stream);

  /// Whether work of the stream may be measured now: not while anything is captured, and not with DAMO_TUNE=0.
  virtual bool may_measure(void* /*stream*/) const { return false; }
  /// Of one call of `work`, which gives work to the stream, on average over so many. Waits for the stream. Where work may be measured.
  virtual double measured_milliseconds(void* /*stream*/, int /*repeats*/, const std::function<void()>& /*work*/) { return 0; }
  /// Grows where a kernel's schedule can be measured, or has been (schedule_trial.hpp): the next call of a Function goes to the device at once.
  std::atomic<std::uint64_t> schedules = 0;

  /// Makes the device anew: see Device::reset. Here: nothing is lost.
  virtual void reset() {}
  /// Grows by one with each reset that loses what there was. What is made of the device remembers it.
  std::uint32_t generation() const { return generation_.load(std::memory_order_acquire); }

  // Code.
  virtual const Compiler& compiler() = 0;
  virtual const Dialect& dialect() = 0;
  /// bytes as the compiler gave them; on a GPU also PTX with its final NUL, a cubin or a fatbin. Throws DeviceError.
  virtual std::shared_ptr<const LoadedModule> load(std::span<const std::byte> bytes, const std::string& name) = 0;
  /// Bytes for load(). Throws DeviceError, also where the device has no linker.
  virtual std::vector<std::byte> link(std::span<const CodePart> parts, const CompileOptions& options);
  /// arguments[i] points at the i-th argument's value. The caller has checked limits (check_launch). The hot path.
  virtual void launch(const LoadedKernel& kernel, const LaunchConfig& config, void* const* arguments, void* stream) = 0;
  /// A kernel that is part of the back end and needs no compiling; null if there is none of that name, as everywhere here.
  virtual std::shared_ptr<const LoadedKernel> native_kernel(std::string_view /*name*/) { return nullptr; }
  /// The library for matrix products, opened now; null if there is none. MatrixLibrary asks once.
  virtual std::unique_ptr<MatrixEngine> make_matrix_engine();
  /// The library for convolutions, opened now; null if there is none. ConvolutionLibrary asks once.
  virtual std::unique_ptr<ConvolutionEngine> make_convolution_engine();
  /// The library that factors matrices, opened now. Throws DeviceError where there is none. SolverLibrary asks once.
  virtual std::unique_ptr<DenseSolver> make_dense_solver();
  /// What computes Fourier transforms, opened now. Throws DeviceError where there is nothing. FourierLibrary asks once.
  virtual std::unique_ptr<FourierEngine> make_fourier_engine();

  MemoryPool& pool() { return *pool_; }
  PinnedPool& pinned_pool() { return *pinned_pool_; }
  KernelCache& cache() { return *cache_; }

  /// The device's companion of a kind, made by the first call and, as its kernels are lost then, anew after a reset. The
  /// caller holds it, as another thread may reset the device meanwhile.
  template <std::derived_from<Companion> Kind>
  std::shared_ptr<Kind> companion() {
    return std::static_pointer_cast<Kind>(companion(
        typeid(Kind), [](Backend& device) -> std::shared_ptr<Companion> { return std::make_shared<Kind>(device); }));
  }

  std::atomic<std::uint64_t> launches = 0;  ///< by kernels since the process began; what compare() counts
  /// Seconds after which a CUDA C kernel is stopped; 0: none. DAMO_KERNEL_TIME_LIMIT at first. A GPU can't do it.
  std::atomic<double> kernel_time_limit = 0;
  /// Streams with work since they were joined last of which nobody knows what memory it uses: kernels (which follow
  /// pointers), graphs, callbacks, other libraries. Copies and fills are noted at the Buffer instead.
  std::atomic<StreamSet> streams_at_large = 0;
  /// The stream was given such work. After it was given: a join in between clears the bits before it looks at the stream.
  void note_work(void* stream) noexcept {
    if (stream == nullptr) [[likely]]
      return;
    const StreamSet set = stream_set(stream);
    if ((streams_at_large.load(std::memory_order_relaxed) & set) != set) streams_at_large.fetch_or(set);
  }
  bool notes_use = false;  ///< allocate() gives HostBlocks, whose use the pool notes
  std::atomic<double> copy_bytes_per_second = 0;  ///< as Device::measure_copy found it; 0: not yet
  std::atomic<int> captures = 0;                  ///< in progress, of all threads; what makes launches look closer

  /// What a callback on the stream threw, for the next wait.
  void report_callback(void* stream, std::exception_ptr error) noexcept;
  /// Throws what was reported of the stream; of any, all being true. Forgets it.
  void throw_reported(void* stream, bool all);

  /// Whoever waits for the device from now on looks whether kernels wrote there.
  void watch(std::shared_ptr<DataReport> report);
  /// After a wait: throws IndexError for what a kernel found in its data.
  void throw_found();

 protected:
  /// Drops what the pools and the kernel cache hold of the device that was: a reset's middle.
  void begin_generation();

 private:
  std::shared_ptr<Companion> companion(std::type_index kind, std::shared_ptr<Companion> (*make)(Backend&));

  std::string name_;
  DeviceKind kind_;
  std::unique_ptr<MemoryPool> pool_;
  std::unique_ptr<PinnedPool> pinned_pool_;
  std::unique_ptr<KernelCache> cache_;
  std::atomic<std::uint32_t> generation_ = 0;
  std::atomic<bool> has_reports_ = false, has_watched_ = false;
  std::mutex reports_mutex_;
  std::vector<std::pair<void*, std::exception_ptr>> reports_;  // by stream
  std::vector<std::shared_ptr<DataReport>> watched_;
  std::mutex companions_mutex_;
  std::map<std::type_index, std::shared_ptr<Companion>> companions_;
  mutable std::once_flag limits_known_;
  mutable DeviceProperties limits_;
};

/// Throws DeviceError, saying that what ("an Array") was made before the device was reset.
[[noreturn]] void refuse_lost(const Backend& backend, const std::string& what);

/// Throws DeviceError naming the limit that config breaks.
void check_launch(const LoadedKernel& kernel, const LaunchConfig& config);

}  // namespace damo
