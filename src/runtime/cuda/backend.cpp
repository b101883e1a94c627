// Properties and code.
#include "runtime/cuda/backend.hpp"

#include <fstream>

#include <damo/error.hpp>

#include "graph/base/environment.hpp"
#include "runtime/cuda/cublas_engine.hpp"
#include "runtime/cuda/cuda_backend.hpp"
#include "runtime/cuda/cudnn_engine.hpp"
#include "runtime/cuda/cufft.hpp"
#include "runtime/cuda/cusolver.hpp"
#include "runtime/cuda/dialect.hpp"
#include "runtime/cuda/module.hpp"

namespace damo::cuda_backend {
namespace {

constexpr int kLeastReplayed = 1;  // on an H200 2.5 us a call of one kernel, 5.0 without a graph

CUdevice device_at(int index) {
  CUdevice device = 0;
  const CUresult result = driver().device_get(&device, index);
  if (result != CUDA_SUCCESS) cuda_backend::fail(result, "cuDeviceGet", "there is no cuda:" + std::to_string(index));
  return device;
}

int attribute_of(CUdevice device, CUdevice_attribute attribute) {
  int value = 0;
  check(driver().device_get_attribute(&value, attribute, device), "cuDeviceGetAttribute");
  return value;
}

int architecture_of(CUdevice device) {
  return 10 * attribute_of(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
         attribute_of(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

}  // namespace

CudaBackend::CudaBackend(int index)
    : Backend("cuda:" + std::to_string(index), DeviceKind::kCuda),
      driver_(cuda_backend::driver()),
      device_(device_at(index)),
      architecture_(architecture_of(device_)),
      waits_for_launches_(is_switched_on("DAMO_SYNC")),
      compiler_(architecture_) {
  if (!waits_for_launches_) least_replayed = kLeastReplayed;  // DAMO_SYNC asks for the launch that faults
}

int CudaBackend::attribute(CUdevice_attribute attribute) const { return attribute_of(device_, attribute); }

DeviceProperties CudaBackend::properties() const {
  bind();
  DeviceProperties properties;
  char name[256] = "";
  check(driver_.device_get_name(name, sizeof name, device_), "cuDeviceGetName");
  properties.description = name;
  properties.architecture = "sm_" + std::to_string(architecture_);
  check(driver_.mem_get_info(&properties.free_memory_bytes, &properties.memory_bytes), "cuMemGetInfo");
  properties.multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  properties.max_threads_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  properties.max_grid[0] = attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
  properties.max_grid[1] = attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
  properties.max_grid[2] = attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
  properties.max_block[0] = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
  properties.max_block[1] = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
  properties.max_block[2] = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
  properties.max_shared_bytes =
      static_cast<std::size_t>(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
  return properties;
}

int CudaBackend::threads_per_multiprocessor() const {
  return attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
}

std::unique_ptr<MatrixEngine> CudaBackend::make_matrix_engine() { return make_cublas_engine(*this); }
std::unique_ptr<ConvolutionEngine> CudaBackend::make_convolution_engine() { return make_cudnn_engine(*this); }
std::unique_ptr<DenseSolver> CudaBackend::make_dense_solver() { return make_cusolver(*this); }
std::unique_ptr<FourierEngine> CudaBackend::make_fourier_engine() { return make_cufft(*this); }

const Compiler& CudaBackend::compiler() { return compiler_; }
const Dialect& CudaBackend::dialect() { return cuda_dialect(); }

std::shared_ptr<const LoadedModule> CudaBackend::load(std::span<const std::byte> bytes, const std::string& name) {
  bind();
  return std::make_shared<const CudaModule>(*this, bytes, name);
}

}  // namespace damo::cuda_backend

namespace damo {

std::unique_ptr<Backend> make_cuda_backend(int index) { return std::make_unique<cuda_backend::CudaBackend>(index); }

int cuda_device_count() {
  int count = 0;
  if (cuda_backend::driver_problem() || cuda_backend::driver().device_get_count(&count) != CUDA_SUCCESS) return 0;
  return count;
}

std::optional<std::string> cuda_problem() {
  if (auto problem = cuda_backend::driver_problem()) return problem;
  if (cuda_device_count() > 0) return std::nullopt;
  return "no GPU: " + cuda_backend::remedy_for(CUDA_ERROR_NO_DEVICE);
}

std::string driver_version() {
  int version = 0;
  if (cuda_backend::driver_problem() || cuda_backend::driver().driver_get_version(&version) != CUDA_SUCCESS) return {};
  std::string text = std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  std::ifstream file("/sys/module/nvidia/version");
  if (std::string release; file >> release) text += " (driver " + release + ")";
  return text;
}

}  // namespace damo
