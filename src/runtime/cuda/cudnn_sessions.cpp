#include "runtime/cuda/cudnn_sessions.hpp"

#include <exception>
#include <string>
#include <utility>

#include <damo/log.hpp>

namespace damo::cuda_backend {

CudnnSessions::CudnnSessions(CudaBackend& backend, const CudnnLibrary& library) : backend_(backend), library_(library), generation_(backend.generation()) {
  backend.watch_streams(this);
}

CudnnSessions::~CudnnSessions() { backend_.unwatch_streams(this); }

std::shared_ptr<CudnnSessions::Session> CudnnSessions::unused() {
  if (!unused_.empty()) {
    std::shared_ptr<Session> session = std::move(unused_.back());
    unused_.pop_back();
    return session;
  }
  auto made = std::make_shared<Session>();
  check_cudnn(library_.create(&made->handle), "cudnnCreate");
  check_cudnn(library_.set_stream(made->handle, static_cast<CUstream>(backend_.default_stream())), "cudnnSetStream");
  return made;
}

std::shared_ptr<CudnnSessions::Session> CudnnSessions::of(CUstream stream) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Session>& found = of_streams_[stream];
  if (!found) {
    std::shared_ptr<Session> session = unused();
    if (stream != backend_.default_stream()) check_cudnn(library_.set_stream(session->handle, stream), "cudnnSetStream");
    found = std::move(session);
  }
  return found;
}

void CudnnSessions::before_capture(CUstream stream) noexcept {
  if (backend_.generation() != generation_) return;
  try {
    of(stream);
  } catch (const std::exception& error) {
    // What is captured need not have a convolution; one that it has asks again.
    log(LogLevel::kDebug, std::string("cuDNN: no handle for a stream that is captured: ") + error.what());
  }
}

void CudnnSessions::before_destruction(CUstream stream) noexcept {
  if (backend_.generation() != generation_) return;
  const std::lock_guard lock(mutex_);
  const auto found = of_streams_.find(stream);
  if (found == of_streams_.end()) return;
  // A handle that does not leave the stream is lost: better a little memory than an event on a stream that is gone.
  if (found->second && library_.set_stream(found->second->handle, static_cast<CUstream>(backend_.default_stream())) == 0) unused_.push_back(std::move(found->second));
  of_streams_.erase(found);
}

}  // namespace damo::cuda_backend
