// What the front end and the lowering tell each other, and the loader, about each CUDA C kernel.
#pragma once
#include <llvm/ADT/StringRef.h>

#include <cstdio>
#include <string>
#include <vector>

namespace damo::clang_plugin {

/// Of __shared__ variables, until each has its place in the worker's shared memory.
inline constexpr const char* kSharedSection = "damo_shared";

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
  std::vector<bool> by_address = {};  ///< of each parameter: a class of which a caller passes the address of a copy, by the ABI
  std::vector<std::string> parameter_names = {};
  std::vector<SharedVariable> shared_variables = {};  ///< known after lowering, by their offsets
  unsigned long shared_bytes = 0;  ///< static __shared__ memory; known after lowering
  unsigned long max_threads = 0;   ///< of a block, by __launch_bounds__; 0: as many as the device takes
};

/// What a compile works on, in words that are still there if it faults.
class Progress {
 public:
  Progress(char* text, std::size_t bytes) : text_(text), bytes_(bytes) {}
  /// "kernel 'k' (user.cu:12)".
  void at(const KernelInfo& kernel) const { std::snprintf(text_, bytes_, "kernel '%s' (%s)", kernel.name.c_str(), kernel.place.c_str()); }
  /// The kernel that a function of the module belongs to, if that can be seen from its name.
  void at_function(llvm::StringRef name, const std::vector<KernelInfo>& kernels) const {
    for (const KernelInfo& kernel : kernels) {
      const llvm::StringRef rest = name.starts_with(kernel.thread) ? name.drop_front(kernel.thread.size()) : "0";
      if (name == kernel.name || rest.empty() || rest.front() == '.') return at(kernel);
    }
  }

 private:
  char* text_;
  std::size_t bytes_;
};

}  // namespace damo::clang_plugin
