#include "runtime/cuda/module.hpp"

#include <algorithm>
#include <set>

#include <damo/error.hpp>

#include "runtime/cuda/backend.hpp"
#include "runtime/cuda/code_container.hpp"

namespace damo::cuda_backend {
namespace {

constexpr std::size_t kSharedWithoutGrant = 48 * 1024;  // of static and dynamic together, on every GPU

/// The driver's own words matter where it translates PTX.
CUmodule load_code(const Driver& driver, const std::vector<std::byte>& code, const std::string& name) {
  char log[4096] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  CUmodule module = nullptr;
  const CUresult result = driver.module_load_data_ex(&module, code.data(), 2, options, values);
  if (result != CUDA_SUCCESS)
    fail(result, "cuModuleLoadDataEx", "module " + name + (*log ? ": " + std::string(log) : ""));
  return module;
}

/// One copy of each name, never freed.
const std::string* lasting(const std::string& name) {
  static std::mutex mutex;
  static std::set<std::string>& names = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  return &*names.insert(name).first;
}

}  // namespace

CudaModule::CudaModule(CudaBackend& backend, std::span<const std::byte> bytes, std::string name)
    : backend_(backend), driver_(backend.driver()), name_(std::move(name)), generation_(backend.generation()) {
  CodeContainer container = unpack(bytes);
  lowered_names_ = std::move(container.lowered_names);
  module_ = load_code(driver_, container.code, name_);
}

CudaModule::~CudaModule() {
  if (generation_ == backend_.generation() && backend_.bind_quietly()) driver_.module_unload(module_);
}

void CudaModule::require_alive() const {
  if (generation_ != backend_.generation()) refuse_lost(backend_, "module " + name_);
  backend_.bind();
}

std::shared_ptr<const LoadedKernel> CudaModule::kernel(const std::string& name) const {
  require_alive();
  const auto lowered = lowered_names_.find(name);
  const std::string& symbol = lowered == lowered_names_.end() ? name : lowered->second;
  CUfunction function = nullptr;
  const CUresult result = driver_.module_get_function(&function, module_, symbol.c_str());
  if (result == CUDA_ERROR_NOT_FOUND) fail_without(name);
  check(result, "cuModuleGetFunction");
  return std::make_shared<const CudaKernel>(backend_, shared_from_this(), function, name);
}

std::pair<void*, std::size_t> CudaModule::global(const std::string& name) const {
  require_alive();
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  const CUresult result = driver_.module_get_global(&address, &bytes, module_, name.c_str());
  if (result == CUDA_ERROR_NOT_FOUND) return {nullptr, 0};
  check(result, "cuModuleGetGlobal");
  return {reinterpret_cast<void*>(address), bytes};
}

/// Users' names where they are known; empty if the driver is too old to tell.
std::vector<std::string> CudaModule::kernel_names() const {
  unsigned count = 0;
  if (!driver_.module_get_function_count || !driver_.module_enumerate_functions || !driver_.func_get_name) return {};
  if (driver_.module_get_function_count(&count, module_) != CUDA_SUCCESS) return {};
  std::vector<CUfunction> functions(count);
  if (driver_.module_enumerate_functions(functions.data(), count, module_) != CUDA_SUCCESS) return {};
  std::vector<std::string> names;
  for (CUfunction function : functions) {
    const char* symbol = nullptr;
    if (driver_.func_get_name(&symbol, function) != CUDA_SUCCESS || !symbol) continue;
    const auto user = std::find_if(lowered_names_.begin(), lowered_names_.end(),
                                   [&](const auto& pair) { return pair.second == symbol; });
    names.push_back(user == lowered_names_.end() ? symbol : user->first);
  }
  std::sort(names.begin(), names.end());
  return names;
}

void CudaModule::fail_without(const std::string& name) const {
  std::string message = "module " + name_ + " has no kernel " + name;
  const std::vector<std::string> names = kernel_names();
  for (std::size_t i = 0; i < names.size(); ++i) message += (i == 0 ? "; it has " : ", ") + names[i];
  throw DeviceError(std::move(message), "declare it extern \"C\" __global__, or name it when the source is compiled");
}

CudaKernel::CudaKernel(CudaBackend& owner, std::shared_ptr<const CudaModule> module, CUfunction function,
                       std::string name)
    : driver_(owner.driver()),
      module_(std::move(module)),
      function_(function),
      generation_(owner.generation()),
      lasting_name_(lasting(name)) {
  name_ = std::move(name);
  backend = &owner;
  registers = attribute(CU_FUNC_ATTRIBUTE_NUM_REGS);
  local_bytes = attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  static_shared_bytes = static_cast<std::size_t>(attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  max_threads_per_block = attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  granted_shared_bytes_ = kSharedWithoutGrant - std::min(kSharedWithoutGrant, static_shared_bytes);
  if (!driver_.func_get_param_info) return;
  std::size_t offset = 0, bytes = 0;
  while (driver_.func_get_param_info(function_, parameter_bytes_.size(), &offset, &bytes) == CUDA_SUCCESS) {
    parameter_bytes_.push_back(bytes);
  }
}

int CudaKernel::attribute(CUfunction_attribute attribute) const {
  int value = 0;
  check(driver_.func_get_attribute(&value, attribute, function_), "cuFuncGetAttribute");
  return value;
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
