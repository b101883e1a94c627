// Values that one region computes and another one uses. What all threads have in common becomes a variable of the block;
// what follows cheaply from a thread's index is computed again; the rest goes through an array of one element a thread.
#pragma once
#include <llvm/ADT/MapVector.h>

#include "regions.hpp"
#include "thread_loop.hpp"

namespace damo::clang_plugin {

/// What a thread, or the block, stores on its way out of a region: the next region's phi values.
struct PhiStore {
  llvm::PHINode* phi;
  llvm::Value* value;
};

class RegionValues {
 public:
  RegionValues(ThreadProgram& program, const Uniformity& uniformity, Regions& regions, ThreadMemory& memory, std::map<Region*, ThreadLoop>& loops);

  /// Rewrites what regions use, and stores what they define for others.
  void connect();
  /// The stores that belong to an exit: those of the block as a whole, or those of each thread.
  std::vector<PhiStore> stores_on(const Region& region, const Exit& exit, bool of_block) const;
  void store(llvm::IRBuilder<>& builder, const ThreadLoop& loop, const llvm::Value* variable, llvm::Value* value) const;
  /// After connect: the leaders' phis have no use any more.
  void erase_phis();

 private:
  struct Slot {
    llvm::Value* place;
    bool is_single;          ///< one for the block
    bool is_shared = false;  ///< a phi's place, which the value becomes
  };
  llvm::Value* value_in(Region& region, llvm::Value* value);
  llvm::Value* recompute(Region& region, llvm::Instruction& instruction);
  bool can_recompute(const llvm::Value* value, int& budget) const;
  bool is_leader_phi(const llvm::Instruction& instruction) const;
  bool is_single(const llvm::Instruction& instruction) const;
  bool is_known_before_threads(const Region& region, const llvm::Value* value) const;
  const Slot& slot(llvm::Instruction& instruction);
  llvm::Value* load(Region& region, llvm::Instruction& instruction);
  void hoist(Region& region);
  void store_definition(llvm::Instruction& instruction);
  void connect_phi(llvm::PHINode& phi);
  void share_place(llvm::PHINode& phi);
  bool is_over(const llvm::PHINode& phi, const llvm::Instruction& value) const;

  ThreadProgram& program_;
  const Uniformity& uniformity_;
  Regions& regions_;
  ThreadMemory& memory_;
  std::map<Region*, ThreadLoop>& loops_;
  std::map<std::pair<Region*, llvm::Value*>, llvm::Value*> known_;
  llvm::MapVector<llvm::Instruction*, Slot> slots_;
  llvm::DominatorTree dominators_;  ///< of the function as it was
  std::map<std::pair<const llvm::BasicBlock*, unsigned>, std::vector<PhiStore>> exit_stores_;
};

}  // namespace damo::clang_plugin
