// Streams, events and captures of devices that work in the calling thread. A stream in a capture notes its work as
// functions; the graph runs them in order, whichever stream noted them, which keeps every order that CUDA promises.
// What CUDA refuses in a capture is refused here too, so that a program that runs on the CPU runs on a GPU.
// A stream is captured by one thread. See tests/runtime/stream/captured_graph_test.cpp.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/backend.hpp"

namespace damo {

class HostStream;

/// In progress as long as it has an origin.
struct HostCapture {
  using Nodes = std::vector<std::function<void()>>;
  std::shared_ptr<Nodes> nodes = std::make_shared<Nodes>();
  HostStream* origin = nullptr;
  std::vector<HostStream*> streams;  // those that joined, origin among them
};

class HostStream {
 public:
  ~HostStream();
  bool is_captured() const { return capture_ != nullptr; }
  /// Makes work a node of the graph; false if the stream is not captured.
  template <class Work>
  bool note(Work&& work) {
    if (!capture_) return false;
    capture_->nodes->emplace_back(std::forward<Work>(work));
    ++position_;
    return true;
  }

  void begin();
  /// Throws DeviceError if a stream that joined was not joined back.
  std::unique_ptr<CapturedWork> end();
  void abandon() noexcept;

 private:
  friend class HostEvent;
  void enter(std::shared_ptr<HostCapture> capture);
  static void leave(HostCapture& capture) noexcept;

  std::shared_ptr<HostCapture> capture_;
  std::size_t position_ = 0, joined_ = 0;  // of its captured work: how much there is, how much another stream waits for
};

class HostEvent {
 public:
  void record(HostStream* stream);
  /// stream may be null, the default one.
  void wait(HostStream* stream) const;
  /// Throws DeviceError if it was recorded in a capture.
  void require_outside() const;
  /// Nanoseconds of the steady clock. Throws DeviceError if it was never recorded.
  std::int64_t stamp() const;

 private:
  std::atomic<std::int64_t> stamp_ = 0;  // 0: not recorded; atomic, because two threads may share an event
  std::shared_ptr<HostCapture> capture_;
  HostStream* stream_ = nullptr;  // of the capture
  std::size_t position_ = 0;
};

}  // namespace damo
