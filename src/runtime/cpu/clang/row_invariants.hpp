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

class RowInvariants {
 public:
  /// loop: over threadIdx.x, with a predecessor.
  RowInvariants(const llvm::Loop& loop, const llvm::DominatorTree& dominators) : loop_(loop), dominators_(dominators) {}

  /// True of what no thread of the row differs in: arithmetic on what is known before, on sizes, on block indices and on
  /// threadIdx.y and z.
  bool is_invariant(const llvm::Value* value) const { return depth_of(value, true, 0); }

  /// value, computed where builder stands, in front of the loop; null if it can't be: it has to do with threads, or is no
  /// plain arithmetic. What could wrap there does so quietly.
  llvm::Value* in_front(llvm::Value* value, llvm::IRBuilderBase& builder);

 private:
  bool depth_of(const llvm::Value* value, bool allow_thread_yz, int depth) const;
  bool is_known_before(const llvm::Value* value) const;
  llvm::Value* copy(llvm::Value* value, llvm::IRBuilderBase& builder);

  const llvm::Loop& loop_;
  const llvm::DominatorTree& dominators_;
  std::map<llvm::Value*, llvm::Value*> copies_;
};

}  // namespace damo::clang_plugin
