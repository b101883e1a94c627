// StreamWatcher: what keeps something of its own for each stream of a device, as a library's handles are. CudaBackend tells all that have
// called watch_streams(), from whatever thread captures or destroys a stream, with the device's context bound.
#pragma once
#include <cuda.h>

namespace damo::cuda_backend {

class StreamWatcher {
 public:
  virtual ~StreamWatcher() = default;
  /// What is made for the stream is better made now: during a capture a library may not be able to.
  virtual void before_capture(CUstream stream) noexcept = 0;
  /// Nothing may name the stream from now on.
  virtual void before_destruction(CUstream stream) noexcept = 0;
};

}  // namespace damo::cuda_backend
