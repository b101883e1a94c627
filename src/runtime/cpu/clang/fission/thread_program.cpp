#include "thread_program.hpp"

#include <llvm/ADT/DepthFirstIterator.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>

#include <algorithm>
#include <utility>

#include "../markers.hpp"
#include "../thread_function.hpp"

namespace damo::clang_plugin {
namespace {

WaitKind constant_kind(const llvm::CallInst& call) {
  const auto* kind = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(0));
  return kind ? static_cast<WaitKind>(kind->getSExtValue()) : WaitKind::kExited;
}

/// True if writer is all that ever writes into variable, and its address goes nowhere.
bool is_only_writer(const llvm::AllocaInst& variable, const llvm::Instruction& writer) {
  std::vector<const llvm::Value*> open = {&variable};
  while (!open.empty()) {
    const llvm::Value* at = open.back();
    open.pop_back();
    for (const llvm::User* user : at->users()) {
      const auto* instruction = llvm::cast<llvm::Instruction>(user);
      if (instruction == &writer || llvm::isa<llvm::LoadInst>(instruction) || instruction->isLifetimeStartOrEnd()) continue;
      const auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(instruction);
      if (copy && copy->getRawSource() == at && copy->getRawDest() != at) continue;
      if (!llvm::isa<llvm::GetElementPtrInst>(instruction) && !llvm::isa<llvm::CastInst>(instruction)) return false;
      open.push_back(instruction);
    }
  }
  return true;
}

}  // namespace

void simplify_loops(llvm::Function& function) {
  llvm::DominatorTree dominators(function);
  llvm::LoopInfo loops(dominators);
  const llvm::SmallVector<llvm::Loop*> outer(loops.begin(), loops.end());
  for (llvm::Loop* loop : outer) llvm::simplifyLoop(loop, &dominators, &loops, nullptr, nullptr, nullptr, false);
}

ThreadProgram::ThreadProgram(llvm::Function& function) : function(function) {
  unite_returns();
  add_prologue();
  hoist_into_prologue();
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    const auto* variable = instruction.isLifetimeStartOrEnd() ? llvm::dyn_cast<llvm::AllocaInst>(instruction.getOperand(1)) : nullptr;
    if (variable && fixed.count(variable)) instruction.eraseFromParent();
  }
  simplify_loops(function);
  skip_empty_ends();
  split_waits();
  survey();
}

void ThreadProgram::survey() {
  order.clear();
  number_.clear();
  tail_.clear();
  decided_.clear();
  llvm::ReversePostOrderTraversal<llvm::Function*> traversal(&function);
  for (llvm::BasicBlock* block : traversal) {
    if (block != prologue && block != finish) order.push_back(block);
  }
  find_tails();
  find_meetings();
}

void ThreadProgram::unite_returns() {
  finish = llvm::BasicBlock::Create(function.getContext(), "finish", &function);
  llvm::ReturnInst::Create(function.getContext(), finish);
  for (llvm::BasicBlock& block : function) {
    if (&block == finish || !llvm::isa<llvm::ReturnInst>(block.getTerminator())) continue;
    block.getTerminator()->eraseFromParent();
    llvm::BranchInst::Create(finish, &block);
  }
  llvm::removeUnreachableBlocks(function);
}

/// What does nothing but return is no way of its own: threads that get there have returned.
void ThreadProgram::skip_empty_ends() {
  for (llvm::BasicBlock& block : llvm::reverse(function)) {  // one such block may lead to another
    const bool is_empty = llvm::all_of(block, [](const llvm::Instruction& instruction) { return instruction.isTerminator() || instruction.isLifetimeStartOrEnd(); });
    if (is_empty && &block != prologue && &block != begin && block.getSingleSuccessor() == finish) block.replaceAllUsesWith(finish);
  }
  llvm::removeUnreachableBlocks(function);
}

void ThreadProgram::add_prologue() {
  begin = &function.getEntryBlock();
  prologue = llvm::BasicBlock::Create(function.getContext(), "prologue", &function, begin);
  llvm::BranchInst* const go = llvm::BranchInst::Create(begin, prologue);
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    if (llvm::isa<llvm::AllocaInst>(instruction)) instruction.moveBefore(go);
    if (const int slot = marker_slot(&instruction); slot >= 0 && !is_of_thread(slot)) instruction.moveBefore(go);
  }
}

