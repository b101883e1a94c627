// Loops in which a block's threads go through an array side by side,
//   for (i = threadIdx.x; i < n; i += blockDim.x) body
// as rounds of all threads, for (gone = 0; gone < n; gone += blockDim.x) { i = threadIdx.x + gone; if (i < n) body; wait of the warp; }
// Run thread by thread such a loop jumps through memory; the wait, which costs nothing here, makes each round a region, a loop over
// threads that reads and writes neighbours. A thread's own steps keep their order, and so the last digits of its sums.
// Needs:
// - Nothing in the loop waits, or lets a thread know how far another one is (orders_threads).
// - It is left in its header alone, which has no effect: that is asked once more than the body is run.
// - i begins at what is the same in all threads and their place on top: threadIdx.x, the lane or the number (thread_places.hpp).
//   It goes on by the same distance in all, to the same bound.
// - i does not pass the end of its type. Where the text does not say so (nsw), or the distance's sign is not known, that is asked
//   in front of the loop, and the loop stands there a second time as it was.
// - All threads that have not returned come to the loop together, as regions without the loop's own ones would show.
// Left alone, too, is what would not read neighbours, and what has loops in it.
#pragma once
#include "regions.hpp"

namespace damo::clang_plugin {

class StridedLoops {
 public:
  /// Gives each such loop of function its form of rounds beside the old one. Before the thread program is made, places being named.
  explicit StridedLoops(llvm::Function& function);

  /// Takes away what may not, or need not, stay: rounds, or loops as they were.
  void choose(ThreadProgram& program);

  struct Loop {
    llvm::BranchInst* form;         ///< to rounds, or to the loop as it was
    llvm::BasicBlock* test;         ///< of rounds: is there another one?
    llvm::ICmpInst* takes_part;     ///< place < count: in the block where a round begins
    llvm::CallInst* wait;           ///< where it ends
    std::vector<llvm::BasicBlock*> body;
  };
  const std::vector<Loop>& all() const { return loops_; }

 private:
  std::vector<Loop> loops_;
};

}  // namespace damo::clang_plugin
