#include "lowering_steps.hpp"

#include <algorithm>

#include "thread_function.hpp"

namespace damo::clang_plugin {
namespace {

bool is_volatile(const llvm::Instruction& instruction) { return instruction.isVolatile() && llvm::getLoadStorePointerOperand(&instruction); }

bool is_shared(const llvm::Value* pointer) {
  llvm::SmallVector<const llvm::Value*> objects;
  llvm::getUnderlyingObjects(pointer, objects, nullptr, 0);
  return std::any_of(objects.begin(), objects.end(), [](const llvm::Value* object) {
    const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(object);
    return global && global->getSection() == kSharedSection;
  });
}

/// Where the block's accesses so far leave the lanes: nothing done since they met, all have read, or anything.
enum class Since { kNothing, kRead, kUnknown };

/// Accesses of block that the lanes must meet before.
void find_meetings(llvm::BasicBlock& block, Since since, std::vector<llvm::Instruction*>& meetings) {
  for (llvm::Instruction& instruction : block) {
    if (is_wait(&instruction)) since = Since::kNothing;
    if (!is_volatile(instruction) || !is_shared(llvm::getLoadStorePointerOperand(&instruction))) continue;
    const bool reads = llvm::isa<llvm::LoadInst>(instruction);
    if (since == Since::kUnknown || (since == Since::kRead && !reads)) meetings.push_back(&instruction);
    since = reads ? Since::kRead : Since::kUnknown;
  }
}

/// False if the loop's number of turns follows from what was known before it.
bool may_wait(const llvm::Loop& loop) {
  llvm::SmallVector<llvm::BasicBlock*> exits;
  loop.getExitingBlocks(exits);
  std::vector<const llvm::Value*> open;
  for (llvm::BasicBlock* exit : exits)
    open.insert(open.end(), exit->getTerminator()->op_begin(), exit->getTerminator()->op_end());
  std::set<const llvm::Value*> seen;
  while (!open.empty()) {
    const auto* value = llvm::dyn_cast<llvm::Instruction>(open.back());
    open.pop_back();
    if (!value || !loop.contains(value) || !seen.insert(value).second) continue;
    const bool chosen = llvm::isa<llvm::PHINode>(value) && value->getParent() != loop.getHeader();
    if (chosen || value->mayReadFromMemory()) return true;
    open.insert(open.end(), value->op_begin(), value->op_end());
  }
  return false;
}

/// An access that asks again, in each turn, for what another thread is to bring about: a lock, a flag, whose turn it is. An
/// exchange of what the turn before has read, and what counts on, get ahead without another thread. with_locks: else exchanges,
/// which take locks, do not count.
bool asks_again(const llvm::Instruction& access, const llvm::Loop& loop, bool with_locks) {
  if (const auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&access))
    return (with_locks || exchange->getNewValOperand() == exchange->getCompareOperand()) && loop.isLoopInvariant(exchange->getCompareOperand());
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&access)) return load->isVolatile() || load->isAtomic();
  const auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&access);
  if (!update) return false;
  if (update->getOperation() == llvm::AtomicRMWInst::Xchg) return with_locks && loop.isLoopInvariant(update->getValOperand());
  const auto* operand = llvm::dyn_cast<llvm::ConstantInt>(update->getValOperand());
  return operand && operand->isZero();
}

/// A loop that may go on until another thread has done something.
bool may_spin(const llvm::Loop& loop, bool with_locks) {
  return may_wait(loop) && std::any_of(loop.block_begin(), loop.block_end(), [&](const llvm::BasicBlock* block) {
    return std::any_of(block->begin(), block->end(), [&](const llvm::Instruction& access) { return asks_again(access, loop, with_locks); });
  });
}

/// Where lanes that have parted within a loop meet again: the end of each turn. Else one that is done with it sooner
/// would come to its beginning again, and be the one that is behind. True if a loop may be one that waits.
/// So is the end of each turn of a loop that waits for another thread, so that this one may run.
bool add_turns(llvm::Function& function, bool with_locks, std::vector<llvm::Instruction*>& meetings) {
  llvm::DominatorTree dominators(function);
  llvm::LoopInfo loops(dominators);
  std::set<llvm::Instruction*> all(meetings.begin(), meetings.end());
  bool any_may_wait = false;
  for (const llvm::Loop* loop : loops.getLoopsInPreorder()) {
    const bool meets = std::any_of(meetings.begin(), meetings.end(), [&](llvm::Instruction* meeting) { return loop->contains(meeting); });
    if (!meets && !may_spin(*loop, with_locks)) continue;
    any_may_wait |= may_wait(*loop);
    llvm::SmallVector<llvm::BasicBlock*> latches;
    loop->getLoopLatches(latches);
    for (llvm::BasicBlock* latch : latches) all.insert(latch->getTerminator());
  }
  meetings.clear();
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (all.count(&instruction)) meetings.push_back(&instruction);
  }
  return any_may_wait;
}

}  // namespace

bool may_go_in_step(const llvm::Module& module) {
  return llvm::any_of(module, [](const llvm::Function& function) {
    return llvm::any_of(llvm::instructions(function), [](const llvm::Instruction& instruction) { return is_volatile(instruction) || instruction.isAtomic(); });
  });
}

InStep keep_in_step(llvm::Function& thread, bool waits) {
  std::vector<llvm::Instruction*> meetings;
  for (llvm::BasicBlock& block : thread) {
    find_meetings(block, block.isEntryBlock() ? Since::kNothing : Since::kUnknown, meetings);
  }
  bool may_wait_in_loop = add_turns(thread, waits, meetings);
  if (!waits && !meetings.empty()) may_wait_in_loop = add_turns(thread, true, meetings);  // it waits now
  llvm::IRBuilder<> builder(thread.getContext());
  unsigned place = 0;  // blocks stand in the order of the text: of lanes that have parted, those behind go on first
  for (llvm::Instruction* access : meetings) {
    builder.SetInsertPoint(access);
    call_wait(builder, WaitKind::kLockstep, ++place);
  }
  return {!meetings.empty(), may_wait_in_loop};
}

}  // namespace damo::clang_plugin
