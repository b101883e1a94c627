// What a value is in the threads of the loop over threadIdx.x: the same in all of them, and then the same value in front of that
// loop, or more by a constant from each to the next.
#pragma once
#include <llvm/IR/Operator.h>

#include <optional>

#include "markers.hpp"

namespace damo::clang_plugin {

/// How values change from each thread of a row to the next.
class RowSteps {
 public:
  virtual ~RowSteps() = default;

  /// True of what no thread of the row differs in.
  virtual bool is_invariant(const llvm::Value* value) const = 0;
  /// True of threadIdx.x, and of the thread's index in the grid along x.
  virtual bool is_index(const llvm::Value* value) const { return is_index_on_x(value); }

  /// By how much more value is in the next thread, in bytes for addresses; nothing where that depends. As a proof: an integer is more
  /// by exactly so much, modulo its width. As a guess casts change nothing, and what all threads read from one place is the same.
  enum class As { kProof, kGuess };
  std::optional<long> step_of(const llvm::Value* value, As as, int depth = 0) const;

  /// True if, by guess, threads that each do what stands in part read and write neighbours, and read what they share: vectors of
  /// them need no gathers.
  bool are_neighbours(llvm::ArrayRef<llvm::BasicBlock*> part) const;

 private:
  std::optional<long> step_of_place(const llvm::GEPOperator& place, int depth) const;
};

/// Values of a loop over threadIdx.x.
class RowValues : public RowSteps {
 public:
  /// loop: over threadIdx.x, with a predecessor. marker: its call of __damo_thread_loop, which is told threadIdx.y and z.
  RowValues(const llvm::CallInst& marker, const llvm::Loop& loop, const llvm::DominatorTree& dominators);

  /// From now on value counts as the same for all, and is copied as copy.
  void assume(llvm::Value* value, llvm::Value* copy) { copies_[value] = copy; }

  /// True of what no thread of the row differs in: arithmetic on what is known before or assumed, on sizes, on block indices
  /// and on threadIdx.y and z.
  bool is_invariant(const llvm::Value* value) const override { return is_same(value, 0); }
  bool is_index(const llvm::Value* value) const override;
  /// threadIdx.x: the loop's own counter, or what the text reads.
  bool is_thread(const llvm::Value* value) const { return value == x_ || marker_slot(value) == kThread * 3; }

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
  const llvm::Value* x_;
  std::map<const llvm::Value*, llvm::Value*> copies_;
};

}  // namespace damo::clang_plugin
