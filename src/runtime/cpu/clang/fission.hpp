// A kernel whose threads wait for each other, as loops: the thread function is cut into regions at its waits, and each
// region runs in a loop over the threads of the block before the next one begins. That vectorises, and a wait costs
// nothing. Folder fission/ has the steps: thread_program, uniformity, regions, thread_loop, region_values, local_arrays,
// region_exits.
#pragma once
#include "kernels.hpp"

namespace llvm {
class Module;
}

namespace damo::clang_plugin {

/// Makes kernel.thread a function that runs a whole block, to be called by kernel.blocks. After inlining, while index
/// markers and __damo_wait are calls. False where the kernel has a shape that this can't take; it is then as right as before,
/// and make_coroutine takes it.
bool split_at_barriers(llvm::Module& module, const KernelInfo& kernel);

}  // namespace damo::clang_plugin
