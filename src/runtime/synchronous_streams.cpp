// SynchronousBackend's streams, events and captures.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <queue>
#include <utility>
#include <vector>

#include <damo/error.hpp>

#include "runtime/stream/work_log.hpp"
#include "runtime/stream/work_order.hpp"
#include "runtime/synchronous_backend.hpp"

namespace damo {
namespace {

HostStream* stream_of(void* stream) { return static_cast<HostStream*>(stream); }
HostEvent* event_of(void* event) { return static_cast<HostEvent*>(event); }

}  // namespace

void* SynchronousBackend::create_stream(StreamOptions) { return new HostStream; }
void SynchronousBackend::destroy_stream(void* stream) noexcept { delete stream_of(stream); }

void SynchronousBackend::synchronize(void* stream) {
  if (WorkLog* log = current_log(*this)) log->flush_for_other_work();
  if (stream != nullptr && stream_of(stream)->is_captured()) refuse_wait_in_capture("waiting for a stream");
}

void SynchronousBackend::synchronize() {
  if (WorkLog* log = current_log(*this)) log->flush_for_other_work();
  if (current_capture(*this) != nullptr) refuse_wait_in_capture("waiting for the device");
}

bool SynchronousBackend::is_stream_done(void* stream) {
  synchronize(stream);
  return true;
}

void* SynchronousBackend::create_event(EventOptions) { return new HostEvent; }
void SynchronousBackend::destroy_event(void* event) noexcept { delete event_of(event); }
void SynchronousBackend::record(void* event, void* stream) {
  if (stream == nullptr) enter_default_stream(*this);
  event_of(event)->record(stream_of(stream));
}
void SynchronousBackend::wait(void* stream, void* event) { event_of(event)->wait(stream_of(stream)); }
void SynchronousBackend::synchronize_event(void* event) { event_of(event)->require_outside(); }
bool SynchronousBackend::is_done(void* event) {
  event_of(event)->require_outside();
  return true;
}

double SynchronousBackend::milliseconds(void* from, void* to) {
  const std::int64_t begin = event_of(from)->stamp();
  return static_cast<double>(event_of(to)->stamp() - begin) * 1e-6;
}

void SynchronousBackend::add_callback(void* stream, std::function<void()> function) {
  if (!is_noted(stream, function)) function();
}

namespace {

/// Gives items in orders as unlike the log's as their waits allow it, so that what waits for too little shows: of those that may go, the last first, which runs
/// what follows from a late item before an early one; and in turn with that level by level, which runs between two items of one node all that other nodes have
/// there.
class HostReplay final : public ReplayedWork {
 public:
  explicit HostReplay(const WorkLog& log) : log_(log.clone()) {
    const WorkOrder work(log);
    orders_[0] = last_first(work);
    orders_[1] = by_level(work);
  }
  bool set(std::size_t i, const WorkLog& log) override { return log_->take_values(i, log), true; }
  void launch() override {
    for (std::uint32_t i : orders_[launches_++ % orders_.size()]) log_->run(i, nullptr);
  }

 private:
  using Items = std::vector<std::uint32_t>;

  static Items last_first(const WorkOrder& work) {
    std::vector<Items> waiting(work.waits.size());  // by item: those that wait for it
    std::vector<std::size_t> missing(work.waits.size());
    std::priority_queue<std::uint32_t> ready;
    for (std::uint32_t i = 0; i < work.waits.size(); ++i) {
      for (std::uint32_t other : work.waits[i]) waiting[other].push_back(i);
      missing[i] = work.waits[i].size();
      if (missing[i] == 0) ready.push(i);
    }
    Items order;
    while (!ready.empty()) {
      order.push_back(ready.top());
      ready.pop();
      for (std::uint32_t next : waiting[order.back()]) {
        if (--missing[next] == 0) ready.push(next);
      }
    }
    return order;
  }

  static Items by_level(const WorkOrder& work) {
    const std::vector<std::size_t> levels = work.levels();
    Items order(levels.size());
    std::iota(order.rbegin(), order.rend(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return levels[a] < levels[b]; });
    return order;
  }

  std::unique_ptr<WorkLog> log_;
  std::array<Items, 2> orders_;
  std::size_t launches_ = 0;
};

}  // namespace

std::unique_ptr<ReplayedWork> SynchronousBackend::prepare_replay(const WorkLog& log) { return std::make_unique<HostReplay>(log); }

void SynchronousBackend::capture_work(const WorkLog& log, void* stream) {
  if (log.empty()) return;
  stream_of(stream)->note([work = std::shared_ptr<const WorkLog>(log.clone())] { work->run(nullptr); });
}

void SynchronousBackend::begin_capture(void* stream) { stream_of(stream)->begin(); }
std::unique_ptr<CapturedWork> SynchronousBackend::end_capture(void* stream) { return stream_of(stream)->end(); }
void SynchronousBackend::abandon_capture(void* stream) noexcept { stream_of(stream)->abandon(); }

bool SynchronousBackend::note_launch(void* stream, const LoadedKernel& kernel, const LaunchConfig& config,
                                     void* const* arguments) {
  if (stream == nullptr) {
    check_default_stream(*this);
    return false;
  }
  if (!stream_of(stream)->is_captured()) return false;
  struct alignas(16) Slot {
    std::byte bytes[16];
  };
  std::vector<Slot> values;
  std::vector<std::size_t> places;
  if (!kernel.parameters() && kind() == DeviceKind::kCpu) {  // the null device reads no arguments
    throw DeviceError("capture: nobody knows the parameters of kernel '" + kernel.name() + "', to keep their values",
                      "capture kernels of a Module; Damo's own run on the default stream");
  }
  for (std::size_t i = 0; kernel.parameters() && i < kernel.parameters()->size(); ++i) {
    const std::size_t bytes = (*kernel.parameters())[i].bytes;
    places.push_back(values.size());
    values.resize(values.size() + std::max<std::size_t>((bytes + sizeof(Slot) - 1) / sizeof(Slot), 1));
    std::memcpy(&values[places.back()], arguments[i], bytes);
  }
  hold_kernel(kernel);
  return stream_of(stream)->note([this, &kernel, config, values, places]() mutable {
    std::vector<void*> pointers;
    for (std::size_t place : places) pointers.push_back(&values[place]);
    launch(kernel, config, pointers.data(), nullptr);
  });
}

}  // namespace damo
