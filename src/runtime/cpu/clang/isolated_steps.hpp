// A kernel's loop in a loop over threadIdx.x, cut out so that it stands alone in one:
//   for (x) { before; for (steps) body; after; }
// becomes
//   for (x) { before; keep; }   for (x) { for (steps) body; }   for (x) { after; }
// What a thread carries from one part or step to the next is kept in an array with a place for each thread of the row.
// The loop in the middle may then change places with its steps (step_interchange.cpp).
// Needs, and so does any such change of places:
// - Nothing in the row up to the end of the steps lets one thread know about another (orders_threads): then threads are in no
//   order up to there, and what one thread does stays in its order.
// - The steps end in their header alone, and the header has no effect: it is asked once more than the body is run.
// - Nothing before the steps has an effect: all of it is done again. Own loops, and own local arrays, there are none.
#pragma once
#include "row_values.hpp"

namespace damo::clang_plugin {

/// The most threads of a row in which values are kept: blocks have at most 1024, joined ones stop here.
constexpr unsigned kKeptThreads = 4096;

/// True if nothing tells in which order threads run their steps, and how often the header of the steps is run.
bool are_steps_free(const llvm::Loop& threads, const llvm::Loop& steps);

/// True if a local variable of entry lives from step to step: then it would be one for all threads. Beside kept values, only
/// indices, the row's own, may.
bool has_local_memory(const llvm::Function& entry, const llvm::Value& indices);

/// True of loads and stores of such an array, and only there: each thread has its own place.
bool is_kept_value(const llvm::Value* object);
bool keeps_values(const llvm::Function& entry);

class IsolatedSteps {
 public:
  /// steps: the one loop in threads, which is over threadIdx.x. own: its phis that each thread has its own value of.
  IsolatedSteps(llvm::Loop& threads, llvm::Loop& steps, std::vector<llvm::PHINode*> own, const llvm::DominatorTree& dominators, const RowValues& values);

  /// True if the cut can be made: what stands before the loop can be done again and not be noticed.
  bool is_possible() const { return is_possible_; }
  /// True if anything goes from part to part or from step to step.
  bool needs_arrays() const { return !own_.empty() || !kept_.empty(); }

  /// Makes it. The loop in the middle consists of the old blocks; gives the block that its steps leave to. Loops and
  /// dominators that were computed before are no longer true.
  llvm::BasicBlock* cut();

 private:
  bool has_shape() const;
  bool can_repeat_what_is_before() const;
  bool read_uses();
  bool is_after(const llvm::BasicBlock* block) const { return dominators_.dominates(steps_.getHeader(), block); }
  bool is_cheap(const llvm::Value* value, int depth = 0) const;
  llvm::Value* place(llvm::IRBuilder<>& builder, llvm::Value* array) const;
  void keep_values();
  void copy_loop(std::vector<llvm::BasicBlock*> blocks);

  llvm::Loop &threads_, &steps_;
  std::vector<llvm::PHINode*> own_;
  const llvm::DominatorTree& dominators_;
  const RowValues& values_;
  std::vector<llvm::Instruction*> kept_;  ///< computed before, used in the loop or after it
  llvm::BasicBlock *enter_ = nullptr, *leave_ = nullptr, *exit_ = nullptr;
  std::vector<llvm::StoreInst*> stores_;  ///< in enter_
  bool is_possible_ = false;
};

}  // namespace damo::clang_plugin
