#include "runtime/cpu/fuzz/fuzz_launch.hpp"

#include <cstring>
#include <optional>
#include <vector>

#include <damo/error.hpp>

#include "runtime/cpu/compile_support.hpp"
#include "runtime/memory/memory_pool.hpp"

namespace damo::cpu_backend::testing {
namespace {

constexpr std::size_t kArrayBytes = 16 << 10, kShared = 1 << 10;

/// 64-bit words that hold the arguments; arrays of zeros and ones in turn. Nothing for a struct.
std::optional<std::vector<std::uint64_t>> arguments_for(const LoadedKernel& kernel, CpuBackend& backend) {
  std::vector<std::uint64_t> words;
  if (!kernel.parameters()) return std::nullopt;
  for (const ParameterType& parameter : *kernel.parameters()) {
    if (parameter.bytes > sizeof(std::uint64_t)) return std::nullopt;
    if (parameter.kind == ParameterType::Kind::kPointer) {
      void* const memory = backend.pool().allocate(kArrayBytes);
      std::memset(memory, static_cast<int>(words.size() % 2), kArrayBytes);
      words.push_back(reinterpret_cast<std::uint64_t>(memory));
    } else {
      words.push_back(64);
    }
  }
  return words;
}

void free_arrays(const LoadedKernel& kernel, CpuBackend& backend, const std::vector<std::uint64_t>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if ((*kernel.parameters())[i].kind == ParameterType::Kind::kPointer) backend.pool().release(reinterpret_cast<void*>(words[i]), kArrayBytes);
  }
}

bool launch_one(CpuBackend& backend, const LoadedKernel& kernel) {
  auto words = arguments_for(kernel, backend);
  if (!words) return false;
  std::vector<void*> arguments;
  for (std::uint64_t& word : *words) arguments.push_back(&word);
  try {
    const LaunchConfig config{{2}, {64}, kShared};
    check_launch(kernel, config);
    backend.launch(kernel, config, arguments.data(), nullptr);
  } catch (const Error&) {
    // Out of bounds, a fault, a loop without an end: as it should be.
  }
  free_arrays(kernel, backend, *words);
  return true;
}

}  // namespace

int launch_kernels(CpuBackend& backend, const std::string& source) {
  const CompileOutput output = compile_cuda(source, {}, {"--damo-check"});
  if (!output.ok) return 0;
  int launches = 0;
  try {
    const auto module = backend.load(output.object, "fuzz");
    for (const std::string& name : module->kernel_names()) launches += launch_one(backend, *module->kernel(name));
  } catch (const Error&) {
    // What can't be loaded.
  }
  return launches;
}

}  // namespace damo::cpu_backend::testing
