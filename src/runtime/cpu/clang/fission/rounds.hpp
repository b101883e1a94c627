// Loops in which threads go through arrays side by side, as rounds of all of them.
// - Shared: for (k = 0; k < n; ++k) sum += a[y * n + k] * b[k * n + x]; all threads of the block go through it equally often. A wait of
//   the warp at its end makes each round a region.
// - Strided: for (i = threadIdx.x; i < n; i += blockDim.x) body becomes
//   for (gone = 0; gone < n; gone += blockDim.x) { i = threadIdx.x + gone; if (i < n) body; wait of the warp; }
// Run thread by thread such a loop jumps through memory; the wait, which costs nothing here, makes each round a loop over threads that
// reads and writes neighbours. A thread's own steps keep their order, and so the last digits of its sums.
// Needs:
// - Nothing in the loop waits, or lets a thread know how far another one is (orders_threads).
// - All threads that have not returned come to the loop together, and leave it together, as regions without the loop's own ones would show.
// - Of strided ones, too: the loop is left in its header alone, which has no effect: that is asked once more than the body is run. i begins
//   at what is the same in all threads and their place on top: threadIdx.x, the lane or the number (thread_places.hpp), a sum of 32 bits
//   that passes their end in none, nor is below 0 where i is compared as unsigned: as (long)i of an unsigned i is. It goes on by the same
//   distance in all, to the same bound. i does not pass the end of its type. What the text does not say of that (nsw, a distance that is
//   a size) is asked in front of the loop, and the loop stands there a second time as it was.
// Threads that take no part in a round are not even visited where they leave it with what they came with. Where a branch lets threads come to
// the loop one by one, the count of rounds is a value a thread, which all of them count on (fission.cpp).
// A strided loop may have shared ones in it, and is done for their sake. Threads that take no part in its round take none in later ones,
// and leave it at once; nothing may follow it then.
// Left alone are loops that would not read neighbours, other loops that have loops in them, and those that do not go by threads; and
// shared ones of few steps, which are unrolled. And all where a kernel has more than kMostLoops.
#pragma once
#include "regions.hpp"

namespace damo::clang_plugin {

class Rounds {
 public:
  /// Gives each such loop of function its waits, strided ones in a form of rounds beside the old one. Before the thread program is made,
  /// places being named.
  explicit Rounds(llvm::Function& function);

  /// Takes away what may not, or need not, stay: waits and rounds, or loops as they were. True if more stays where each row of threads,
  /// those with y and z in common, is run by itself, which is for kernels that do not wait.
  bool choose(ThreadProgram& program, bool may_go_by_rows);

  struct Loop {
    llvm::BranchInst* form;         ///< to rounds, or to the loop as it was; null: shared
    llvm::BasicBlock* test;         ///< is there another round?
    llvm::BasicBlock* begin;        ///< where a round begins and threads take part, or not; null: all do
    llvm::ICmpInst* takes_part;     ///< place < count
    llvm::CallInst* wait;           ///< where it ends; null where rounds have loops of their own: threads that take no part leave
  };
  const std::vector<Loop>& all() const { return loops_; }

 private:
  std::vector<Loop> gaining(ThreadProgram& program, const Uniformity& uniformity) const;

  std::vector<Loop> loops_;
};

}  // namespace damo::clang_plugin
