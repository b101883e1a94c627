// Values that one region computes and another one uses. What all threads have in common becomes a variable of the block;
// what follows cheaply from a thread's index is computed again; the rest goes through an array of one element a thread.
#pragma once
#include <llvm/ADT/MapVector.h>

#include "regions.hpp"
#include "thread_loop.hpp"

namespace damo::clang_plugin {

/// What a thread stores on its way out of a region: the next region's phi values.
struct PhiStore {
  llvm::PHINode* phi;
  llvm::Value* value;
};

class RegionValues {
 public:
  RegionValues(ThreadProgram& program, Regions& regions, ThreadMemory& memory, std::map<Region*, ThreadLoop>& loops);

  /// Rewrites what regions use, and stores what they define for others.
  void connect();
  /// What each thread stores on its way to an exit.
  std::vector<PhiStore> stores_on(const Exit& exit) const;
  /// What the conditions of guards are in region whose threads have passed them, and what they were then. After connect.
  using Conditions = std::vector<std::pair<llvm::Value*, bool>>;
  const Conditions& guards_in(const Region& region) { return guards_[&region]; }
  /// True of what the block has one of, and is known in front of region's threads.
  bool is_known_before(const Region& region, const PhiStore& store) const;
  void store(llvm::IRBuilder<>& builder, const ThreadLoop& loop, const llvm::Value* variable, llvm::Value* value) const;
  /// After connect: the leaders' phis have no use any more.
  void erase_phis();

 private:
  struct Slot {
    llvm::Value* place;
    bool is_single;  ///< one for the block
  };
  llvm::Value* value_in(Region& region, llvm::Value* value);
  llvm::Value* recompute(Region& region, llvm::Instruction& instruction);
  bool can_recompute(const llvm::Value* value, int& budget) const;
  const Slot& slot(llvm::Instruction& instruction);
  llvm::Value* load(Region& region, llvm::Instruction& instruction);
  void store_definition(llvm::Instruction& instruction);
  void connect_phi(llvm::PHINode& phi);

  ThreadProgram& program_;
  Regions& regions_;
  ThreadMemory& memory_;
  std::map<Region*, ThreadLoop>& loops_;
  std::map<std::pair<Region*, llvm::Value*>, llvm::Value*> known_;
  llvm::MapVector<llvm::Instruction*, Slot> slots_;
  std::map<std::pair<const llvm::BasicBlock*, unsigned>, std::vector<PhiStore>> exit_stores_;
  std::map<const Region*, Conditions> guards_;
};

}  // namespace damo::clang_plugin
