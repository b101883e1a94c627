#include "fibers.hpp"

#include <llvm/IR/Module.h>

#include "thread_function.hpp"

namespace damo::clang_plugin {

void call_for_waits(llvm::Module& module) {
  if (llvm::Function* const wait = module.getFunction("__damo_wait")) wait->setName("damo_wait_on_fiber");
}

void make_fibers(llvm::Module& module, const KernelInfo& kernel) {
  call_runner(module, kernel, "damo_run_fibers", *module.getFunction(kernel.thread));
}

}  // namespace damo::clang_plugin
