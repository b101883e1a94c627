#include "runtime/cuda/module.hpp"

#include <map>
#include <set>

#include <damo/error.hpp>

#include "runtime/cuda/backend.hpp"
#include "runtime/cuda/cubin_variables.hpp"
#include "runtime/cuda/cubin_waits.hpp"
#include "runtime/cuda/symbol_name.hpp"
#include "runtime/kernel/name_expression.hpp"
#include "runtime/kernel/variable_symbol.hpp"

namespace damo::cuda_backend {
namespace {

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

}  // namespace

CudaModule::CudaModule(CudaBackend& backend, std::span<const std::byte> bytes, std::string name)
    : backend_(backend), driver_(backend.driver()), name_(std::move(name)), generation_(backend.generation()) {
  CodeContainer container = unpack(bytes);
  names_ = std::move(container.names);
  module_ = load_code(driver_, container.code, name_);
  try {
    read_names();
    variables_ = cubin_variables(container.code);
    wait_first_ = kernels_that_wait_first(container.code);
  } catch (...) {
    driver_.module_unload(module_);
    throw;
  }
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
  const auto known = names_.find(name);
  const CodeName* const found = known == names_.end() ? nullptr : &known->second;
  CUfunction function = nullptr;
  const std::string& symbol = found ? found->lowered : name;
  const CUresult result = driver_.module_get_function(&function, module_, symbol.c_str());
  if (result == CUDA_ERROR_NOT_FOUND) fail_without(name);
  check(result, "cuModuleGetFunction");
  return std::make_shared<const CudaKernel>(backend_, shared_from_this(), function, name, found, wait_first_.contains(symbol));
}

std::pair<void*, std::size_t> CudaModule::global(const std::string& name) const {
  require_alive();
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  const auto known = names_.find(name);
  std::string symbol = known == names_.end() ? find_variable(variables_, name) : known->second.lowered;
  if (symbol.empty()) symbol = variable_symbol(name);
  const CUresult result = driver_.module_get_global(&address, &bytes, module_, symbol.c_str());
  // Of a kernel's name the driver says that the value is invalid.
  if (result == CUDA_ERROR_NOT_FOUND || result == CUDA_ERROR_INVALID_VALUE) return {nullptr, 0};
  check(result, "cuModuleGetGlobal");
  return {reinterpret_cast<void*>(address), bytes};
}

std::vector<std::string> CudaModule::kernel_names() const {
  std::vector<std::string> names;
  for (const auto& [name, known] : names_) {
    if (known.is_kernel) names.push_back(name);
  }
  return names;
}

void CudaModule::read_names() {
  unsigned count = 0;
  if (!driver_.module_get_function_count || !driver_.module_enumerate_functions || !driver_.func_get_name) return;
  if (driver_.module_get_function_count(&count, module_) != CUDA_SUCCESS) return;
  std::vector<CUfunction> functions(count);
  if (driver_.module_enumerate_functions(functions.data(), count, module_) != CUDA_SUCCESS) return;
  std::set<std::string> known;
  for (const auto& [name, code] : names_) known.insert(code.lowered);
  std::map<std::string, SymbolName> symbols;
  std::map<std::string, int> sharing;  // how many kernels have a name
  for (CUfunction function : functions) {
    const char* symbol = nullptr;
    if (driver_.func_get_name(&symbol, function) != CUDA_SUCCESS || !symbol) continue;
    ++sharing[(symbols[symbol] = read_symbol(symbol)).name];
  }
  for (auto& [symbol, read] : symbols) {
    if (known.contains(symbol)) continue;
    const std::string name = sharing[read.name] > 1 ? with_cast(read.name, read.parameters.value_or("")) : read.name;
    names_[name] = {symbol, /*is_kernel=*/true, std::move(read.parameters)};
  }
}

void CudaModule::fail_without(const std::string& name) const {
  std::string message = "module " + name_ + " has no kernel " + name;
  const std::vector<std::string> names = kernel_names();
  for (std::size_t i = 0; i < names.size(); ++i) message += (i == 0 ? "; it has " : ", ") + names[i];
  throw DeviceError(std::move(message), "declare it extern \"C\" __global__, or name it when the source is compiled");
}

}  // namespace damo::cuda_backend
