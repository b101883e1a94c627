// A kernel whose threads wait for each other, as coroutines: the thread function becomes one that returns at each wait
// and is resumed by runtime/cpu/cooperative.cpp, which decides when. Takes any control flow; a switch costs about 9 ns.
#pragma once

#include "kernels.hpp"

namespace llvm {
class Module;
}

namespace damo::clang_plugin {

/// Makes C the language that the line tables name. In C++ LLVM describes the frame of every coroutine for debuggers, and looks for
/// a promise to do so, which ours have not.
void call_language_c(llvm::Module& module);

/// Replaces kernel.thread by "void* start(arguments, ThreadState*)" and gives kernel.entry its body. LLVM's own
/// coroutine passes, in the optimiser's pipeline, split it.
void make_coroutine(llvm::Module& module, const KernelInfo& kernel);

}  // namespace damo::clang_plugin
