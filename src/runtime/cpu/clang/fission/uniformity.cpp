#include "uniformity.hpp"

#include "../markers.hpp"
#include "../thread_function.hpp"

namespace damo::clang_plugin {

constexpr int kDeepestPlace = 8;  // operands of operands that are followed: values that share operands would be asked about ever more often

Uniformity::Uniformity(ThreadProgram& program, bool of_row) : program_(program), of_row_(of_row) {
  for (const Wait& wait : program.waits) {
    if (wait.counts() && wait.result) same_results_.insert(wait.result);
  }
  find_ordered_blocks();
  for (llvm::Instruction& instruction : *program.prologue) {
    const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (variable && !program.fixed.count(variable)) mark(variable);
  }
  for (llvm::BasicBlock* block : program.order) {
    for (llvm::Instruction& instruction : *block) {
      if (begins_differing(instruction)) mark(&instruction);
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (llvm::BasicBlock* block : program.order) changed |= spread(block);
  }
}

void Uniformity::find_ordered_blocks() {
  std::vector<const llvm::BasicBlock*> open;
  for (const llvm::BasicBlock* block : program_.order) {
    const Wait* const wait = program_.wait_at(block);
    const bool waits_for_some = wait && !wait->is_barrier() && !wait->is_warp_operation();
    if (waits_for_some || llvm::any_of(*block, orders_threads)) open.push_back(block);
  }
  while (!open.empty()) {
    const llvm::BasicBlock* const block = open.back();
    open.pop_back();
    const Wait* const wait = program_.wait_at(block);
    if (!ordered_.insert(block).second || (wait && wait->is_barrier())) continue;
    open.insert(open.end(), llvm::succ_begin(block), llvm::succ_end(block));
  }
}

bool Uniformity::begins_differing(const llvm::Instruction& instruction) const {
  if (same_results_.count(&instruction)) return false;
  const int slot = marker_slot(&instruction);
  if (slot >= 0) return is_of_thread(slot) && (!of_row_ || (slot != 1 && slot != 2));
  if (llvm::isa<llvm::AllocaInst>(instruction)) return true;
  // Blocks of the tail are not followed: threads may come to them at different times.
  if (llvm::isa<llvm::PHINode>(instruction)) return program_.is_tail(instruction.getParent());
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
    const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(llvm::getUnderlyingObject(load->getPointerOperand(), 0));
    return !load->isSimple() || ordered_.count(load->getParent()) || llvm::isa<llvm::PoisonValue>(load->getPointerOperand()) || (variable && !program_.fixed.count(variable));
  }
  return instruction.mayReadOrWriteMemory();
}

bool Uniformity::is_same_in_row(const llvm::Value* value, bool in_warp, int depth) const {
  if (depth > kDeepestPlace) return !differs(value);
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  const int slot = marker_slot(value);
  if (!differs(value) || slot == 1 || slot == 2) return true;
  if (!instruction || slot >= 0 || llvm::isa<llvm::PHINode>(instruction) || instruction->mayReadOrWriteMemory()) return in_warp && slot == kWarp;
  return llvm::all_of(instruction->operands(), [&](const llvm::Value* operand) { return is_same_in_row(operand, in_warp, depth + 1); });
}

/// What decides which way threads leave block: null if there is one.
static const llvm::Value* condition_of(const llvm::BasicBlock* block) {
  const llvm::Instruction* const end = block->getTerminator();
  return end->getNumSuccessors() < 2 ? nullptr : end->getOperand(0);  // of a branch or switch: fission takes no others
}

bool Uniformity::parts(const llvm::BasicBlock* block) const {
  const llvm::Value* const condition = condition_of(block);
  return condition && differs(condition);
}

bool Uniformity::parts_row(const llvm::BasicBlock* block, bool in_warp) const {
  const llvm::Value* const condition = condition_of(block);
  return condition && !is_same_in_row(condition, in_warp);
}

bool Uniformity::spread(llvm::BasicBlock* block) {
  bool changed = false;
  for (llvm::Instruction& instruction : *block) {
    if (differs(&instruction) || same_results_.count(&instruction)) continue;
    if (llvm::any_of(instruction.operands(), [&](const llvm::Value* operand) { return differs(operand); })) changed |= mark(&instruction);
  }
  if (parts(block) && parted_.insert(block).second) changed |= spread_from_branch(block);
  return changed;
}

/// Where ways meet again, which way a thread came decides; of a loop that threads leave at different steps, what it
/// computed last.
bool Uniformity::spread_from_branch(llvm::BasicBlock* block) {
  bool changed = false;
  const std::vector<llvm::BasicBlock*>& between = program_.decided_by(block);
  const auto mark_choices = [&](llvm::BasicBlock* at) {
    for (llvm::PHINode& phi : at->phis()) changed |= mark(&phi);
  };
  for (llvm::BasicBlock* at : between) mark_choices(at);
  if (llvm::BasicBlock* meeting = program_.meeting_of(block); meeting && !between.empty()) mark_choices(meeting);
  const std::set<const llvm::BasicBlock*> inside(between.begin(), between.end());
  if (!inside.count(block)) return changed;
  for (llvm::BasicBlock* at : between) {
    for (llvm::Instruction& instruction : *at) {
      const auto is_outside = [&](const llvm::User* user) { return !inside.count(llvm::cast<llvm::Instruction>(user)->getParent()); };
      if (llvm::any_of(instruction.users(), is_outside)) changed |= mark(&instruction);
    }
  }
  return changed;
}

}  // namespace damo::clang_plugin
