// Which values are the same in all threads of a block that compute them, as long as these threads go the same way: LLVM's
// uniformity analysis, of a target that says where threads begin to differ.
// A plain load from one address is, as long as nobody can have written there between two threads' loads: a kernel without a
// race needs a barrier of the block for that, or something else that orders threads (orders_threads, barriers of some of them).
// Behind such a thing, up to the next barrier of the block, loads differ. Waits of a warp do not order the block's other warps.
#pragma once
#include <llvm/IR/Instructions.h>

#include <set>

#include "thread_program.hpp"

namespace damo::clang_plugin {

class Uniformity {
 public:
  explicit Uniformity(ThreadProgram& program);

  /// Of what can't be shown to be the same, true.
  bool differs(const llvm::Value* value) const { return differing_.count(value) != 0; }
  /// True if threads may leave block on different ways.
  bool parts(const llvm::BasicBlock* block) const { return parting_.count(block) != 0; }

 private:
  void find_ordered_blocks();
  bool begins_differing(const llvm::Instruction& instruction) const;

  ThreadProgram& program_;
  std::set<const llvm::Value*> differing_;
  std::set<const llvm::BasicBlock*> parting_;
  std::set<const llvm::BasicBlock*> ordered_;  ///< where threads may have met otherwise since the last barrier
};

}  // namespace damo::clang_plugin
