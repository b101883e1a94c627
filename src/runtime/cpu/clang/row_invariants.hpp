// What is the same for all threads of the loop over threadIdx.x, and the same value in front of that loop.
#pragma once
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>

#include <map>
#include <vector>

namespace damo::clang_plugin {

/// The calls of __damo_thread_loop, one in each loop over threadIdx.x.
std::vector<llvm::CallInst*> thread_loop_markers(llvm::Function& entry);

/// Where the threads of entry's rows note their indices: the ThreadState of the marker __damo_indices; null if there is none.
llvm::Value* indices_of(const llvm::Function& entry);

class RowInvariants {
 public:
  /// loop: over threadIdx.x, with a predecessor.
  RowInvariants(const llvm::Loop& loop, const llvm::DominatorTree& dominators);

  /// From now on value counts as the same for all; it is copied as copy, once that is known.
  void assume(llvm::Value* value, llvm::Value* copy = nullptr) { copies_[value] = copy; }
  void forget(llvm::Value* value) { copies_.erase(value); }

  /// True of what no thread of the row differs in: arithmetic on what is known before or assumed, on sizes, on block indices
  /// and on threadIdx.y and z.
  bool is_invariant(const llvm::Value* value) const { return is_same(value, 0); }

  /// value, computed where builder stands, in front of the loop; null if it is not invariant. What could wrap there does so quietly.
  llvm::Value* in_front(llvm::Value* value, llvm::IRBuilderBase& builder);

 private:
  bool is_same(const llvm::Value* value, int depth) const;
  bool is_known_before(const llvm::Value* value) const;
  llvm::Value* copy(llvm::Value* value, llvm::IRBuilderBase& builder);

  const llvm::Loop& loop_;
  const llvm::BasicBlock* before_;
  const llvm::DominatorTree& dominators_;
  llvm::Value* noted_[3] = {};  ///< threadIdx.y and z
  std::map<const llvm::Value*, llvm::Value*> copies_;  ///< null: not made yet
};

}  // namespace damo::clang_plugin
