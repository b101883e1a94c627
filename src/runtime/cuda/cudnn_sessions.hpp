// cuDNN's handles, one for each stream that convolutions run on. A handle that goes from one stream to another records an event on the one it
// leaves: in a stream that was destroyed meanwhile that is a use after free, in one that another thread captures it mixes two captures. So a
// handle stays with its stream, and is put back on the default stream before its own is destroyed. See tests/fake_cuda/convolution_test.cpp.
#pragma once
#include <cuda.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/cuda/backend.hpp"
#include "runtime/cuda/cudnn_library.hpp"

namespace damo::cuda_backend {

class CudnnSessions final : public StreamWatcher {
 public:
  /// A handle works for one thread at a time.
  struct Session {
    CudnnHandle handle = nullptr;
    std::mutex mutex;
  };

  CudnnSessions(CudaBackend& backend, const CudnnLibrary& library);
  CudnnSessions(const CudnnSessions&) = delete;
  CudnnSessions& operator=(const CudnnSessions&) = delete;
  /// Handles are not destroyed: at a reset their context is gone, and at the end of the process the driver may be.
  ~CudnnSessions() override;

  /// The device's context is bound. Throws DeviceError where cuDNN makes no handle.
  std::shared_ptr<Session> of(CUstream stream);

  void before_capture(CUstream stream) noexcept override;
  void before_destruction(CUstream stream) noexcept override;

 private:
  std::shared_ptr<Session> unused();

  CudaBackend& backend_;
  const CudnnLibrary& library_;
  const std::uint32_t generation_;
  std::mutex mutex_;
  std::map<CUstream, std::shared_ptr<Session>> of_streams_;
  std::vector<std::shared_ptr<Session>> unused_;  // on the default stream
};

}  // namespace damo::cuda_backend
