#include "runtime/cpu/cpu_module.hpp"

#include <charconv>
#include <utility>

namespace damo {

std::optional<std::vector<std::size_t>> parameter_sizes(std::string_view signatures, std::string_view kernel) {
  while (!signatures.empty()) {
    const std::string_view line = signatures.substr(0, signatures.find('\n'));
    signatures.remove_prefix(std::min(line.size() + 1, signatures.size()));
    if (!line.starts_with(kernel) || !line.substr(kernel.size()).starts_with(": ")) continue;
    const std::size_t tab = line.rfind('\t');
    if (tab == std::string_view::npos) return std::nullopt;
    std::vector<std::size_t> sizes;
    const char* const end = line.data() + line.size();
    for (const char* at = line.data() + tab + 1; at < end;) {
      std::size_t size = 0;
      const auto [stop, error] = std::from_chars(at, end, size);
      if (error != std::errc()) return std::nullopt;
      sizes.push_back(size);
      at = stop + 1;  // past the comma
    }
    return sizes;
  }
  return std::nullopt;
}

CpuKernel::CpuKernel(std::shared_ptr<const CpuModule> module, cpu_backend::KernelEntry entry, const std::string& name)
    : entry(entry), module_(std::move(module)) {
  name_ = name;
  backend = &module_->backend();
  max_threads_per_block = backend->limits().max_threads_per_block;
  if (auto sizes = parameter_sizes(module_->object().signatures(), name)) {
    is_cuda_c = true;
    parameter_bytes_ = std::move(*sizes);
  }
}

CpuModule::CpuModule(Backend& backend, std::span<const std::byte> object, const std::string& name)
    : backend_(backend), object_(object, name) {}

std::shared_ptr<const LoadedKernel> CpuModule::kernel(const std::string& name) const {
  return std::make_shared<CpuKernel>(shared_from_this(), object_.kernel(name), name);
}

std::pair<void*, std::size_t> CpuModule::global(const std::string& name) const {
  const std::size_t bytes = object_.size_of(name);
  return bytes > 0 ? std::pair(object_.find(name), bytes) : std::pair<void*, std::size_t>(nullptr, 0);
}

}  // namespace damo
