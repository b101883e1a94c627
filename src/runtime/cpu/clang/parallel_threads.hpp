// Loops over threads, declared parallel: the vectoriser then does not ask whether one round reads what another one writes.
// What that needs, and where it is shown:
// - Threads are independent. Between barriers they may run in any order, as the kernel has no race, unless something else
//   lets one see how far another one is (orders_threads): then nothing is declared.
// - Memory that an access touches belongs to the threads of the program, not to the one function that now runs them all: a
//   local array is one for all rounds. Accesses of those, and loops where such an address gets out, are not declared.
// - A thread's own accesses keep their order. LLVM's vectoriser gathers accesses with gaps (y[2 * i], y[2 * i + 1]) into groups,
//   loads at the first and stores at the last of them, and in a loop that is declared parallel takes for granted that nothing
//   between them touches the same place. keep_order_of_accesses looks for that where it happens, behind all changes of the loops.
#pragma once
#include "ir.hpp"

namespace llvm {
class PassBuilder;
}

namespace damo::clang_plugin {

/// Tells the vectoriser of the loop of these blocks over the threads of a row, if all of the above but the last is so.
/// properties: more that is to be said of the loop.
void declare_threads_independent(llvm::BasicBlock& latch, llvm::ArrayRef<llvm::BasicBlock*> blocks, llvm::ArrayRef<llvm::MDNode*> properties = {});

/// Tells of every loop over the threads of a row in entry, and removes the markers __damo_thread_loop.
void declare_rows_independent(llvm::Function& entry);

/// In front of the vectoriser, on loops in the shape that it sees: takes the declaration back where a strided access would pass
/// another access of its thread that LLVM's alias analysis and scalar evolution can't tell to be of another place. The vectoriser
/// then asks at run time whether arrays overlap.
void keep_order_of_accesses(llvm::PassBuilder& builder);

}  // namespace damo::clang_plugin
