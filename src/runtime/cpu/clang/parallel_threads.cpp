#include "parallel_threads.hpp"

#include <llvm/Analysis/CaptureTracking.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>

#include "isolated_steps.hpp"
#include "ordered_accesses.hpp"
#include "row_invariants.hpp"

namespace damo::clang_plugin {
namespace {

/// True of memory that can't be a local array: a pointer that came as data, a variable of the module. In an array of kept
/// values each thread has its own place.
bool is_shared_by_threads(const llvm::Value* object) {
  return llvm::isa<llvm::LoadInst>(object) || llvm::isa<llvm::Argument>(object) || llvm::isa<llvm::GlobalVariable>(object) || is_kept_value(object);
}

void declare_independent(llvm::Loop& loop) {
  llvm::LLVMContext& context = loop.getHeader()->getContext();
  llvm::MDNode* group = llvm::MDNode::getDistinct(context, {});
  for (llvm::BasicBlock* block : loop.blocks()) {
    for (llvm::Instruction& instruction : *block) {
      const llvm::Value* address = llvm::getLoadStorePointerOperand(&instruction);
      if (!address || !is_shared_by_threads(llvm::getUnderlyingObject(address, 0))) continue;
      instruction.setMetadata(llvm::LLVMContext::MD_access_group, group);
    }
  }
  auto* accesses = llvm::MDNode::get(context, {llvm::MDString::get(context, "llvm.loop.parallel_accesses"), group});
  llvm::SmallVector<llvm::Metadata*, 4> properties = {nullptr, accesses};
  if (llvm::MDNode* old = loop.getLoopID()) {
    for (unsigned i = 1; i < old->getNumOperands(); ++i) properties.push_back(old->getOperand(i));
  }
  llvm::MDNode* id = llvm::MDNode::getDistinct(context, properties);
  id->replaceOperandWith(0, id);
  loop.setLoopID(id);
}

}  // namespace

void declare_threads_independent(llvm::Function& entry) {
  bool independent = true;
  for (llvm::Instruction& instruction : llvm::instructions(entry)) {
    if (instruction.isAtomic() || instruction.isVolatile()) independent = false;
    if (llvm::isa<llvm::AllocaInst>(instruction) && llvm::PointerMayBeCaptured(&instruction, false, true)) independent = false;
  }
  const std::vector<llvm::CallInst*> markers = thread_loop_markers(entry);
  llvm::DominatorTree dominators(entry);
  llvm::LoopInfo loops(dominators);
  for (llvm::CallInst* marker : markers) {
    llvm::Loop* const loop = loops.getLoopFor(marker->getParent());
    marker->eraseFromParent();
    if (loop && independent && !has_ordered_groups(*loop)) declare_independent(*loop);
  }
}

}  // namespace damo::clang_plugin
