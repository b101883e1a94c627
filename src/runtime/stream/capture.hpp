// CaptureScope: one capture in progress, in the thread that began it. Back ends ask it which thread captures, the pool
// gives it the blocks that are released meanwhile. CaptureHolds: what a captured graph keeps alive.
// See tests/runtime/stream/captured_graph_test.cpp.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/backend.hpp"
#include "runtime/data_report.hpp"

namespace damo {

/// Thread-safe. Gives blocks back to the pool at its end.
class CaptureHolds {
 public:
  explicit CaptureHolds(Backend& backend) : backend_(backend), generation_(backend.generation()) {}
  CaptureHolds(const CaptureHolds&) = delete;
  CaptureHolds& operator=(const CaptureHolds&) = delete;
  ~CaptureHolds();

  void hold(std::shared_ptr<const void> anything);
  /// False if there is no host memory for the list: then the capture can't end well (is_complete).
  bool hold_block(void* memory, std::size_t bytes) noexcept { return hold({memory, bytes, false, {}}); }
  bool hold_pinned(void* memory, std::size_t bytes, PinnedOptions options) noexcept { return hold({memory, bytes, true, options}); }
  bool is_complete() const { return is_complete_; }

 private:
  struct Block {
    void* memory;
    std::size_t bytes;
    bool is_pinned;
    PinnedOptions options;
  };
  bool hold(const Block& block) noexcept;

  Backend& backend_;
  std::uint32_t generation_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<const void>> held_;
  std::vector<Block> blocks_;
  std::atomic<bool> is_complete_ = true;
};

class CaptureScope {
 public:
  /// Begins. Throws DeviceError for the default stream, inside another capture of the thread, and for what the back
  /// end refuses.
  CaptureScope(Backend& backend, void* stream);
  CaptureScope(const CaptureScope&) = delete;
  CaptureScope& operator=(const CaptureScope&) = delete;
  /// Gives the capture up unless it was finished.
  ~CaptureScope();

  std::unique_ptr<CapturedWork> finish();
  CaptureHolds& holds() { return *holds_; }
  /// Where a kernel of a CPU writes what it finds in its data: each launch of the graph looks there at its end.
  void check_after(std::shared_ptr<DataReport> report) {
    if (std::find(reports_.begin(), reports_.end(), report) == reports_.end()) reports_.push_back(std::move(report));
  }
  std::vector<std::shared_ptr<DataReport>> take_reports() { return std::move(reports_); }
  std::unique_ptr<CaptureHolds> take_holds() { return std::move(holds_); }
  Backend& backend() const { return backend_; }
  void* stream() const { return stream_; }

 private:
  void leave();
  Backend& backend_;
  void* stream_;
  bool is_open_ = false;
  std::unique_ptr<CaptureHolds> holds_;
  std::vector<std::shared_ptr<DataReport>> reports_;
};

/// The calling thread's, on this device; null if it captures nothing.
CaptureScope* current_capture_of_thread(const Backend& backend);
inline CaptureScope* current_capture(const Backend& backend) {
  return backend.captures.load(std::memory_order_relaxed) == 0 ? nullptr : current_capture_of_thread(backend);
}

/// Throws DeviceError if the thread captures: work on the default stream would run at once, outside the graph.
[[noreturn]] void refuse_default_stream(const Backend& backend);
inline void check_default_stream(const Backend& backend) {
  if (current_capture(backend) != nullptr) [[unlikely]]
    refuse_default_stream(backend);
}

/// Throws DeviceError. what: "waiting for a stream".
[[noreturn]] void refuse_wait_in_capture(const char* what);

/// Keeps a kernel alive as long as the graph that the calling thread captures.
void hold_kernel(const LoadedKernel& kernel);

}  // namespace damo
