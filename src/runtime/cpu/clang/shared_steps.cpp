#include "shared_steps.hpp"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>

#include <algorithm>

#include "isolated_steps.hpp"
#include "row_addresses.hpp"
#include "row_invariants.hpp"

namespace damo::clang_plugin {
namespace {

constexpr long kFewSteps = 32;
constexpr long kMostUnrolled = 300;  // instructions: LLVM's own limit
constexpr int kMostInterchanges = 4;

/// A loop that all threads go through alike: what decides how far it goes is the same for all.
struct SharedLoop {
  llvm::Loop* threads;
  llvm::Loop* steps;
  std::vector<llvm::PHINode*> counted = {};  ///< the same in all threads
  std::vector<llvm::PHINode*> own = {};      ///< each thread has its own
  llvm::BranchInst* test = nullptr;
  std::vector<llvm::BranchInst*> guards = {};  ///< what threads ask on their way to the loop
  std::vector<bool> answers = {};              ///< by which they get there
};

/// Parts the loop's phis. Those that are counted are assumed by invariants afterwards.
void read_phis(SharedLoop& found, RowInvariants& invariants) {
  llvm::BasicBlock *before = found.steps->getLoopPredecessor(), *latch = found.steps->getLoopLatch();
  for (llvm::PHINode& phi : found.steps->getHeader()->phis()) {
    if (phi.getType()->isIntegerTy() && invariants.is_invariant(phi.getIncomingValueForBlock(before))) {
      found.counted.push_back(&phi);
      invariants.assume(&phi);
    } else {
      found.own.push_back(&phi);
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (llvm::PHINode* phi : found.counted) {
      if (invariants.is_invariant(phi->getIncomingValueForBlock(latch))) continue;
      invariants.forget(phi);
      found.own.push_back(phi);
      changed = true;
    }
    std::erase_if(found.counted, [&](llvm::PHINode* phi) { return std::find(found.own.begin(), found.own.end(), phi) != found.own.end(); });
  }
}

/// Loops of few steps, a number known now, are unrolled if that makes no long code, and the loop over threads vectorises as it is.
bool has_few_steps(const SharedLoop& found) {
  const auto* test = llvm::dyn_cast<llvm::ICmpInst>(found.test->getCondition());
  const auto* bound = test ? llvm::dyn_cast<llvm::ConstantInt>(test->getOperand(1)) : nullptr;
  const auto* phi = test ? llvm::dyn_cast<llvm::PHINode>(test->getOperand(0)) : nullptr;
  if (!bound || !phi || phi->getParent() != found.steps->getHeader()) return false;
  const auto* begin = llvm::dyn_cast<llvm::ConstantInt>(phi->getIncomingValueForBlock(found.steps->getLoopPredecessor()));
  if (!begin) return false;
  const long count = std::abs(bound->getSExtValue() - begin->getSExtValue());
  long instructions = 0;
  for (const llvm::BasicBlock* block : found.steps->blocks()) instructions += static_cast<long>(block->sizeWithoutDebug());
  return count <= kFewSteps && count * instructions <= kMostUnrolled;
}

/// True if a thread's place has to do with what is computed in the steps. If not, all threads do the same: made for one.
bool has_to_do_with_threads(const SharedLoop& found, const RowAddresses& addresses) {
  for (const llvm::BasicBlock* block : found.steps->blocks()) {
    for (const llvm::Instruction& instruction : *block) {
      const llvm::Value* address = llvm::getLoadStorePointerOperand(&instruction);
      if (address && addresses.step_of(address) != 0) return true;
      for (const llvm::Value* operand : instruction.operands()) {
        const auto* from = llvm::dyn_cast<llvm::Instruction>(operand);
        if (from && found.threads->contains(from) && !found.steps->contains(from) && addresses.step_of(from) != 0) return true;
      }
    }
  }
  return false;
}

/// True if all threads of the row get to the loop, or none: only then may its steps be counted in front of the row.
bool read_guards(SharedLoop& found, const llvm::DominatorTree& dominators, const RowInvariants& invariants) {
  llvm::BasicBlock *block = found.threads->getHeader(), *const steps = found.steps->getHeader();
  for (int blocks = 0; blocks < 100; ++blocks) {
    auto* branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
    if (!branch) return false;
    unsigned side = 0;
    if (branch->isConditional()) {
      while (side < 2 && !dominators.dominates(llvm::BasicBlockEdge(block, branch->getSuccessor(side)), steps)) ++side;
      if (side == 2) return false;
      if (block != found.threads->getHeader()) {
        if (!invariants.is_invariant(branch->getCondition())) return false;
        found.guards.push_back(branch);
        found.answers.push_back(side == 0);
      }
    }
    block = branch->getSuccessor(side);
    if (block == steps) return true;
  }
  return false;
}

bool read_loop(SharedLoop& found, const llvm::DominatorTree& dominators, RowInvariants& invariants) {
  llvm::Loop& steps = *found.steps;
  if (!steps.getLoopLatch() || !steps.getLoopPredecessor() || !steps.getSubLoops().empty()) return false;
  found.test = llvm::dyn_cast<llvm::BranchInst>(steps.getHeader()->getTerminator());
  if (!found.test || !found.test->isConditional() || has_few_steps(found) || !read_guards(found, dominators, invariants)) return false;
  read_phis(found, invariants);
  if (found.counted.empty() || !invariants.is_invariant(found.test->getCondition())) return false;
  const RowAddresses addresses(invariants, {});
  return addresses.are_close(steps) && has_to_do_with_threads(found, addresses);
}

/// Whether any thread of the row gets to the loop, asked in front of it.
llvm::Value* is_reached(const SharedLoop& found, llvm::Value* first, RowInvariants& invariants, llvm::IRBuilder<>& builder) {
  const auto* inside = llvm::cast<llvm::ICmpInst>(llvm::cast<llvm::BranchInst>(found.threads->getHeader()->getTerminator())->getCondition());
  llvm::Value* reached = builder.CreateICmpULT(first, inside->getOperand(1));
  for (size_t i = 0; i < found.guards.size(); ++i) {
    llvm::Value* answer = invariants.in_front(found.guards[i]->getCondition(), builder);
    if (!found.answers[i]) answer = builder.CreateNot(answer);
    reached = builder.CreateLogicalAnd(reached, answer);
  }
  return reached;
}

/// The loop over steps, around the loop over threads that found.threads has become.
void wrap(const SharedLoop& found, llvm::BasicBlock* before, llvm::BasicBlock* after, llvm::BasicBlock* leave, RowInvariants& invariants) {
  llvm::BasicBlock *header = found.threads->getHeader(), *steps = found.steps->getHeader(), *latch = found.steps->getLoopLatch();
  llvm::Function* const entry = header->getParent();
  auto* const again = llvm::BasicBlock::Create(entry->getContext(), "step", entry, header);
  auto* const next = llvm::BasicBlock::Create(entry->getContext(), "step.end", entry, after);
  llvm::IRBuilder<> builder(before->getTerminator());
  llvm::Value* const reached = is_reached(found, llvm::cast<llvm::PHINode>(header->front()).getIncomingValueForBlock(before), invariants, builder);
  std::vector<llvm::PHINode*> rounds;
  for (llvm::PHINode* phi : found.counted) {
    const unsigned edge = phi->getIncomingBlock(0) == latch ? 1 : 0;
    llvm::Value* const first = invariants.in_front(phi->getIncomingValue(edge), builder);
    rounds.push_back(llvm::IRBuilder<>(again).CreatePHI(phi->getType(), 2));
    rounds.back()->addIncoming(first, before);
  }
  before->getTerminator()->eraseFromParent();
  llvm::BranchInst::Create(again, after, reached, before);
  header->replacePhiUsesWith(before, again);
  header->getTerminator()->replaceSuccessorWith(after, next);
  for (size_t i = 0; i < rounds.size(); ++i) invariants.assume(found.counted[i], rounds[i]);
  builder.SetInsertPoint(again);
  const bool goes_on_if_true = found.steps->contains(found.test->getSuccessor(0));
  llvm::Value* const test = invariants.in_front(found.test->getCondition(), builder);
  goes_on_if_true ? builder.CreateCondBr(test, header, after) : builder.CreateCondBr(test, after, header);
  builder.SetInsertPoint(next);
  for (size_t i = 0; i < rounds.size(); ++i) rounds[i]->addIncoming(invariants.in_front(found.counted[i]->getIncomingValueForBlock(latch), builder), next);
  builder.CreateBr(again);
  found.test->setCondition(llvm::ConstantInt::getBool(entry->getContext(), goes_on_if_true));
  latch->getTerminator()->replaceSuccessorWith(steps, leave);
  latch->getTerminator()->setMetadata(llvm::LLVMContext::MD_loop, nullptr);
  for (size_t i = 0; i < rounds.size(); ++i) {
    found.counted[i]->replaceAllUsesWith(rounds[i]);
    found.counted[i]->eraseFromParent();
  }
}

/// One interchange; true if one was made.
bool interchange_once(llvm::Function& entry) {
  const llvm::DominatorTree dominators(entry);
  llvm::LoopInfo loops(dominators);
  for (llvm::CallInst* marker : thread_loop_markers(entry)) {
    llvm::Loop* const threads = loops.getLoopFor(marker->getParent());
    if (!threads || !threads->getLoopPredecessor()) continue;
    for (llvm::Loop* steps : threads->getSubLoops()) {
      SharedLoop found{threads, steps};
      RowInvariants invariants(*threads, dominators);
      if (!read_loop(found, dominators, invariants)) continue;
      IsolatedSteps isolated(*threads, *steps, found.own, dominators, invariants);
      if (!isolated.is_possible()) continue;
      llvm::BasicBlock* const leave = isolated.cut();
      llvm::BasicBlock* const header = threads->getHeader();
      llvm::BasicBlock* before = nullptr;
      for (llvm::BasicBlock* from : llvm::predecessors(header)) {
        if (!threads->contains(from)) before = from;
      }
      llvm::BasicBlock* after = nullptr;
      for (llvm::BasicBlock* to : llvm::successors(header)) {
        if (!threads->contains(to)) after = to;
      }
      wrap(found, before, after, leave, invariants);
      return true;
    }
  }
  return false;
}

}  // namespace

void interchange_shared_steps(llvm::Function& entry) {
  const llvm::Value* const indices = indices_of(entry);
  if (!indices || has_local_memory(entry, *indices)) return;
  for (int made = 0; made < kMostInterchanges && interchange_once(entry);) ++made;
}

}  // namespace damo::clang_plugin
