// Measuring which of several ways to compute something is the fastest: algorithms of cuBLASLt and cuDNN, schedules of generated kernels.
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

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

/// Holds a stream's work back until release(), so that work which is shorter than giving it to the driver is not measured with pauses. Not for
/// ever: a library that loads code may wait for the device itself.
class Gate {
 public:
  Gate(CudaBackend& backend, void* stream) {
    backend.add_callback(stream, [is_open = is_open_] {
      const auto last = std::chrono::steady_clock::now() + kLongest;
      while (!is_open->load(std::memory_order_acquire) && std::chrono::steady_clock::now() < last) std::this_thread::yield();
    });
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate() { release(); }
  void release() { is_open_->store(true, std::memory_order_release); }

 private:
  static constexpr std::chrono::milliseconds kLongest{5};
  std::shared_ptr<std::atomic<bool>> is_open_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace

bool CudaBackend::may_measure(void* stream) const {
  const bool is_captured = captures.load(std::memory_order_relaxed) != 0 || is_capturing(static_cast<CUstream>(stream));
  return !is_captured && environment("DAMO_TUNE") != "0";
}

double CudaBackend::measured_milliseconds(void* stream, int repeats, const std::function<void()>& work) {
  const TimingEvent begin(*this), end(*this);
  Gate gate(*this, stream);
  record(begin.handle, stream);
  for (int repeat = 0; repeat < repeats; ++repeat) work();
  record(end.handle, stream);
  gate.release();
  synchronize_event(end.handle);
  return milliseconds(begin.handle, end.handle) / repeats;
}

}  // namespace damo::cuda_backend
