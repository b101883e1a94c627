#include "runtime/cuda/tuning.hpp"

#include "graph/base/environment.hpp"
#include "runtime/cuda/backend.hpp"

namespace damo::cuda_backend {
namespace {

struct TimingEvent {
  explicit TimingEvent(CudaBackend& backend) : backend(backend), handle(backend.create_event()) {}
  TimingEvent(const TimingEvent&) = delete;
  TimingEvent& operator=(const TimingEvent&) = delete;
  ~TimingEvent() { backend.destroy_event(handle); }
  CudaBackend& backend;
  void* handle;
};

}  // namespace

bool may_measure(const CudaBackend& backend, void* stream) {
  const bool is_captured = backend.captures.load(std::memory_order_relaxed) != 0 || backend.is_capturing(static_cast<CUstream>(stream));
  return !is_captured && environment("DAMO_TUNE") != "0";
}

double measured_milliseconds(CudaBackend& backend, void* stream, int repeats, const std::function<void()>& work) {
  const TimingEvent begin(backend), end(backend);
  backend.record(begin.handle, stream);
  for (int repeat = 0; repeat < repeats; ++repeat) work();
  backend.record(end.handle, stream);
  backend.synchronize_event(end.handle);
  return backend.milliseconds(begin.handle, end.handle) / repeats;
}

}  // namespace damo::cuda_backend
