#include "emulated_gpu/gpu/kernels.hpp"

#include <cstdio>
#include <cstring>

#include <damo/device.hpp>
#include <damo/error.hpp>

#include "emulated_gpu/gpu/clusters.hpp"
#include "runtime/kernel/cache.hpp"

namespace damo::emulated_gpu {
namespace {

void put(std::string& to, const std::string& text) {
  const std::uint64_t bytes = text.size();
  to.append(reinterpret_cast<const char*>(&bytes), sizeof bytes).append(text);
}
std::string take(const char*& from) {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, from, sizeof bytes);
  std::string text(from + sizeof bytes, bytes);
  from += sizeof bytes + bytes;
  return text;
}

Backend& backend() {
  static Backend& cpu = Device("cpu").backend();
  return cpu;
}

}  // namespace

std::string code_of(const CompileRequest& request) {
  std::string code(kMagic);
  put(code, request.source);
  put(code, request.file_name);
  put(code, request.options.standard);
  for (const auto* list : {&request.kernels, &request.options.include_directories}) {
    put(code, std::to_string(list->size()));
    for (const std::string& text : *list) put(code, text);
  }
  put(code, std::to_string(request.options.defines.size()));
  for (const auto& [name, value] : request.options.defines) put(code, name), put(code, value);
  return code;
}

CompileRequest request_of(const void* code) {
  const char* at = static_cast<const char*>(code) + kMagic.size();
  CompileRequest request;
  request.kind = SourceKind::kCudaC;
  request.source = take(at);
  request.file_name = take(at);
  request.options.standard = take(at);
  for (auto* list : {&request.kernels, &request.options.include_directories}) {
    for (int left = std::stoi(take(at)); left > 0; --left) list->push_back(take(at));
  }
  for (int left = std::stoi(take(at)); left > 0; --left) {
    std::string name = take(at);
    request.options.defines.emplace_back(std::move(name), take(at));
  }
  return request;
}

std::shared_ptr<const LoadedModule> compile(const CompileRequest& request) { return backend().cache().get(request); }

/// Generated kernels stand in a namespace, but have C's names.
std::shared_ptr<const LoadedKernel> kernel_of(const LoadedModule& module, const std::string& name) {
  for (const std::string& known : module.kernel_names()) {
    if (known == name || known.ends_with("::" + name)) return module.kernel(known);
  }
  try {
    return module.kernel(name);
  } catch (const DeviceError&) {
    return nullptr;
  }
}

int cluster_of(const LoadedModule& module, const std::string& kernel) {
  const void* const blocks = module.global("emulated_blocks_of_" + kernel).first;
  if (!blocks) return 1;
  const auto call = reinterpret_cast<std::uint64_t>(&call_cluster);
  std::memcpy(module.global("emulated_cluster_call").first, &call, sizeof call);
  return static_cast<int>(*static_cast<const unsigned*>(blocks));
}

Launch::Launch(std::shared_ptr<const LoadedKernel> given, const LaunchConfig& wanted, void* const* values, int cluster) : kernel(std::move(given)), config(wanted), cluster(cluster) {
  for (std::size_t i = 0; i < kernel->parameters()->size(); ++i) {
    const auto* from = static_cast<const std::byte*>(values[i]);
    arguments.emplace_back(from, from + (*kernel->parameters())[i].bytes);
  }
}

std::vector<void*> Launch::pointers() const {
  std::vector<void*> all;
  for (const auto& argument : arguments) all.push_back(const_cast<std::byte*>(argument.data()));
  return all;
}

bool Launch::run() const {
  try {
    if (cluster > 1) return run_clusters(*this);
    backend().launch(*kernel, config, pointers().data(), nullptr);
    backend().synchronize();
    return true;
  } catch (const Error& error) {
    std::fprintf(stderr, "emulated GPU: %s\n", error.what());
    return false;
  }
}

}  // namespace damo::emulated_gpu
