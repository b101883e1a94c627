// CudaBackend: one GPU through the CUDA driver. It works in the GPU's primary context, so that its memory and streams
// are those of the CUDA runtime and of libraries built on it. The context is made at the first use of the device and
// bound to each thread that calls; a thread that has it bound pays one look (about 6 ns). reset() makes it anew: what
// was made in the old one knows its generation and leaves the driver alone.
//
// Streams are "blocking" ones: they wait for work on CUDA's legacy default stream and it waits for them, so code of
// other libraries that knows nothing of Damo's streams is still ordered with Damo's.
//
// context.cpp makes, binds and resets the context; memory.cpp, host_memory.cpp, stream.cpp, capture.cpp, launch.cpp hold
// what their names say; backend.cpp the rest. See tests/runtime/cuda/.
#pragma once
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>

#include "runtime/backend.hpp"
#include "runtime/cuda/driver.hpp"
#include "runtime/cuda/nvrtc.hpp"
#include "runtime/stream/capture.hpp"
#include "runtime/stream/work_log.hpp"

namespace damo::cuda_backend {

class CudaKernel;
struct Callback;  // stream.cpp

inline CUdeviceptr address(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }

/// What keeps something of its own for each stream of a device, as a library's handles are. CudaBackend tells all that have called
/// watch_streams(), from whatever thread captures or destroys a stream, with the device's context bound.
class StreamWatcher {
 public:
  virtual ~StreamWatcher() = default;
  /// What is made for the stream is better made now: during a capture a library may not be able to.
  virtual void before_capture(CUstream stream) noexcept = 0;
  /// Nothing may name the stream from now on.
  virtual void before_destruction(CUstream stream) noexcept = 0;
};

class CudaBackend : public Backend {
 public:
  /// Throws DeviceError if there is no such GPU. Makes no context.
  explicit CudaBackend(int index);

  DeviceProperties properties() const override;

  void* allocate(std::size_t bytes) override;
  void release(void* memory) noexcept override;
  void* allocate_pinned(std::size_t bytes, PinnedOptions options = {}) override;
  void release_pinned(void* memory) noexcept override;
  /// 90 for compute capability 9.0.
  int architecture() const { return architecture_; }
  bool is_pinned(const void* memory) override;
  void register_host(void* memory, std::size_t bytes, PinnedOptions options) override;
  void unregister_host(void* memory) noexcept override;
  void* device_address(void* host) override;
  void* allocate_managed(std::size_t bytes) override;
  void prefetch(void* memory, std::size_t bytes, bool to_host, void* stream) override;
  void advise(void* memory, std::size_t bytes, MemoryAdvice advice) override;
  void copy(void* to, const void* from, std::size_t bytes, CopyKind kind, void* stream) override;
  void fill(void* to, const void* element, std::size_t element_bytes, std::size_t count, void* stream) override;
  void copy_rows(const RowsCopy& copy, CopyKind kind, void* stream) override;
  void fill_rows(const RowsFill& fill, void* stream) override;
  void copy_peer(void* to, Backend& other, const void* from, std::size_t bytes, void* stream) override;
  std::pair<std::string, std::size_t> share(void* memory) override;
  void* open_shared(const std::string& text, std::size_t bytes) override;
  void close_shared(void* memory) noexcept override;

  void* create_stream(StreamOptions options = {}) override;
  void destroy_stream(void* stream) noexcept override;
  void* default_stream() override;
  void synchronize(void* stream) override;
  void synchronize() override;
  StreamPriorities stream_priorities() override;
  bool is_stream_done(void* stream) override;
  StreamSet stream_set(void* stream) const noexcept override;
  void join_streams(StreamSet streams) noexcept override;
  void wait_for_device(Backend& other, void* stream) override;
  void note_foreign_work(void* stream) noexcept override;
  void fork_streams() override;
  void* create_event(EventOptions options = {}) override;
  void destroy_event(void* event) noexcept override;
  void record(void* event, void* stream) override;
  void wait(void* stream, void* event) override;
  void synchronize_event(void* event) override;
  bool is_done(void* event) override;
  double milliseconds(void* from, void* to) override;
  void add_callback(void* stream, std::function<void()> function) override;
  void begin_capture(void* stream) override;
  std::unique_ptr<CapturedWork> end_capture(void* stream) override;
  void abandon_capture(void* stream) noexcept override;

  std::unique_ptr<ReplayedWork> prepare_replay(const WorkLog& log) override;
  /// Whether the calling thread is doing that.
  static bool captures_replay();
  /// For such a capture; not owned if somebody waits for the device, or captures, now.
  std::unique_lock<std::shared_mutex> lock_replay_captures() { return {replay_captures_, std::try_to_lock}; }
  /// For the owner of that lock, one for a capture and another for one within it. Kept: what libraries have for each stream stays good for the next capture.
  CUstream replay_stream(bool within);
  bool is_capturing(CUstream stream) const noexcept;
  /// Until unwatch_streams(). A watcher may not call either while it is told of a stream.
  void watch_streams(StreamWatcher* watcher);
  void unwatch_streams(StreamWatcher* watcher) noexcept;
  void tell_of_capture(CUstream stream) noexcept;

