// CudaBackend's streams and events.
#include <damo/error.hpp>

#include "runtime/cuda/backend.hpp"

namespace damo::cuda_backend {
namespace {

CUevent event_of(void* event) { return static_cast<CUevent>(event); }

}  // namespace

void* CudaBackend::create_stream() {
  bind();
  CUstream stream = nullptr;
  check(driver_.stream_create(&stream, CU_STREAM_DEFAULT), "cuStreamCreate");
  return stream;
}

void CudaBackend::destroy_stream(void* stream) noexcept {
  if (stream && stream != default_stream_ && bind_quietly()) driver_.stream_destroy(static_cast<CUstream>(stream));
}

void* CudaBackend::default_stream() {
  bind();
  return default_stream_;
}

void CudaBackend::synchronize(void* stream) {
  bind();
  check(driver_.stream_synchronize(stream_of(stream)), "cuStreamSynchronize");
}

void CudaBackend::synchronize() {
  bind();
  check(driver_.ctx_synchronize(), "cuCtxSynchronize");
}

void* CudaBackend::create_event() {
  bind();
  CUevent event = nullptr;
  check(driver_.event_create(&event, CU_EVENT_DEFAULT), "cuEventCreate");
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
  check(driver_.stream_wait_event(stream_of(stream), event_of(event), 0), "cuStreamWaitEvent");
}

void CudaBackend::synchronize_event(void* event) {
  bind();
  check(driver_.event_synchronize(event_of(event)), "cuEventSynchronize");
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

}  // namespace damo::cuda_backend
