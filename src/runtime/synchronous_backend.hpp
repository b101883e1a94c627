// SynchronousBackend: what the CPU and the null device share. Memory is the host's; every stream runs in the calling
// thread, so work is done when a call returns and there is nothing to wait for; an event is the time of its record.
// A captured stream (host_capture.hpp) notes work instead of doing it. Memory for other processes is the system's
// shared memory. Back ends differ in how they compile, load and launch.
#pragma once
#include "runtime/backend.hpp"
#include "runtime/stream/capture.hpp"
#include "runtime/stream/work_log.hpp"
#include "runtime/memory/host_blocks.hpp"
#include "runtime/stream/host_capture.hpp"
#include "runtime/memory/shared_memory.hpp"

namespace damo {

class SynchronousBackend : public Backend {
 public:
  SynchronousBackend(std::string name, DeviceKind kind) : Backend(std::move(name), kind) { notes_use = true; }

  /// 64-aligned, which a vector register needs; large blocks are aligned to, and marked for, huge pages.
  void* allocate(std::size_t bytes) override;
  void release(void* memory) noexcept override;
  void* allocate_pinned(std::size_t bytes, PinnedOptions = {}) override { return allocate(bytes); }
  void release_pinned(void* memory) noexcept override { release(memory); }
  void copy(void* to, const void* from, std::size_t bytes, CopyKind kind, void* stream) override;
  void fill(void* to, const void* element, std::size_t element_bytes, std::size_t count, void* stream) override;
  void copy_peer(void* to, Backend& other, const void* from, std::size_t bytes, void* stream) override;

  void* allocate_shareable(std::size_t bytes) override { return shared_.allocate(bytes); }
  void release_shareable(void* memory) noexcept override { shared_.release(memory); }
  std::pair<std::string, std::size_t> share(void* memory) override;
  void* open_shared(const std::string& text, std::size_t bytes) override { return shared_.open(text, bytes); }
  void close_shared(void* memory) noexcept override { shared_.close(memory); }

  void* create_stream(StreamOptions options = {}) override;
  void destroy_stream(void* stream) noexcept override;
  void* default_stream() override { return nullptr; }
  void synchronize(void* stream) override;
  void synchronize() override;
  bool is_stream_done(void* stream) override;
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
  /// Work done from a copy of the log: for tests, as there is nothing to gain (least_replayed).
  std::unique_ptr<ReplayedWork> prepare_replay(const WorkLog& log) override;
  void capture_work(const WorkLog& log, void* stream) override;

 protected:
  /// True if the stream is captured: then work, a void(), is a node of the graph. False if it is to be done now. Throws
  /// DeviceError for the default stream in a thread that captures.
  template <class Work>
  bool is_noted(void* stream, Work&& work) {
    if (stream == nullptr) {
      enter_default_stream(*this);
      return false;
    }
    return static_cast<HostStream*>(stream)->note(std::forward<Work>(work));
  }
  /// The same for a launch, which every launch() asks first, and which may go to the thread's log. Copies the arguments.
  bool is_launch_noted(void* stream, const LoadedKernel& kernel, const LaunchConfig& config, void* const* arguments) {
    if (WorkLog* log = current_log(*this); log && stream == nullptr && log->launch(kernel, config, arguments)) return true;
    if (stream == nullptr && captures.load(std::memory_order_relaxed) == 0) return false;
    return note_launch(stream, kernel, config, arguments);
  }
  bool is_copy_logged(void* stream, void* to, const void* from, std::size_t bytes, CopyKind kind) {
    WorkLog* const log = current_log(*this);
    return log && stream == nullptr && log->copy(to, from, bytes, kind);
  }
  /// What of allocate()'s blocks is in use, by arrays and others.
  std::vector<MemoryRange> used_memory() const { return blocks_.used(); }
  /// The host's part of properties(): memory, limits of a launch.
  DeviceProperties host_properties() const;

 private:
  HostBlocks blocks_;
  bool note_launch(void* stream, const LoadedKernel& kernel, const LaunchConfig& config, void* const* arguments);
  SharedMemory shared_;
};

}  // namespace damo
