// CUDA C on the CPU, the part on the IR: index reads become loop variables, shared-memory and constant address spaces
// become ordinary globals, entries get their kernels' names.
#pragma once
#include <string>
#include <vector>

#include "kernels.hpp"

namespace llvm {
class Module;
}

namespace damo::clang_plugin {

struct Lowering {
  bool split = true;   ///< threads that wait become loops where that can be, else coroutines
  bool check = false;  ///< accesses to memory are checked (check_memory.hpp); each thread is run by itself
};

/// Leaves in module one function a kernel, of the KernelEntry type under the kernel's name, and the text of signatures()
/// as damo_signatures; completes kernels. False with an error text where a kernel has a shape that can't run.
bool lower_cuda(llvm::Module& module, std::vector<KernelInfo>& kernels, const Lowering& how, std::string& error);

}  // namespace damo::clang_plugin