  void launch_graph(CUgraphExec graph, void* stream);
  /// Kernels of a replay that was launched: for error texts.
  void remember(const WorkLog& log) const;

  /// tuning.cpp.
  bool may_measure(void* stream) const override;
  double measured_milliseconds(void* stream, int repeats, const std::function<void()>& work) override;

  void reset() override;

  const Compiler& compiler() override;
  const Dialect& dialect() override;
  std::shared_ptr<const LoadedModule> load(std::span<const std::byte> bytes, const std::string& name) override;
  /// linker.cpp.
  std::vector<std::byte> link(std::span<const CodePart> parts, const CompileOptions& options) override;
  void launch(const LoadedKernel& kernel, const LaunchConfig& config, void* const* arguments, void* stream) override;

  std::unique_ptr<MatrixEngine> make_matrix_engine() override;
  std::unique_ptr<ConvolutionEngine> make_convolution_engine() override;
  std::unique_ptr<DenseSolver> make_dense_solver() override;
  std::unique_ptr<FourierEngine> make_fourier_engine() override;

  const Driver& driver() const { return driver_; }
  /// That a multiprocessor can hold at once.
  int threads_per_multiprocessor() const;
  /// Makes the device's context the calling thread's. Another library may have bound its own since the last call, so
  /// every call looks.
  void bind() const {
    CUcontext current = nullptr;
    const CUresult result = driver_.ctx_get_current(&current);
    if (result != CUDA_SUCCESS || !current || current != context_.load(std::memory_order_acquire)) [[unlikely]]
      bind_slowly();
  }
  /// For what must not throw: whether it worked. Makes no context.
  bool bind_quietly() const noexcept;

  /// As the free functions; a kernel's fault comes with the names of the last kernels launched.
  [[noreturn]] void fail(CUresult result, const char* call, std::string_view detail = {}) const;
  void check(CUresult result, const char* call) const {
    if (result != CUDA_SUCCESS) [[unlikely]]
      fail(result, call);
  }


 private:
  void bind_slowly() const;
  void make_context() const;
  void confirm_context();
  int attribute(CUdevice_attribute attribute) const;
  /// Of a stream that work is given to: the default one is refused in a thread that captures.
  CUstream stream_of(void* stream) const {
    if (is_default(stream)) {
      enter_default_stream(*this);
      return static_cast<CUstream>(default_stream_);
    }
    return static_cast<CUstream>(stream);
  }
  bool is_default(const void* stream) const { return !stream || stream == default_stream_; }
  void order(CUstream earlier, CUstream later) noexcept;
  void collect_callbacks() noexcept;
  void remember(const CudaKernel& kernel) const;
  std::string recent_kernels() const;
  [[noreturn]] void fail_launch(CUresult result, const LoadedKernel& kernel, const LaunchConfig& config) const;
  void wait_for_launch(const LoadedKernel& kernel, const LaunchConfig& config, CUstream stream) const;
  void fill_words(CUdeviceptr to, const std::uint32_t* words, std::size_t count, CUstream stream);
  void enable_peer_access(CudaBackend& other);

  const Driver& driver_;
  CUdevice device_ = 0;
  int architecture_ = 0;
  const bool waits_for_launches_;  // DAMO_SYNC=1
  // Made together at the first use and by reset(); never given back: the process's other libraries share the context,
  // and at its end the driver may be gone before this object is.
  mutable std::mutex context_mutex_;
  mutable std::atomic<CUcontext> context_{nullptr};
  mutable void* default_stream_ = nullptr;
  // Streams besides the default one, and an event to order them with it.
  mutable std::mutex streams_mutex_;
  std::map<CUstream, StreamSet> streams_;
  std::atomic<int> stream_count_ = 0;
  std::atomic<StreamSet> foreign_streams_ = 0;  // whose handle the program has: at large for good
  CUevent order_event_ = nullptr;
  std::array<CUstream, 2> replay_streams_{};
  std::mutex watchers_mutex_;
  std::vector<StreamWatcher*> watchers_;
  std::atomic<Callback*> finished_callbacks_{nullptr};
  // Names of the kernels launched last, a ring. Two threads may overwrite each other's: the error text then lacks one.
  static constexpr unsigned kRecent = 4;
  mutable std::array<std::atomic<const std::string*>, kRecent> recent_{};
  mutable std::atomic<unsigned> recent_count_{0};
  // The driver refuses to wait for the whole device while any stream of it is captured. A replay's graph is captured without
  // the program's knowing, so such waits and those captures exclude each other: held by a capture, shared by waits.
  std::shared_mutex replay_captures_;
  std::mutex peers_mutex_;
  std::set<int> peers_;  // devices whose memory this one may read, as far as that can be had
  NvrtcCompiler compiler_;
};

}  // namespace damo::cuda_backend
