// CudaBackend's streams and events.
#include <algorithm>
#include <bit>
#include <functional>
#include <memory>
#include <utility>

#include <damo/error.hpp>

#include "runtime/cuda/backend.hpp"

namespace damo::cuda_backend {

/// A function that a stream calls. The driver's thread may make no CUDA call, and destroying what the function holds
/// may be one: so it is only put on a list there, and destroyed by the next thread that waits or adds one.
struct Callback {
  std::function<void()> function;
  std::atomic<Callback*>* finished;
  Callback* next = nullptr;
};

namespace {

void CUDA_CB run_once(void* data) {
  auto* const callback = static_cast<Callback*>(data);
  callback->function();
  callback->next = callback->finished->load(std::memory_order_relaxed);
  while (!callback->finished->compare_exchange_weak(callback->next, callback, std::memory_order_release)) {
  }
}

/// A graph's: it runs at each replay, and the graph holds it.
void CUDA_CB run_again(void* data) { (*static_cast<const std::function<void()>*>(data))(); }

CUevent event_of(void* event) { return static_cast<CUevent>(event); }

}  // namespace

void* CudaBackend::create_stream(StreamOptions options) {
  bind();
  const StreamPriorities range = stream_priorities();
  const int priority = std::clamp(options.priority, range.greatest, range.least);
  CUstream stream = nullptr;
  check(driver_.stream_create_with_priority(&stream, options.non_blocking ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT,
                                            priority),
        "cuStreamCreateWithPriority");
  const std::lock_guard lock(streams_mutex_);
  StreamSet taken = 0;
  for (const auto& [other, set] : streams_) taken |= set;
  const int bit = std::min(std::countr_one(taken), 63);  // beyond 63 streams the last bit stands for several
  try {
    streams_[stream] = StreamSet{1} << bit;
  } catch (...) {
    driver_.stream_destroy(stream);
    throw;
  }
  stream_count_ = static_cast<int>(streams_.size());
  // Memory that the default stream still works on may be handed to the new one's users.
  order(static_cast<CUstream>(default_stream_), stream);
  return stream;
}

/// Work that is under way goes on; the default stream waits for it, as what it uses may be given up next.
void CudaBackend::destroy_stream(void* stream) noexcept {
  if (!stream || stream == default_stream_ || !bind_quietly()) return;
  const StreamSet set = stream_set(stream);
  join_streams(set);
  {
    const std::lock_guard lock(streams_mutex_);
    streams_.erase(static_cast<CUstream>(stream));
    if (set != StreamSet{1} << 63) foreign_streams_.fetch_and(~set);
    stream_count_ = static_cast<int>(streams_.size());
  }
  {
    const std::lock_guard lock(watchers_mutex_);
    for (StreamWatcher* watcher : watchers_) watcher->before_destruction(static_cast<CUstream>(stream));
  }
  driver_.stream_destroy(static_cast<CUstream>(stream));
}

void CudaBackend::watch_streams(StreamWatcher* watcher) {
  const std::lock_guard lock(watchers_mutex_);
  watchers_.push_back(watcher);
}

void CudaBackend::unwatch_streams(StreamWatcher* watcher) noexcept {
  const std::lock_guard lock(watchers_mutex_);
  std::erase(watchers_, watcher);
}

void CudaBackend::tell_of_capture(CUstream stream) noexcept {
  const std::lock_guard lock(watchers_mutex_);
  for (StreamWatcher* watcher : watchers_) watcher->before_capture(stream);
}

StreamPriorities CudaBackend::stream_priorities() {
  bind();
  StreamPriorities range;
  check(driver_.ctx_get_stream_priority_range(&range.least, &range.greatest), "cuCtxGetStreamPriorityRange");
  return range;
}

/// Later work of one stream comes after what the other has now. Where the driver can't say so to the device (no memory for
/// an event), the host waits; if that fails too, an earlier kernel faulted, which the next call that may throw reports. The
/// caller holds streams_mutex_ and has bound the context.
void CudaBackend::order(CUstream earlier, CUstream later) noexcept {
  const bool has_event =
      order_event_ != nullptr || driver_.event_create(&order_event_, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS;
  if (has_event && driver_.event_record(order_event_, earlier) == CUDA_SUCCESS &&
      driver_.stream_wait_event(later, order_event_, 0) == CUDA_SUCCESS)
    return;
  driver_.stream_synchronize(earlier);
}

StreamSet CudaBackend::stream_set(void* stream) const noexcept {
  if (!stream || stream == default_stream_) return 0;
  const std::lock_guard lock(streams_mutex_);
  const auto found = streams_.find(static_cast<CUstream>(stream));
  return found == streams_.end() ? 0 : found->second;
}

void CudaBackend::note_foreign_work(void* stream) noexcept {
  const StreamSet set = stream_set(stream);
  foreign_streams_.fetch_or(set);
  streams_at_large.fetch_or(set);
}

void CudaBackend::wait_for_device(Backend& other, void* stream) {
  if (other.kind() != DeviceKind::kCuda) return Backend::wait_for_device(other, stream);
  auto& there = static_cast<CudaBackend&>(other);
  void* const event = there.create_event({.timing = false});
  try {
    there.record(event, stream);
    bind();
    check(driver_.stream_wait_event(static_cast<CUstream>(default_stream_), event_of(event), 0), "cuStreamWaitEvent");
  } catch (...) {
    there.destroy_event(event);
    throw;
  }
  there.destroy_event(event);  // the driver keeps what the wait needs
}

void CudaBackend::join_streams(StreamSet wanted) noexcept {
  if (wanted == 0 || stream_count_.load(std::memory_order_relaxed) == 0 || !bind_quietly()) return;
  const std::lock_guard lock(streams_mutex_);
  streams_at_large.fetch_and(~wanted | foreign_streams_);
  for (const auto& [stream, set] : streams_) {
    if ((set & wanted) == 0) continue;
    // Its work has not been given to the device; what it had before was joined when the capture took it.
    if (captures != 0 && is_capturing(stream)) continue;
    order(stream, static_cast<CUstream>(default_stream_));
  }
}

void CudaBackend::fork_streams() {
  if (stream_count_.load(std::memory_order_relaxed) == 0 || !bind_quietly()) return;
  const std::lock_guard lock(streams_mutex_);
  for (const auto& [stream, set] : streams_) {
    if (captures == 0 || !is_capturing(stream)) order(static_cast<CUstream>(default_stream_), stream);
  }
}

void* CudaBackend::default_stream() {
  bind();
  return default_stream_;
}

void CudaBackend::synchronize(void* stream) {
  bind();
  if (WorkLog* log = current_log(*this)) log->flush_for_other_work();
  const auto on = static_cast<CUstream>(stream ? stream : default_stream_);
  if (captures != 0 && is_capturing(on)) refuse_wait_in_capture("waiting for a stream");
  check(driver_.stream_synchronize(on), "cuStreamSynchronize");
  collect_callbacks();
}

bool CudaBackend::is_stream_done(void* stream) {
  bind();
  if (WorkLog* log = current_log(*this)) log->flush_for_other_work();
  const auto on = static_cast<CUstream>(stream ? stream : default_stream_);
  if (captures != 0 && is_capturing(on)) refuse_wait_in_capture("waiting for a stream");
  const CUresult result = driver_.stream_query(on);
  if (result == CUDA_ERROR_NOT_READY) return false;
  check(result, "cuStreamQuery");
  return true;
}

void CudaBackend::synchronize() {
  bind();
  if (WorkLog* log = current_log(*this)) log->flush_for_other_work();
  if (current_capture(*this)) refuse_wait_in_capture("waiting for the device");  // the driver would spoil the capture
  if (captures_replay()) refuse_wait_in_capture("waiting for the device");
  {
    const std::shared_lock no_capture(replay_captures_);
    check(driver_.ctx_synchronize(), "cuCtxSynchronize");
  }
  collect_callbacks();
}

void* CudaBackend::create_event(EventOptions options) {
  bind();
  CUevent event = nullptr;
  const unsigned flags = (options.timing ? 0u : unsigned{CU_EVENT_DISABLE_TIMING}) |
                         (options.blocking ? unsigned{CU_EVENT_BLOCKING_SYNC} : 0u);
  check(driver_.event_create(&event, flags), "cuEventCreate");
  return event;
}

void CudaBackend::destroy_event(void* event) noexcept {
  if (event && bind_quietly()) driver_.event_destroy(event_of(event));
}

void CudaBackend::record(void* event, void* stream) {
  bind();
  check(driver_.event_record(event_of(event), stream_of(stream)), "cuEventRecord");
}

void CudaBackend::wait(void* stream, void* event) {
  bind();
  const CUstream on = stream_of(stream);
  if (captures != 0 && !is_capturing(on)) join_streams(stream_set(stream));  // the event may take it into a capture
  check(driver_.stream_wait_event(on, event_of(event), 0), "cuStreamWaitEvent");
}

void CudaBackend::synchronize_event(void* event) {
  bind();
  const CUresult result = driver_.event_synchronize(event_of(event));
  // What driver 580 says of an event whose last record was in a capture that has ended.
  if (result == CUDA_ERROR_INVALID_VALUE) fail(CUDA_ERROR_CAPTURED_EVENT, "cuEventSynchronize", "the event was recorded in a capture");
  check(result, "cuEventSynchronize");
}

bool CudaBackend::is_done(void* event) {
  bind();
  const CUresult result = driver_.event_query(event_of(event));
  if (result == CUDA_ERROR_NOT_READY) return false;
  check(result, "cuEventQuery");
  return true;
}

double CudaBackend::milliseconds(void* from, void* to) {
  bind();
  float milliseconds = 0;
  const CUresult result = driver_.event_elapsed_time(&milliseconds, event_of(from), event_of(to));
  if (result == CUDA_ERROR_INVALID_HANDLE) {
    throw DeviceError("milliseconds between events: one of them was not recorded", "record both on a stream first");
  }
  if (result == CUDA_ERROR_NOT_READY) {
    throw DeviceError("milliseconds between events: the work before one of them is not done",
                      "synchronize the later event first");
  }
  check(result, "cuEventElapsedTime");
  return static_cast<double>(milliseconds);
}

void CudaBackend::collect_callbacks() noexcept {
  Callback* callback = finished_callbacks_.exchange(nullptr, std::memory_order_acquire);
  while (callback) delete std::exchange(callback, callback->next);
}

void CudaBackend::add_callback(void* stream, std::function<void()> function) {
  bind();
  collect_callbacks();
  const CUstream on = stream_of(stream);
  if (CaptureScope* capture = current_capture(*this); capture && is_capturing(on)) {
    auto held = std::make_shared<std::function<void()>>(std::move(function));
    capture->holds().hold(held);  // first: a node whose function is gone must not be
    return check(driver_.launch_host_func(on, run_again, held.get()), "cuLaunchHostFunc");
  }
  auto callback = std::make_unique<Callback>(Callback{std::move(function), &finished_callbacks_});
  check(driver_.launch_host_func(on, run_once, callback.get()), "cuLaunchHostFunc");
  callback.release();
  note_work(stream);
}

}  // namespace damo::cuda_backend
