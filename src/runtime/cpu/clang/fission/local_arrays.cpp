#include "thread_loop.hpp"

namespace damo::clang_plugin {
namespace {

struct Use {
  std::set<Region*> regions;
  bool address_leaves = false;       ///< it is stored, passed on or chosen: what uses it then is not known
  std::set<Region*> begins_in = {};  ///< regions that say that its life begins
};

Use use_of(const llvm::AllocaInst& variable, const Regions& regions) {
  Use use;
  std::vector<const llvm::Value*> open = {&variable};
  while (!open.empty()) {
    const llvm::Value* at = open.back();
    open.pop_back();
    for (const llvm::User* user : at->users()) {
      const auto* instruction = llvm::cast<llvm::Instruction>(user);
      Region* region = regions.of(instruction->getParent());
      const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(instruction);
      if (intrinsic && intrinsic->getIntrinsicID() == llvm::Intrinsic::lifetime_start) use.begins_in.insert(region);
      if (instruction->isLifetimeStartOrEnd()) continue;
      use.regions.insert(region);
      if (llvm::isa<llvm::GetElementPtrInst>(instruction) || llvm::isa<llvm::CastInst>(instruction)) {
        open.push_back(instruction);
        continue;
      }
      const auto* store = llvm::dyn_cast<llvm::StoreInst>(instruction);
      const bool is_access = llvm::isa<llvm::LoadInst>(instruction) || llvm::isa<llvm::MemIntrinsic>(instruction) || (store && store->getValueOperand() != at);
      use.address_leaves |= !is_access;
    }
  }
  return use;
}

bool can_stay(const Use& use, const Regions& regions) {
  if (use.regions.empty()) return true;
  if (use.regions.size() > 1 || use.address_leaves) return false;
  Region* const region = *use.regions.begin();
  return region && (!regions.repeats(*region) || use.begins_in.count(region));
}

void give_each_thread_its_own(llvm::AllocaInst& variable, const llvm::DataLayout& data, Regions& regions, ThreadMemory& memory,
                              const std::map<Region*, ThreadLoop>& loops) {
  const unsigned long bytes = llvm::alignTo(data.getTypeAllocSize(variable.getAllocatedType()).getFixedValue(), variable.getAlign());
  llvm::Value* const base = memory.array(bytes);
  std::map<Region*, llvm::Value*> places;
  for (llvm::Use& use : llvm::make_early_inc_range(variable.uses())) {
    auto* user = llvm::cast<llvm::Instruction>(use.getUser());
    if (user->isLifetimeStartOrEnd()) {
      user->eraseFromParent();
      continue;
    }
    auto* phi = llvm::dyn_cast<llvm::PHINode>(user);
    Region* region = regions.of(phi ? phi->getIncomingBlock(use) : user->getParent());
    llvm::Value*& place = places[region];
    if (!place) {
      const ThreadLoop& loop = loops.at(region);
      llvm::IRBuilder<> builder(&*loop.top->getFirstInsertionPt());
      llvm::Value* offset = builder.CreateMul(loop.thread, builder.getInt64(bytes), "", true, true);
      place = builder.CreateInBoundsGEP(builder.getInt8Ty(), base, offset);
    }
    use.set(place);
  }
  variable.eraseFromParent();
}

}  // namespace

void split_local_arrays(ThreadProgram& program, Regions& regions, ThreadMemory& memory, const std::map<Region*, ThreadLoop>& loops) {
  std::vector<llvm::AllocaInst*> variables;
  for (llvm::Instruction& instruction : *program.prologue) {
    auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (variable && !program.fixed.count(variable) && !memory.is_variable(variable)) variables.push_back(variable);
  }
  const llvm::DataLayout& data = program.function.getParent()->getDataLayout();
  for (llvm::AllocaInst* variable : variables) {
    if (!can_stay(use_of(*variable, regions), regions)) give_each_thread_its_own(*variable, data, regions, memory, loops);
  }
}

}  // namespace damo::clang_plugin
