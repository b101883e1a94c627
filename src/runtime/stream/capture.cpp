#include "runtime/stream/capture.hpp"

#include <string>
#include <utility>

#include <damo/error.hpp>

#include "runtime/memory/memory_pool.hpp"
#include "runtime/memory/pinned_pool.hpp"

namespace damo {
namespace {

thread_local CaptureScope* capture_of_thread = nullptr;

}  // namespace

CaptureHolds::~CaptureHolds() {
  if (backend_.generation() != generation_) return;
  for (const Block& block : blocks_) {
    if (block.is_pinned) {
      backend_.pinned_pool().release(block.memory, block.bytes, block.options);
    } else {
      backend_.pool().release(block.memory, block.bytes);
    }
  }
}

void CaptureHolds::hold(std::shared_ptr<const void> anything) {
  const std::lock_guard lock(mutex_);
  held_.push_back(std::move(anything));
}

bool CaptureHolds::hold(const Block& block) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    blocks_.push_back(block);
    return true;
  } catch (...) {
    is_complete_ = false;
    return false;
  }
}

CaptureScope::CaptureScope(Backend& backend, void* stream)
    : backend_(backend), stream_(stream), holds_(std::make_unique<CaptureHolds>(backend)) {
  if (stream == nullptr || stream == backend.default_stream()) {
    throw DeviceError("the default stream of " + backend.name() + " cannot be captured",
                      "make a stream for it: Stream stream(device); and give launches and copies that stream");
  }
  if (capture_of_thread != nullptr) {
    throw DeviceError("a capture begins inside another one",
                      "capture one stream at a time in a thread; a second stream "
                      "joins the capture when it waits for an event of the first");
  }
  backend.begin_capture(stream);
  capture_of_thread = this;
  backend.captures.fetch_add(1);
  is_open_ = true;
}

void CaptureScope::leave() {
  is_open_ = false;
  capture_of_thread = nullptr;
  backend_.captures.fetch_sub(1);
}

std::unique_ptr<CapturedWork> CaptureScope::finish() {
  leave();
  std::unique_ptr<CapturedWork> work = backend_.end_capture(stream_);
  if (!holds_->is_complete()) throw OutOfMemoryError("capture: no host memory to note what the graph has to keep", "capture less work at a time");
  return work;
}

CaptureScope::~CaptureScope() {
  if (!is_open_) return;
  leave();
  backend_.abandon_capture(stream_);
}

CaptureScope* current_capture_of_thread(const Backend& backend) {
  return capture_of_thread != nullptr && &capture_of_thread->backend() == &backend ? capture_of_thread : nullptr;
}

void refuse_default_stream(const Backend& backend) {
  throw DeviceError("work on the default stream of " + backend.name() +
                        " during a capture: it would run at once and be no part of "
                        "the graph",
                    "give it the stream that is captured; make arrays, and read results, outside the capture");
}

void refuse_wait_in_capture(const char* what) {
  throw DeviceError(std::string(what) + " while a stream is captured: its work has not been given to the device",
                    "wait after the capture, when the graph was launched");
}

void hold_kernel(const LoadedKernel& kernel) {
  if (capture_of_thread == nullptr) return;
  if (auto shared = kernel.weak_from_this().lock()) capture_of_thread->holds().hold(std::move(shared));
}

}  // namespace damo
