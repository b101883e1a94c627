// The loop nest in which one region runs for the threads of a block, and the memory that threads keep between regions.
#pragma once
#include "../markers.hpp"
#include "regions.hpp"
#include "thread_places.hpp"

namespace damo::clang_plugin {

/// begin -> z, y -> header of x -> choose -> top -> (the region's blocks) -> latch -> ... -> end
struct ThreadLoop {
  llvm::BasicBlock* begin = nullptr;  ///< once a block, before its threads
  llvm::BasicBlock* row = nullptr;    ///< once a row of threads, or part of one, before them
  llvm::BasicBlock* header = nullptr; ///< of x, whose end it asks for
  llvm::BasicBlock* choose = nullptr; ///< once a thread: does it take part?
  llvm::BasicBlock* top = nullptr;    ///< once a thread that does
  llvm::BasicBlock* latch = nullptr;             ///< of x
  std::vector<llvm::BasicBlock*> outer_latches;  ///< of y and z, and of parts of rows
  llvm::BasicBlock* end = nullptr;    ///< once a block, after its threads
  llvm::Value* index[3] = {};         ///< threadIdx
  llvm::Value* thread = nullptr;      ///< its number in the block, 64 bit
  llvm::Value* place[3] = {};         ///< lane, warp and number
  llvm::Value* value_of(int slot) const { return slot < kPlace * 3 ? index[slot] : place[slot - kPlace * 3]; }
};

/// Arrays of one element a thread, in memory of the worker, each 64-aligned.
class ThreadMemory {
 public:
  /// of_row: the block is one row of it (Rounds::choose).
  ThreadMemory(ThreadProgram& program, bool of_row);

  llvm::Value* size[3];  ///< of the block; along x that of several where they are joined (block_rows.cpp)
  llvm::Value* count;  ///< of threads, 64 bit
  llvm::Value* row[3] = {};  ///< threadIdx.y and z, where they are known
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

/// True if something in the region is worked out from a thread's lane or warp. Until it is placed.
bool asks_for_warps(const ThreadLoop& loop);

/// Gives the region's threads their lanes and warps. in_warps: a row's threads are run warp by warp, so that
/// the lane is one more in the next round, and the warp the same.
void place_threads(ThreadLoop& loop, const ThreadMemory& memory, Origin origin, bool in_warps);

/// The number of the first thread of a row, or part of one, where builder stands at the end of loop.row; 64 bit.
llvm::Value* first_thread(llvm::IRBuilder<>& builder, const ThreadLoop& loop, const ThreadMemory& memory);

/// Passes over rows, or parts of them, for which condition, known at the end of loop.row, is false.
void run_row_if(const ThreadLoop& loop, llvm::Value* condition);

/// Lets the nest run once, for whatever thread.
void run_once(const ThreadLoop& loop);

/// Ends each row where takes_part fails, "place < count": count is known in loop.begin, and those that fail do nothing in the region and leave it with what they came with.
void end_rows(ThreadLoop& loop, const ThreadMemory& memory, llvm::ICmpInst& takes_part);

/// A thread's own arrays and structures that did not become plain values. One that a single region uses, afresh each time,
/// stays as it is; others get a place for each thread. (local_arrays.cpp)
void split_local_arrays(ThreadProgram& program, Regions& regions, ThreadMemory& memory, const std::map<Region*, ThreadLoop>& loops);

}  // namespace damo::clang_plugin
