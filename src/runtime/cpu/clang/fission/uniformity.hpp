// Which values are the same in all threads of a block that compute them, as long as these threads go the same way.
// LLVM's own UniformityInfo is not asked: in LLVM 19 it stops before the ways of some branches meet (llvm-project issue 137277), misses
// constants that two exits of a loop bring (pull request 216296), and calls the same what is so in each step of a loop that threads
// leave one by one, where a value is not to be used, or computed again, behind that loop.
// A plain load from one address is, as long as nobody can have written there between two threads' loads: a kernel without a
// race needs a barrier of the block for that, or something else that orders threads (orders_threads, barriers of some of them).
// Behind such a thing, up to the next barrier of the block, loads differ. Waits of a warp do not order the block's other warps.
#pragma once
#include "thread_program.hpp"

namespace damo::clang_plugin {

class Uniformity {
 public:
  /// of_row: in a row of threads, which have y and z in common.
  explicit Uniformity(ThreadProgram& program, bool of_row = false);

  /// Of what can't be shown to be the same, true.
  bool differs(const llvm::Value* value) const { return differing_.count(value) != 0; }
  /// The same for all threads of a row, or of a row's part in one warp: worked out from what is the same in the block, and from y, z and the warp.
  bool is_same_in_row(const llvm::Value* value, bool in_warp, int depth = 0) const;
  /// True if threads may leave block on different ways.
  bool parts(const llvm::BasicBlock* block) const;
  /// As far as threads of a row, or of its part in one warp, go.
  bool parts_row(const llvm::BasicBlock* block, bool in_warp) const;

 private:
  void find_ordered_blocks();
  bool begins_differing(const llvm::Instruction& instruction) const;
  bool mark(const llvm::Value* value) { return differing_.insert(value).second; }
  bool spread(llvm::BasicBlock* block);
  bool spread_from_branch(llvm::BasicBlock* block);

  ThreadProgram& program_;
  const bool of_row_;
  std::set<const llvm::Value*> differing_;
  std::set<const llvm::Value*> same_results_;  ///< of barriers that count
  std::set<const llvm::BasicBlock*> parted_;   ///< whose branch has been spread
  std::set<const llvm::BasicBlock*> ordered_;  ///< where threads may have met otherwise since the last barrier
};

}  // namespace damo::clang_plugin
