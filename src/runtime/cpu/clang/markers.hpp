// The prelude's marker functions on the IR: which index a call reads, and the index arithmetic of CUDA programs.
#pragma once
#include <llvm/IR/Value.h>

namespace llvm {
class Function;
class Instruction;
}  // namespace llvm

namespace damo::clang_plugin {

enum MarkerGroup { kThread, kBlock, kBlockSize, kGridSize };

/// The member of ThreadState that a marker reads, group * 3 + axis; -1 for anything else.
int marker_slot(const llvm::Function* function);
int marker_slot(const llvm::Value* value);

/// The axis on which value is blockIdx * blockDim + threadIdx, in 32 or 64 bits; -1 if it is not.
int global_index_axis(const llvm::Value* value);

/// The axis on which value is left * blockDim, left being kBlock or kGridSize; -1 if it is not.
int block_product_axis(const llvm::Value* value, MarkerGroup left);

}  // namespace damo::clang_plugin
