#include "runtime/cpu/cpu_module.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <utility>

#include "runtime/kernel/variable_symbol.hpp"

namespace damo {

namespace {

/// "8,8,4" -> its numbers.
std::optional<std::vector<std::size_t>> numbers(std::string_view text) {
  std::vector<std::size_t> found;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at < end;) {
    std::size_t number = 0;
    const auto [stop, error] = std::from_chars(at, end, number);
    if (error != std::errc()) return std::nullopt;
    found.push_back(number);
    at = stop + 1;  // past the comma
  }
  return found;
}

}  // namespace

std::optional<KernelSignature> signature_of(std::string_view signatures, std::string_view kernel) {
  while (!signatures.empty()) {
    const std::string_view line = signatures.substr(0, signatures.find('\n'));
    signatures.remove_prefix(std::min(line.size() + 1, signatures.size()));
    if (!line.starts_with(kernel) || !line.substr(kernel.size()).starts_with(": ")) continue;
    const std::size_t second = line.rfind('\t');
    if (second == std::string_view::npos || second == 0) return std::nullopt;
    const std::size_t first = line.rfind('\t', second - 1);
    if (first == std::string_view::npos) return std::nullopt;
    auto sizes = numbers(line.substr(first + 1, second - first - 1));
    const auto limits = numbers(line.substr(second + 1));
    if (!sizes || !limits || limits->size() != 2) return std::nullopt;
    const std::vector<std::string> types = split_parameters(line.substr(kernel.size() + 2, first - kernel.size() - 2));
    if (types.size() != sizes->size()) return std::nullopt;
    KernelSignature signature{{}, limits->front(), limits->back()};
    for (std::size_t i = 0; i < types.size(); ++i) {
      signature.parameters.push_back(ParameterType::parse(types[i], (*sizes)[i]));
    }
    return signature;
  }
  return std::nullopt;
}

CpuKernel::CpuKernel(std::shared_ptr<const CpuModule> module, cpu_backend::KernelEntry entry, const std::string& name)
    : entry(entry), module_(std::move(module)) {
  name_ = name;
  backend = &module_->backend();
  max_threads_per_block = backend->limits().max_threads_per_block;
  has_users_code = !module_->object().image().empty();  // a line table says whose
  if (auto signature = signature_of(module_->object().signatures(), name)) {
    has_users_code = true;
    parameters_ = std::move(signature->parameters);
    static_shared_bytes = signature->shared_bytes;
    if (signature->max_threads > 0 && signature->max_threads < static_cast<std::size_t>(max_threads_per_block)) {
      max_threads_per_block = static_cast<int>(signature->max_threads);
    }
    if (auto table = cpu_backend::check_table_of(module_->object().check_table(), name)) {
      is_checked = true;
      checks = std::move(*table);
    }
  } else {
    max_shared_bytes = std::numeric_limits<std::uint32_t>::max();  // a generated task's memory is the thread's alone; what is allowed for CUDA C is what a GPU has, too
  }
}

CpuKernel::CpuKernel(Backend& device, const cpu_backend::NativeKernel& kernel) : entry(kernel.entry) {
  name_ = kernel.name;
  backend = &device;
  max_threads_per_block = device.limits().max_threads_per_block;
  parameters_.emplace({ParameterType::parse(kernel.parameter, kernel.bytes)});
}

const cpu_backend::LoadedObject& CpuKernel::object() const { return module_->object(); }

CpuModule::CpuModule(Backend& backend, std::span<const std::byte> object, const std::string& name)
    : backend_(backend), object_(object, name) {}

std::shared_ptr<const LoadedKernel> CpuModule::kernel(const std::string& name) const {
  return std::make_shared<CpuKernel>(shared_from_this(), object_.kernel(name), name);
}

std::pair<void*, std::size_t> CpuModule::global(const std::string& name) const {
  std::string symbol = variable_symbol(name);
  if (object_.size_of(symbol) == 0) symbol = find_variable(object_.variables(), name);
  const std::size_t bytes = object_.size_of(symbol);
  return bytes > 0 ? std::pair(object_.find(symbol), bytes) : std::pair<void*, std::size_t>(nullptr, 0);
}

std::vector<std::string> CpuModule::kernel_names() const {
  std::vector<std::string> names;
  for (std::string_view lines = object_.signatures(); !lines.empty();) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    // "space::name: types": the colon of a name has another beside it.
    if (const std::size_t end = line.find(": "); end != std::string_view::npos) names.emplace_back(line.substr(0, end));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace damo
