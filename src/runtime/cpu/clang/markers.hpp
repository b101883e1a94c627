// The prelude's marker functions on the IR: which index a call reads, and the index arithmetic of CUDA programs.
#pragma once
#include "ir.hpp"

namespace damo::clang_plugin {

/// kPlace: the thread's lane, its warp in the block and its number there. Nobody lowers those: fission makes them of the text's
/// arithmetic (name_places), for itself.
enum MarkerGroup { kThread, kBlock, kBlockSize, kGridSize, kPlace };
enum Place { kLane = kPlace * 3, kWarp, kNumber };

/// The member of ThreadState that a marker reads, group * 3 + axis; -1 for anything else.
int marker_slot(const llvm::Function* function);
int marker_slot(const llvm::Value* value);
/// True of the slots of what differs from thread to thread.
inline bool is_of_thread(int slot) { return slot >= 0 && (slot / 3 == kThread || slot / 3 == kPlace); }

/// Marks the loop over threadIdx.x that builder stands in; what it is in a row of threads that have y and z in common.
void call_thread_loop(llvm::IRBuilderBase& builder, llvm::Value* y, llvm::Value* z);
/// Those calls, one in each loop over threadIdx.x.
std::vector<llvm::CallInst*> thread_loop_markers(llvm::Function& function);

/// All calls of what is called so in function.
std::vector<llvm::CallInst*> calls_of(llvm::Function& function, llvm::StringRef name);

/// Leaves one read of each index or size in function, at its beginning.
void unite_markers(llvm::Function& function);

/// Reads an index or size where builder stands, as 32 bits or as 64.
llvm::Value* call_marker(llvm::IRBuilderBase& builder, MarkerGroup group, int axis);
llvm::Value* read_marker(llvm::IRBuilderBase& builder, MarkerGroup group, int axis);

/// value, or what it extends to 64 bits. No index is negative, so that both extensions of one are the same.
const llvm::Value* without_extension(const llvm::Value* value);

/// True of threadIdx.x, and of the thread's index in the grid along x.
bool is_index_on_x(const llvm::Value* value);

/// The axis on which value is blockIdx * blockDim + threadIdx, in 32 or 64 bits; -1 if it is not.
int global_index_axis(const llvm::Value* value);

/// The axis on which value is left * blockDim, left being kBlock or kGridSize; -1 if it is not.
int block_product_axis(const llvm::Value* value, MarkerGroup left);

}  // namespace damo::clang_plugin