/// What the first block computes of arguments alone, before anything is written.
void ThreadProgram::hoist_into_prologue() {
  bool wrote = false;
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(*begin)) {
    if (instruction.isTerminator()) break;
    const auto is_available = [&](const llvm::Value* value) {
      const auto* operand = llvm::dyn_cast<llvm::Instruction>(value);
      return !operand || (operand->getParent() == prologue && (!llvm::isa<llvm::AllocaInst>(operand) || fixed.count(llvm::cast<llvm::AllocaInst>(operand))));
    };
    const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    const bool all_available = std::all_of(instruction.op_begin(), instruction.op_end(), is_available);
    const bool pure = load ? load->isSimple() && !wrote : !instruction.mayReadOrWriteMemory() && llvm::isSafeToSpeculativelyExecute(&instruction);
    if (all_available && pure && !llvm::isa<llvm::CallInst>(instruction)) {
      instruction.moveBefore(prologue->getTerminator());
    } else if (instruction.mayWriteToMemory() && !instruction.isLifetimeStartOrEnd() && (wrote || !hoist_argument(instruction))) {
      const llvm::Value* written = llvm::getLoadStorePointerOperand(&instruction);
      if (const auto* memory = llvm::dyn_cast<llvm::AnyMemIntrinsic>(&instruction)) written = memory->getRawDest();
      wrote |= !written || !llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(written));
    }
  }
}

/// A structure that came by value: copied once from the arguments, then only read.
bool ThreadProgram::hoist_argument(llvm::Instruction& instruction) {
  auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(&instruction);
  if (!copy || copy->isVolatile() || !llvm::isa<llvm::ConstantInt>(copy->getLength())) return false;
  auto* variable = llvm::dyn_cast<llvm::AllocaInst>(copy->getRawDest());
  const auto* source = llvm::dyn_cast<llvm::Instruction>(copy->getRawSource());
  if (!variable || (source && source->getParent() != prologue) || !is_only_writer(*variable, instruction)) return false;
  const auto* from = llvm::dyn_cast<llvm::AllocaInst>(llvm::getUnderlyingObject(copy->getRawSource()));
  if (from && !fixed.count(from)) return false;
  fixed.insert(variable);
  instruction.moveBefore(prologue->getTerminator());
  return true;
}

void ThreadProgram::split_waits() {
  const llvm::DominatorTree dominators(function);
  const std::vector<llvm::CallInst*> calls = calls_of(function, kWait);
  std::map<llvm::CallInst*, llvm::BasicBlock*> round_ends;  // the last thing in a round of a loop: the thread goes on with the next
  for (llvm::CallInst* call : calls) {
    llvm::BasicBlock* const next = call->getParent()->getSingleSuccessor();
    if (next && call->getNextNode()->isTerminator() && call->use_empty() && dominators.dominates(next, call->getParent())) round_ends[call] = next;
  }
  for (llvm::CallInst* call : calls) {
    const auto found = round_ends.find(call);
    llvm::BasicBlock* const after = found != round_ends.end() ? found->second : call->getParent()->splitBasicBlock(call->getNextNode(), "resumed");
    Wait wait{call, after, nullptr, constant_kind(*call)};
    if (!call->use_empty()) {
      llvm::IRBuilder<> builder(&*wait.after->getFirstInsertionPt());
      wait.result = builder.CreateLoad(call->getType(), llvm::PoisonValue::get(builder.getPtrTy()));
      call->replaceAllUsesWith(wait.result);
    }
    waits.push_back(wait);
  }
}

const Wait* ThreadProgram::wait_at(const llvm::BasicBlock* block) const {
  for (const Wait& wait : waits) {
    if (wait.call->getParent() == block) return &wait;
  }
  return nullptr;
}

void ThreadProgram::find_tails() {
  llvm::df_iterator_default_set<llvm::BasicBlock*> before;
  for (const Wait& wait : waits) {
    for ([[maybe_unused]] llvm::BasicBlock* block : llvm::inverse_depth_first_ext(wait.call->getParent(), before)) {
    }
  }
  for (llvm::BasicBlock* block : order) {
    if (!before.count(block)) tail_.insert(block);
  }
  tail_.insert(finish);
}

/// A thread that has no wait before it any more takes no part in where the others meet.
void ThreadProgram::find_meetings() {
  for (size_t i = 0; i < order.size(); ++i) number_[order[i]] = static_cast<int>(i);
  std::vector<std::vector<int>> next(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    for (llvm::BasicBlock* to : llvm::successors(order[i])) {
      if (!is_tail(to)) next[i].push_back(number_.at(to));
    }
  }
  graph_ = FlowGraph(std::move(next));
}

const std::vector<llvm::BasicBlock*>& ThreadProgram::decided_by(llvm::BasicBlock* block) {
  const auto [known, is_new] = decided_.try_emplace(block);
  std::set<const llvm::BasicBlock*> ways;
  for (const llvm::BasicBlock* to : llvm::successors(block)) {
    if (!is_tail(to)) ways.insert(to);
  }
  if (is_new && !is_tail(block) && ways.size() > 1) {
    for (int node : graph_.between(number_.at(block), graph_.meeting(number_.at(block)))) known->second.push_back(order[node]);
  }
  return known->second;
}

llvm::BasicBlock* ThreadProgram::meeting_of(llvm::BasicBlock* block) {
  const int node = is_tail(block) ? graph_.end() : graph_.meeting(number_.at(block));
  return node == graph_.end() ? nullptr : order[node];
}

}  // namespace damo::clang_plugin
