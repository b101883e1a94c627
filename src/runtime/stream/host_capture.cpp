#include "runtime/stream/host_capture.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <damo/error.hpp>

namespace damo {
namespace {

class HostGraph final : public CapturedWork {
 public:
  explicit HostGraph(std::shared_ptr<const HostCapture::Nodes> nodes) : nodes_(std::move(nodes)) {}
  void launch(void* stream) override {
    const auto run = [nodes = nodes_] {
      for (const auto& node : *nodes) node();
    };
    if (!stream || !static_cast<HostStream*>(stream)->note(run)) run();
  }
  std::size_t node_count() const override { return nodes_->size(); }

 private:
  std::shared_ptr<const HostCapture::Nodes> nodes_;
};

[[noreturn]] void refuse(const std::string& what, const std::string& remedy) {
  throw DeviceError("capture: " + what, remedy);
}

}  // namespace

HostStream::~HostStream() {
  if (capture_) std::erase(capture_->streams, this);
}

void HostStream::enter(std::shared_ptr<HostCapture> capture) {
  capture->streams.push_back(this);
  capture_ = std::move(capture);
  position_ = joined_ = 0;
}

void HostStream::begin() {
  if (capture_) refuse("the stream is captured already", "end that capture first");
  enter(std::make_shared<HostCapture>());
  capture_->origin = this;
}

void HostStream::leave(HostCapture& capture) noexcept {
  capture.origin = nullptr;
  for (HostStream* stream : std::exchange(capture.streams, {})) {
    if (stream->capture_.get() == &capture) stream->capture_.reset();
  }
}

std::unique_ptr<CapturedWork> HostStream::end() {
  if (!capture_ || capture_->origin != this) refuse("the stream is not captured", "begin a capture on it first");
  const std::shared_ptr<HostCapture> capture = capture_;
  const bool all_joined = std::all_of(capture->streams.begin(), capture->streams.end(), [&](const HostStream* stream) {
    return stream == this || stream->joined_ == stream->position_;
  });
  leave(*capture);
  if (!all_joined) {
    refuse("a stream that joined by an event has work that the captured stream does not wait for",
           "record an event on it and let the captured stream wait for that before the end");
  }
  return std::make_unique<HostGraph>(capture->nodes);
}

void HostStream::abandon() noexcept {
  if (const std::shared_ptr<HostCapture> capture = capture_) leave(*capture);
}

void HostEvent::record(HostStream* stream) {
  if (stream != nullptr && stream->capture_) {
    capture_ = stream->capture_;
    stream_ = stream;
    position_ = stream->position_;
    return;
  }
  capture_.reset();
  stamp_ = std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void HostEvent::wait(HostStream* stream) const {
  if (capture_ && !capture_->origin) require_outside();  // a capture that is over
  if (!capture_) {
    if (stream != nullptr && stream->capture_ && stamp_ != 0) {
      refuse("the captured stream waits for an event of work that is not captured",
             "record the event inside the capture, or wait for it before");
    }
    return;
  }
  if (stream == nullptr) refuse("the default stream waits for an event of the capture", "use a Stream of your own");
  if (!stream->capture_) stream->enter(capture_);
  if (stream->capture_ != capture_) refuse("two captures cannot be joined", "capture one stream after the other");
  if (stream == stream_) return;
  stream_->joined_ = std::max(stream_->joined_, position_);
  ++stream->position_;
}

void HostEvent::require_outside() const {
  if (!capture_) return;
  throw DeviceError(
      "the event was recorded in a capture",
      "such an event orders work inside the graph; to wait or to measure, record one outside the capture");
}

std::int64_t HostEvent::stamp() const {
  require_outside();
  if (stamp_ == 0) throw DeviceError("an event was never recorded", "call record() on both events first");
  return stamp_;
}

}  // namespace damo
