// A thread program cut into regions: parts without a wait that are entered at one place, so that each can be run for all
// threads of a block before the next one begins. Cuts are at waits, at loops that hold waits, where the block as a whole
// decides what comes next, and where ways from different regions meet.
#pragma once
#include <llvm/ADT/SetVector.h>

#include <memory>

#include "thread_program.hpp"
#include "uniformity.hpp"

namespace damo::clang_plugin {

struct Region;

/// A way out of a region.
struct Exit {
  llvm::BasicBlock* from;
  unsigned successor;  ///< of from's terminator
  Region* to;          ///< null: the thread returns
  const Wait* wait;    ///< at the end of .from
};

struct Region {
  int number = 0;  ///< the region's name at run time
  llvm::BasicBlock* leader = nullptr;
  std::vector<llvm::BasicBlock*> blocks;  ///< leader first, in reverse post-order
  std::vector<Exit> exits;
  bool is_tail = false;     ///< no wait follows
  bool is_partial = false;  ///< some threads run it, those whose next region it is; else all that have not returned
  bool disperses = false;   ///< its threads may go on to different regions: each notes its own
  bool loses = false;       ///< some of its threads may return while others go on
  bool is_of_block = false; ///< nothing in it differs from thread to thread, nobody notices it: it is run once, as the test of a loop, whichever threads have returned
};

/// A branch at which threads return that are to do no more.
struct Guard {
  const llvm::BasicBlock* block;  ///< which it ends
  llvm::Value* condition;
  bool goes_on_if_true;
};

class Regions {
 public:
  Regions(ThreadProgram& program, const Uniformity& uniformity);

  std::vector<std::unique_ptr<Region>> all;  ///< in the order of their numbers: partial ones first
  Region* entry = nullptr;
  Region* of(const llvm::BasicBlock* block) const;  ///< null: prologue and finish
  /// A phi of a region's leader.
  bool is_leader_phi(const llvm::Instruction& instruction) const;
  /// One value for all threads that may ask for it. A phi is no such value where threads come to it one by one: the first would overwrite
  /// what the others still need.
  bool is_single(const llvm::Instruction& instruction) const;
  /// Blocks made later, around the region's own.
  void adopt(const llvm::BasicBlock* block, Region& region) { region_of_[block] = &region; }
  /// Finds guards, where threads return by nothing else: in a region's other threads it follows from the conditions that they have not
  /// returned. final: blocks whose branch a thread that has failed it once would fail ever after.
  void find_guards(const std::set<const llvm::BasicBlock*>& final);
  std::vector<Guard> guards;
  std::vector<const Guard*> guards_of(const Region& region) const;  ///< that its threads have passed, one after another
  bool loses_threads = false;                       ///< somewhere, other than by guards
  bool disperses = false;                           ///< somewhere
  bool loses_rows = true;                           ///< all threads of a row return together,
  bool loses_warps = true;                          ///< or those of its part in one warp, wherever some do
  int first_whole = 0;                              ///< number of the first region that is not partial
  /// True if, once it has run, region may run again in the same block.
  bool repeats(const Region& region) const { return behind(region).contains(&region); }

 private:
  void choose_leaders();
  void grow();
  void find_exits();
  void find_dispersal(Region& region);
  bool is_of_block(const Region& region) const;
  void mark_partial();
  static bool waits_for_block(const Region& region);
  void number();
  llvm::SetVector<const Region*> behind(const Region& region) const;  ///< those that may run after it

  ThreadProgram& program_;
  const Uniformity& uniformity_;
  std::set<llvm::BasicBlock*> leaders_;
  std::map<const llvm::BasicBlock*, Region*> region_of_;
  llvm::DominatorTree dominators_;
};

}  // namespace damo::clang_plugin
