// What the front end and the lowering tell each other, and the loader, about each CUDA C kernel.
#pragma once
#include <string>
#include <vector>

namespace damo::clang_plugin {

/// Static __shared__ memory of a kernel.
struct SharedVariable {
  std::string symbol;
  unsigned long offset, bytes;
};

struct KernelInfo {
  std::string name;    ///< as asked for: "scale", "scale<float>"
  std::string entry;   ///< symbol: runs blocks of independent threads, in loops; of the KernelEntry type
  std::string thread;  ///< symbol: runs one thread
  std::string blocks;  ///< symbol: calls .thread once a block; of the KernelEntry type
  std::string place = {};  ///< "user.cu:12"
  std::vector<std::string> parameter_types = {};
  std::vector<unsigned> parameter_bytes = {};
  std::vector<std::string> parameter_names = {};
  std::vector<SharedVariable> shared_variables = {};  ///< known after lowering, by their offsets
  unsigned long shared_bytes = 0;  ///< static __shared__ memory; known after lowering
  unsigned long max_threads = 0;   ///< of a block, by __launch_bounds__; 0: as many as the device takes
};

/// One line a kernel: "name: float *, int<TAB>8,4<TAB>1024,256": parameter types, their sizes; bytes of static shared
/// memory and max_threads.
std::string signatures(const std::vector<KernelInfo>& kernels);

}  // namespace damo::clang_plugin
