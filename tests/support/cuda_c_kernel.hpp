// CUDA C of a test as a loaded kernel, on whichever device.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "runtime/backend.hpp"
#include "runtime/kernel/cache.hpp"

namespace damo::testing {

/// Through the device's kernel cache. name: of an extern "C" kernel in source.
inline std::shared_ptr<const LoadedKernel> cuda_c_kernel(Device device, const std::string& name, const std::string& source) {
  CompileRequest request;
  request.source = source;
  request.kind = SourceKind::kCudaC;
  request.file_name = "test.cu";
  request.kernels = {name};
  return device.backend().cache().get(request)->kernel(name);
}

/// By the back end itself: nothing is checked.
template <class... Arguments>
void launch(const LoadedKernel& kernel, const LaunchConfig& config, void* stream, Arguments... arguments) {
  void* pointers[] = {&arguments..., nullptr};
  kernel.backend->launch(kernel, config, pointers, stream);
}

inline constexpr const char* kScale = R"(extern "C" __global__ void scale(float* x, int n, float factor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= factor;
})";

}  // namespace damo::testing
