// CudaBackend's context: made at the first use, bound to each thread, made anew by reset().
#include <algorithm>

#include <damo/error.hpp>
#include <damo/log.hpp>

#include "runtime/cuda/backend.hpp"

namespace damo::cuda_backend {

/// The caller holds context_mutex_.
void CudaBackend::make_context() const {
  CUcontext context = nullptr;
  check(driver_.primary_ctx_retain(&context, device_), "cuDevicePrimaryCtxRetain");
  CUstream stream = nullptr;
  try {
    check(driver_.ctx_set_current(context), "cuCtxSetCurrent");
    check(driver_.stream_create(&stream, CU_STREAM_DEFAULT), "cuStreamCreate");
  } catch (...) {
    driver_.primary_ctx_release(device_);  // the next use retains it again
    throw;
  }
  default_stream_ = stream;
  context_.store(context, std::memory_order_release);
}

void CudaBackend::bind_slowly() const {
  if (!context_.load(std::memory_order_acquire)) {
    const std::lock_guard lock(context_mutex_);
    if (!context_) make_context();
  }
  check(driver_.ctx_set_current(context_), "cuCtxSetCurrent");
}

bool CudaBackend::bind_quietly() const noexcept {
  CUcontext context = context_.load(std::memory_order_acquire), current = nullptr;
  if (!context) return false;
  if (driver_.ctx_get_current(&current) == CUDA_SUCCESS && current == context) return true;
  return driver_.ctx_set_current(context) == CUDA_SUCCESS;
}

/// The primary context is the process's, not Damo's alone: releasing Damo's share of it ends nothing that others hold,
/// resetting it does. Errors of the old context come back from both and mean nothing now; confirm_context() tells
/// whether the new one works.
void CudaBackend::reset() {
  const std::lock_guard lock(context_mutex_);
  if (!context_) return;
  begin_generation();  // first: from here on nothing of the old context is handed to the driver
  {
    const std::lock_guard streams_lock(streams_mutex_);
    streams_.clear();
    stream_count_ = 0;
    foreign_streams_ = streams_at_large = 0;
    order_event_ = nullptr;
    replay_streams_ = {};
  }
  {
    const std::lock_guard peers_lock(peers_mutex_);
    peers_.clear();
  }
  for (auto& name : recent_) name = nullptr;
  default_stream_ = nullptr;
  context_ = nullptr;
  driver_.ctx_set_current(nullptr);
  driver_.primary_ctx_release(device_);
  driver_.primary_ctx_reset(device_);
  try {
    make_context();
    confirm_context();
  } catch (const DeviceError& error) {
    context_ = nullptr;
    throw DeviceError("reset of " + name() + ": the driver gives no working context: " + error.parts().message,
                      "only a new process can use the GPU: end this one and start the program again");
  }
  log(LogLevel::kInfo, name() + " was reset: what was made on it before is lost");
}

/// A lost context can be retained and still refuse all work.
void CudaBackend::confirm_context() {
  CUdeviceptr memory = 0;
  check(driver_.mem_alloc(&memory, 256), "cuMemAlloc");
  check(driver_.memset_d8_async(memory, 0, 256, static_cast<CUstream>(default_stream_)), "cuMemsetD8Async");
  check(driver_.stream_synchronize(static_cast<CUstream>(default_stream_)), "cuStreamSynchronize");
  check(driver_.mem_free(memory), "cuMemFree");
}

}  // namespace damo::cuda_backend
