// A kernel that waits inside a function which could not be inlined (recursion, a call through a pointer): each thread
// gets a stack of its own, and a wait is a call that switches stacks. See runtime/cpu/cooperative.cpp.
#pragma once

#include "kernels.hpp"

namespace llvm {
class Module;
}

namespace damo::clang_plugin {

/// Turns every wait of the module into a call of the runtime.
void call_for_waits(llvm::Module& module);

/// Gives kernel.entry its body, which runs kernel.thread on fibers.
void make_fibers(llvm::Module& module, const KernelInfo& kernel);

}  // namespace damo::clang_plugin
