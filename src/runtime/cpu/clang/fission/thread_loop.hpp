// The loop nest in which one region runs for the threads of a block, and the memory that threads keep between regions.
#pragma once
#include "regions.hpp"

namespace damo::clang_plugin {

/// begin -> z, y, x -> top -> (the region's blocks) -> latch -> ... -> end
struct ThreadLoop {
  llvm::BasicBlock* begin = nullptr;  ///< once a block, before its threads
  llvm::BasicBlock* choose = nullptr; ///< once a thread: does it take part?
  llvm::BasicBlock* top = nullptr;    ///< once a thread that does
  llvm::BasicBlock* latch = nullptr;             ///< of x
  llvm::BasicBlock* outer_latches[2] = {};       ///< of y and z
  llvm::BasicBlock* end = nullptr;    ///< once a block, after its threads
  llvm::Value* index[3] = {};         ///< threadIdx
  llvm::Value* thread = nullptr;      ///< its number in the block, 64 bit
};

/// Arrays of one element a thread, in memory of the worker, each 64-aligned.
class ThreadMemory {
 public:
  explicit ThreadMemory(ThreadProgram& program);

  llvm::Value* block_size[3];
  llvm::Value* count;  ///< of threads, 64 bit
  /// The address of an array of elements of this many bytes, known in the prologue.
  llvm::Value* array(unsigned long bytes);
  /// Asks for the memory, all arrays being known.
  void finish();
  /// A variable of the block.
  llvm::AllocaInst* variable(llvm::Type* type);
  bool is_variable(const llvm::AllocaInst* variable) const { return variables_.count(variable) != 0; }

 private:
  ThreadProgram& program_;
  llvm::Value* padded_;
  llvm::CallInst* memory_;
  unsigned long bytes_ = 0;  ///< a thread
  std::set<const llvm::AllocaInst*> variables_;
};

/// The empty nest for region, before leader. Its top is not yet tied to the leader's ways in.
ThreadLoop make_thread_loop(ThreadProgram& program, const ThreadMemory& memory, Region& region);

/// A thread's own arrays and structures that did not become plain values. One that a single region uses, afresh each time,
/// stays as it is; others get a place for each thread. (local_arrays.cpp)
void split_local_arrays(ThreadProgram& program, Regions& regions, ThreadMemory& memory, const std::map<Region*, ThreadLoop>& loops);

}  // namespace damo::clang_plugin
