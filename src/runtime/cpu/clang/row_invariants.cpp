#include "row_invariants.hpp"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include "markers.hpp"

namespace damo::clang_plugin {
namespace {

constexpr int kDeepest = 12;

}  // namespace

/// Each thread notes its threadIdx.y and z, the variables of outer loops, where the markers are read.
RowInvariants::RowInvariants(const llvm::Loop& loop, const llvm::DominatorTree& dominators)
    : loop_(loop), before_(loop.getLoopPredecessor()), dominators_(dominators) {
  const llvm::Value* const indices = indices_of(*loop.getHeader()->getParent());
  for (const llvm::BasicBlock* block : loop.blocks()) {
    for (const llvm::Instruction& instruction : *block) {
      const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
      if (!store || !store->getValueOperand()->getType()->isIntegerTy(32) || !is_known_before(store->getValueOperand())) continue;
      llvm::APInt offset(64, 0);
      const llvm::Value* base = store->getPointerOperand()->stripAndAccumulateConstantOffsets(block->getDataLayout(), offset, true);
      if (base == indices && offset.ult(12)) noted_[offset.getZExtValue() / 4] = const_cast<llvm::Value*>(store->getValueOperand());
    }
  }
}

llvm::Value* indices_of(const llvm::Function& entry) {
  for (const llvm::Instruction& instruction : llvm::instructions(entry)) {
    const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (call && call->getCalledFunction() && call->getCalledFunction()->getName() == "__damo_indices") return call->getArgOperand(0);
  }
  return nullptr;
}

std::vector<llvm::CallInst*> thread_loop_markers(llvm::Function& entry) {
  std::vector<llvm::CallInst*> found;
  for (llvm::Instruction& instruction : llvm::instructions(entry)) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (call && call->getCalledFunction() && call->getCalledFunction()->getName() == "__damo_thread_loop") found.push_back(call);
  }
  return found;
}

bool RowInvariants::is_known_before(const llvm::Value* value) const {
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  return !instruction || dominators_.dominates(instruction->getParent(), before_);
}

bool RowInvariants::is_same(const llvm::Value* value, int depth) const {
  if (is_known_before(value) || copies_.count(value)) return true;
  if (const int slot = marker_slot(value); slot >= 0) return slot / 3 != kThread || (slot != kThread * 3 && noted_[slot % 3]);
  const auto* instruction = llvm::cast<llvm::Instruction>(value);
  if (depth > kDeepest || !loop_.contains(instruction) || llvm::isa<llvm::PHINode>(instruction)) return false;
  if (instruction->mayReadOrWriteMemory() || !llvm::isSafeToSpeculativelyExecute(instruction)) return false;
  for (const llvm::Value* operand : instruction->operands()) {
    if (!is_same(operand, depth + 1)) return false;
  }
  return true;
}

llvm::Value* RowInvariants::in_front(llvm::Value* value, llvm::IRBuilderBase& builder) {
  return is_same(value, 0) ? copy(value, builder) : nullptr;
}

llvm::Value* RowInvariants::copy(llvm::Value* value, llvm::IRBuilderBase& builder) {
  if (const auto known = copies_.find(value); known != copies_.end() && known->second) return known->second;
  if (is_known_before(value)) return value;
  if (const int slot = marker_slot(value); slot >= 0 && slot / 3 == kThread) return noted_[slot % 3];
  llvm::Instruction* const copied = llvm::cast<llvm::Instruction>(value)->clone();
  for (llvm::Use& operand : copied->operands()) {
    if (llvm::isa<llvm::Instruction>(operand)) operand.set(copy(operand, builder));
  }
  copied->dropPoisonGeneratingAnnotations();
  builder.Insert(copied);
  return copies_[value] = copied;
}

}  // namespace damo::clang_plugin
