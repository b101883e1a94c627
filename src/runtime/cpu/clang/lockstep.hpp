// Code written for warps whose lanes go in step, without __syncwarp: "volatile float* s; s[t] += s[t + 16]; s[t] += s[t
// + 8];". Volatile accesses to shared memory are where its threads meet: all lanes that stand at one have read before
// any of them writes, and have written before any reads on. A thread that waits in a loop for what another one will
// write there lets that one run. See finish_warp_operations in runtime/cpu/warp.cpp for which lanes go on.
#pragma once

namespace llvm {
class Function;
class Module;
}  // namespace llvm

namespace damo::clang_plugin {

/// False: no function of the module can have such accesses. Before inlining.
bool may_go_in_step(const llvm::Module& module);

struct InStep {
  bool waits = false;     ///< there is such an access
  bool may_spin = false;  ///< a loop may go on until another thread writes: regions of all threads are no form for that
};

/// Gives thread a wait before each of those accesses that needs one, and, if it waits elsewhere too, at the end of each turn
/// of a loop that asks for what another thread does: a lock may be held across a wait. After inlining, while shared variables
/// have their address space.
InStep keep_in_step(llvm::Function& thread, bool waits);

}  // namespace damo::clang_plugin
