// The function that runs one thread, "void thread(arguments, ThreadState*)", and what its code asks of the ThreadState:
// the block's and the thread's indices, and shared memory. Functions that could not be inlined ask the runtime for the
// ThreadState of the thread that calls them.
#pragma once
#include "ir.hpp"
#include "kernels.hpp"
#include "runtime/cpu/kernel_abi.hpp"

namespace damo::clang_plugin {

using cpu_backend::ThreadState;
using WaitKind = cpu_backend::Wait;

enum ThreadStateOffset {
  kFrameOffset = offsetof(ThreadState, frame),
  kKindOffset = offsetof(ThreadState, kind),
  kMaskOffset = offsetof(ThreadState, mask),
  kValueOffset = offsetof(ThreadState, value),
  kOperandOffset = offsetof(ThreadState, operand)
};
constexpr unsigned kSharedOffset = offsetof(cpu_backend::LaunchFrame, shared);
constexpr int kExited = static_cast<int>(WaitKind::kExited);  ///< ThreadState::kind of a thread that has returned

/// True of the functions that run one thread, before they get their kernels' names.
bool is_thread_function(const llvm::Function& function);

/// Index arithmetic that can't wrap is marked so: see the .cpp.
void mark_global_indices(llvm::Function& function);

/// Marker reads become loads from the function's ThreadState.
void lower_markers(llvm::Function& function);

/// The call that names an entry's ThreadState, in which its threads note their indices; null if there is none.
llvm::CallInst* tie_of(llvm::Function& function);

/// Ties an entry's ThreadState to the running thread where a function outside asks for it, and removes the tie marker.
void lower_tie(llvm::Function& entry);

/// Shared memory's address, loaded at the function's beginning.
llvm::Value* shared_memory_of(llvm::Function& function);

/// True if an entry asks where shared memory is.
bool uses_shared_memory(const llvm::Function& entry);

/// Makes kernel.entry: a call of the runtime's function runner, which runs thread for every thread of the blocks.
void call_runner(llvm::Module& module, const KernelInfo& kernel, const char* runner, llvm::Function& thread);

inline constexpr const char* kWait = "__damo_wait";

/// Puts one that gives nothing where builder stands.
llvm::CallInst* call_wait(llvm::IRBuilder<>& builder, WaitKind kind, unsigned mask);

/// True if value calls that.
bool is_wait(const llvm::Value* value);

/// True of what may let a thread know how far another one is, or wait until it gets there: atomic and volatile accesses,
/// fences, functions that were not inlined and so may have such. Threads without any are in no order, but for waits.
bool orders_threads(const llvm::Instruction& instruction);

}  // namespace damo::clang_plugin
