// CudaKernel: what the driver tells of a kernel.
#include <algorithm>
#include <mutex>
#include <set>

#include <damo/error.hpp>

#include "runtime/cuda/backend.hpp"
#include "runtime/cuda/module.hpp"

namespace damo::cuda_backend {
namespace {

constexpr std::size_t kSharedWithoutGrant = 48 * 1024;  // of static and dynamic together, on every GPU

/// One copy of each name, never freed.
const std::string* lasting(const std::string& name) {
  static std::mutex mutex;
  static std::set<std::string>& names = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  return &*names.insert(name).first;
}

}  // namespace

CudaKernel::CudaKernel(CudaBackend& owner, std::shared_ptr<const CudaModule> module, CUfunction function,
                       std::string name, const CodeName* known, bool waits_first)
    : owner_(owner),
      driver_(owner.driver()),
      module_(std::move(module)),
      function_(function),
      generation_(owner.generation()),
      waits_first_(waits_first),
      lasting_name_(lasting(name)) {
  name_ = std::move(name);
  backend = &owner;
  read_attributes();
  read_parameters(known);
}

void CudaKernel::read_attributes() {
  registers = attribute(CU_FUNC_ATTRIBUTE_NUM_REGS);
  local_bytes = attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  static_shared_bytes = static_cast<std::size_t>(attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  constant_bytes = static_cast<std::size_t>(attribute(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES));
  max_threads_per_block = attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  ptx_version = attribute(CU_FUNC_ATTRIBUTE_PTX_VERSION);
  binary_version = attribute(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
  granted_shared_bytes_ = kSharedWithoutGrant - std::min(kSharedWithoutGrant, static_shared_bytes);
}

/// Types as the compiler told them, sizes as the driver does; where only one of them speaks, what it says.
void CudaKernel::read_parameters(const CodeName* known) {
  std::vector<std::size_t> sizes;
  if (driver_.func_get_param_info) {
    std::size_t offset = 0, bytes = 0;
    for (CUresult result;; sizes.push_back(bytes)) {
      result = driver_.func_get_param_info(function_, sizes.size(), &offset, &bytes);
      if (result == CUDA_ERROR_INVALID_VALUE) break;  // the end of the list
      check(result, "cuFuncGetParamInfo");
    }
  }
  const bool has_types = known && known->parameters;
  if (!has_types && !driver_.func_get_param_info) return;
  const std::vector<std::string> types = has_types ? split_parameters(*known->parameters) : std::vector<std::string>();
  const bool both = has_types && driver_.func_get_param_info;
  parameters_.emplace();
  if (has_types && (!both || types.size() == sizes.size())) {
    for (std::size_t i = 0; i < types.size(); ++i) parameters_->push_back(ParameterType::parse(types[i], both ? sizes[i] : 0));
  } else {
    for (std::size_t bytes : sizes) parameters_->push_back(ParameterType::of_bytes(bytes));
  }
}

int CudaKernel::attribute(CUfunction_attribute attribute) const {
  int value = 0;
  check(driver_.func_get_attribute(&value, attribute, function_), "cuFuncGetAttribute");
  return value;
}

Occupancy CudaKernel::occupancy(int threads, std::size_t shared_bytes) const {
  owner_.bind();
  grant_shared(shared_bytes);
  int blocks = 0;
  check(driver_.occupancy_max_active_blocks(&blocks, function_, threads, shared_bytes),
        "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  return {blocks, static_cast<double>(blocks) * threads / owner_.threads_per_multiprocessor()};
}

/// Fewer than the multiprocessors over the blocks: a cluster lies in one of the GPU's groups of multiprocessors, which are of unlike sizes.
int CudaKernel::resident_clusters(int cluster, int threads, std::size_t shared_bytes) const {
  if (!driver_.occupancy_max_active_clusters) return 0;
  owner_.bind();
  grant_shared(shared_bytes);
  CUlaunchAttribute size = {};
  size.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  size.value.clusterDim.x = static_cast<unsigned>(cluster);
  size.value.clusterDim.y = size.value.clusterDim.z = 1;
  CUlaunchConfig config = {};
  config.gridDimX = static_cast<unsigned>(cluster) * 1024;  // more than any device holds
  config.blockDimX = static_cast<unsigned>(threads);
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = static_cast<unsigned>(shared_bytes);
  config.attrs = &size;
  config.numAttrs = 1;
  int clusters = 0;
  check(driver_.occupancy_max_active_clusters(&clusters, function_, &config), "cuOccupancyMaxActiveClusters");
  return clusters;
}

int CudaKernel::suggested_threads(std::size_t shared_bytes) const {
  owner_.bind();
  grant_shared(shared_bytes);
  int blocks = 0, threads = 0;
  check(driver_.occupancy_max_potential_block_size(&blocks, &threads, function_, nullptr, shared_bytes, 0),
        "cuOccupancyMaxPotentialBlockSize");
  return threads;
}

void CudaKernel::raise_grant(std::size_t bytes) const {
  const std::lock_guard lock(grant_mutex_);
  if (bytes <= granted_shared_bytes_) return;  // another thread has
  const CUresult result =
      driver_.func_set_attribute(function_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(bytes));
  if (result != CUDA_SUCCESS) {
    fail(result, "cuFuncSetAttribute",
         "kernel " + name_ + " asks for " + std::to_string(bytes) + " bytes of dynamic shared memory");
  }
  granted_shared_bytes_ = bytes;
}

}  // namespace damo::cuda_backend
