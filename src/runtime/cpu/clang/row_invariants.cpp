#include "row_invariants.hpp"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include "markers.hpp"

namespace damo::clang_plugin {
namespace {

constexpr int kDeepest = 12;

}  // namespace

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
  return !instruction || dominators_.dominates(instruction->getParent(), loop_.getLoopPredecessor());
}

bool RowInvariants::depth_of(const llvm::Value* value, bool allow_thread_yz, int depth) const {
  if (is_known_before(value)) return true;
  if (const int slot = marker_slot(value); slot >= 0) return slot / 3 != kThread || (allow_thread_yz && slot != kThread * 3);
  const auto* instruction = llvm::cast<llvm::Instruction>(value);
  if (depth > kDeepest || !loop_.contains(instruction) || llvm::isa<llvm::PHINode>(instruction)) return false;
  if (instruction->mayReadOrWriteMemory() || !llvm::isSafeToSpeculativelyExecute(instruction)) return false;
  for (const llvm::Value* operand : instruction->operands()) {
    if (!depth_of(operand, allow_thread_yz, depth + 1)) return false;
  }
  return true;
}

llvm::Value* RowInvariants::in_front(llvm::Value* value, llvm::IRBuilderBase& builder) {
  return depth_of(value, false, 0) ? copy(value, builder) : nullptr;
}

llvm::Value* RowInvariants::copy(llvm::Value* value, llvm::IRBuilderBase& builder) {
  if (is_known_before(value)) return value;
  llvm::Value*& known = copies_[value];
  if (known) return known;
  llvm::Instruction* const copied = llvm::cast<llvm::Instruction>(value)->clone();
  for (llvm::Use& operand : copied->operands()) {
    if (llvm::isa<llvm::Instruction>(operand)) operand.set(copy(operand, builder));
  }
  copied->dropPoisonGeneratingAnnotations();
  builder.Insert(copied);
  return known = copied;
}

}  // namespace damo::clang_plugin
