// What the emulated driver runs: modules that the CPU back end of a Damo of the library's own has compiled, apart from the one that the program under test is.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/backend.hpp"

namespace damo::emulated_gpu {

inline constexpr std::string_view kMagic = "emulated GPU code\n";

/// The code that the emulated compiler hands out: the request, as bytes that tell their own length.
std::string code_of(const CompileRequest& request);
CompileRequest request_of(const void* code);

/// Throws CompileError.
std::shared_ptr<const LoadedModule> compile(const CompileRequest& request);

/// By its name in the GPU's code. Null if there is none.
std::shared_ptr<const LoadedKernel> kernel_of(const LoadedModule& module, const std::string& name);

/// How many blocks of the kernel are a cluster, which meets by calls of call_cluster() (clusters.hpp); 1 if it has none.
int cluster_of(const LoadedModule& module, const std::string& kernel);

/// A launch with its arguments' values.
struct Launch {
  std::shared_ptr<const LoadedKernel> kernel;
  LaunchConfig config;
  std::vector<std::vector<std::byte>> arguments;
  int cluster = 1;
  Launch() = default;
  Launch(std::shared_ptr<const LoadedKernel> kernel, const LaunchConfig& config, void* const* arguments, int cluster);
  std::vector<void*> pointers() const;
  /// At once, in the calling thread and those that it takes along. False: the kernel has faulted.
  bool run() const;
};

}  // namespace damo::emulated_gpu
