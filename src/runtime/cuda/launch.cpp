// CudaBackend's launches, and to which of them a fault belongs.
#include <string>

#include <damo/error.hpp>

#include "runtime/cuda/backend.hpp"
#include "runtime/cuda/module.hpp"

namespace damo::cuda_backend {
namespace {

std::string extents(const Dim3& dim) {
  return "(" + std::to_string(dim.x) + ", " + std::to_string(dim.y) + ", " + std::to_string(dim.z) + ")";
}

std::string describe_launch(const LoadedKernel& kernel, const LaunchConfig& config) {
  std::string text =
      "kernel '" + kernel.name() + "', grid " + extents(config.grid) + ", block " + extents(config.block);
  if (config.shared_bytes > 0) text += ", " + std::to_string(config.shared_bytes) + " bytes of dynamic shared memory";
  return text;
}

std::string remedy_for_launch(CUresult result, const LoadedKernel& kernel) {
  switch (result) {
    case CUDA_ERROR_INVALID_VALUE:
      return "compare the arguments with the kernel's parameters, and grid, block and shared memory with "
             "Device::properties()";
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_INVALID_CONTEXT:
      return "the stream and the kernel must be of the same device";
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
      return "the kernel needs " + std::to_string(kernel.registers) +
             " registers a thread: launch fewer threads a block, write __launch_bounds__, or ask for less shared "
             "memory";
    default:
      return remedy_for(result);
  }
}

}  // namespace

void CudaBackend::launch(const LoadedKernel& kernel, const LaunchConfig& config, void* const* arguments, void* stream) {
  const auto& cuda_kernel = static_cast<const CudaKernel&>(kernel);
  if (cuda_kernel.generation() != generation()) [[unlikely]]
    refuse_lost(*this, "kernel '" + kernel.name() + "'");
  if (WorkLog* log = current_log(*this); log && is_default(stream) && log->launch(kernel, config, arguments)) return;
  bind();
  const CUstream on = stream_of(stream);
  cuda_kernel.grant_shared(config.shared_bytes);
  if (captures.load(std::memory_order_relaxed) != 0) [[unlikely]]
    hold_kernel(kernel);
  const auto extent = [](std::int64_t value) { return static_cast<unsigned>(value); };
  const CUresult result = driver_.launch_kernel(
      cuda_kernel.function(), extent(config.grid[0]), extent(config.grid[1]), extent(config.grid[2]),
      extent(config.block[0]), extent(config.block[1]), extent(config.block[2]),
      static_cast<unsigned>(config.shared_bytes), on, const_cast<void**>(arguments), nullptr);
  if (result != CUDA_SUCCESS) [[unlikely]]
    fail_launch(result, kernel, config);
  if (on != default_stream_) note_work(stream);
  remember(cuda_kernel);
  if (waits_for_launches_) [[unlikely]]
    wait_for_launch(kernel, config, on);
}

/// No read-modify-write: it would cost as much as all else that the launch does here.
void CudaBackend::remember(const CudaKernel& kernel) const {
  const unsigned count = recent_count_.load(std::memory_order_relaxed);
  recent_[count % kRecent].store(kernel.lasting_name(), std::memory_order_relaxed);
  recent_count_.store(count + 1, std::memory_order_relaxed);
}

/// "'a', 'b'", the latest first; empty if there was none.
std::string CudaBackend::recent_kernels() const {
  std::string text;
  const unsigned count = recent_count_.load(std::memory_order_relaxed);
  for (unsigned back = 1; back <= kRecent; ++back) {
    const std::string* name = recent_[(count - back) % kRecent].load(std::memory_order_relaxed);
    if (name != nullptr) text += (text.empty() ? "'" : ", '") + *name + "'";
  }
  return text;
}

void CudaBackend::fail(CUresult result, const char* call, std::string_view detail) const {
  if (!is_sticky(result)) cuda_backend::fail(result, call, detail);
  std::string text(detail);
  if (const std::string kernels = recent_kernels(); !kernels.empty()) {
    text += (text.empty() ? "" : "; ") + std::string("the last kernels launched on ") + name() + " were " + kernels +
            ", the latest first";
  }
  cuda_backend::fail(result, call, text);
}

void CudaBackend::fail_launch(CUresult result, const LoadedKernel& kernel, const LaunchConfig& config) const {
  if (is_sticky(result)) fail(result, "cuLaunchKernel", describe_launch(kernel, config));
  throw DeviceError("cuLaunchKernel failed: " + describe(result) + "; " + describe_launch(kernel, config),
                    remedy_for_launch(result, kernel));
}

/// DAMO_SYNC=1. A captured launch runs later.
void CudaBackend::wait_for_launch(const LoadedKernel& kernel, const LaunchConfig& config, CUstream stream) const {
  if (captures.load(std::memory_order_relaxed) != 0 && is_capturing(stream)) return;
  const CUresult result = driver_.stream_synchronize(stream);
  if (result == CUDA_SUCCESS) return;
  throw DeviceError(describe_launch(kernel, config) + " faulted: " + describe(result),
                    is_sticky(result) ? remedy_for_fault(name()) : remedy_for(result));
}

}  // namespace damo::cuda_backend
