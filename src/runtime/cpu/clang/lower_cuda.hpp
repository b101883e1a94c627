// CUDA C on the CPU, the part on the IR: index reads become loop variables, shared-memory and constant address spaces
// become ordinary globals, entries get their kernels' names.
#pragma once
#include "ir.hpp"
#include "kernels.hpp"

namespace damo::clang_plugin {

/// What the threads of a block become. Each form gives the same values.
enum class Form {
  kLoops,       ///< loops over threads where that can be, else as below
  kCoroutines,  ///< as above, but that threads that wait become coroutines, or fibers
  kReference    ///< each thread is run by itself, those that wait on fibers: no loop is made or changed, nothing is declared parallel
};

struct Lowering {
  Form form = Form::kLoops;
  bool check = false;  ///< accesses to memory are checked (check_memory.cpp); of the reference form
};

/// Leaves in module one function a kernel, of the KernelEntry type under the kernel's name, and the text of signatures()
/// as damo_signatures; completes kernels. With an error text: kRefused where a kernel has a shape that can't run in any form;
/// kBroken where what a pass made is no valid function, for which another form may do.
enum class Lowered { kYes, kRefused, kBroken };
Lowered lower_cuda(llvm::Module& module, std::vector<KernelInfo>& kernels, const Lowering& how, const Progress& progress, std::string& error);

}  // namespace damo::clang_plugin
