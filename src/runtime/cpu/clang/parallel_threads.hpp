// The loops over threadIdx.x: threads without barriers or atomics are independent, so no alias check is needed between
// them. Memory of the kernel's own local arrays is the exception: inlining made one array out of each thread's own.
#pragma once

namespace llvm {
class Function;
}

namespace damo::clang_plugin {

/// Tells the vectoriser, and removes the markers __damo_thread_loop.
void declare_threads_independent(llvm::Function& entry);

}  // namespace damo::clang_plugin
