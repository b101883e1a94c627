#include "grid_stride.hpp"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/Local.h>

#include <algorithm>
#include <vector>

#include "guarded_threads.hpp"
#include "isolated_steps.hpp"
#include "markers.hpp"
#include "row_addresses.hpp"

namespace damo::clang_plugin {
namespace {

struct Found {
  llvm::Loop* threads = nullptr;      ///< over threadIdx.x
  llvm::Loop* steps = nullptr;        ///< the kernel's own loop
  llvm::PHINode* index = nullptr;     ///< its i
  std::vector<llvm::PHINode*> own;    ///< what else goes from step to step: sums
  llvm::Value* begin = nullptr;       ///< i of the first step
  llvm::BranchInst* test = nullptr;   ///< i < n
  llvm::Value* bound = nullptr;       ///< n, where it is known before the threads run; else null
  bool includes_bound = false;        ///< i <= n
  bool cant_wrap = false;             ///< i, as a signed number
  bool of_block = false;              ///< i begins at threadIdx.x and goes by blockDim.x
  bool is_signed = false;             ///< of that comparison
  llvm::BasicBlock* leave = nullptr;  ///< where the test goes when it fails
  llvm::Value* indices = nullptr;     ///< the entry's ThreadState
};

const llvm::Value* without_extension(const llvm::Value* value) {
  const auto* cast = llvm::dyn_cast<llvm::CastInst>(value);
  return cast && (llvm::isa<llvm::ZExtInst>(cast) || llvm::isa<llvm::SExtInst>(cast)) ? cast->getOperand(0) : value;
}

/// True if phi begins at the thread's index and goes on by the threads of the grid or block.
bool read_index(Found& found, llvm::PHINode& phi) {
  llvm::Value* const begin_value = phi.getIncomingValueForBlock(found.steps->getLoopPredecessor());
  const auto* next = llvm::dyn_cast<llvm::BinaryOperator>(phi.getIncomingValueForBlock(found.steps->getLoopLatch()));
  if (!next || next->getOpcode() != llvm::Instruction::Add) return false;
  const llvm::Value* step = next->getOperand(0) == &phi ? next->getOperand(1) : next->getOperand(0);
  if (step == &phi || (next->getOperand(0) != &phi && next->getOperand(1) != &phi)) return false;
  const llvm::Value *begin = without_extension(begin_value), *distance = without_extension(step);
  const bool of_block = marker_slot(begin) == kThread * 3 && marker_slot(distance) == kBlockSize * 3;
  if (!of_block && (global_index_axis(begin) != 0 || block_product_axis(distance, kGridSize) != 0)) return false;
  // How i is compared says where a 32-bit i may not go on: past 2^31 or past 2^32.
  const auto* comparison = llvm::dyn_cast<llvm::ICmpInst>(found.test->getCondition());
  if (!comparison || !comparison->isRelational()) return false;
  if (without_extension(comparison->getOperand(0)) != &phi && comparison->getOperand(1) != &phi) return false;
  found.index = &phi;
  found.begin = begin_value;
  found.of_block = of_block;
  found.is_signed = comparison->isSigned();
  found.cant_wrap = next->hasNoSignedWrap();
  return true;
}

/// One exit, at the test in the header; nothing computed inside is used after, but for what goes from step to step.
bool read_steps(Found& found) {
  llvm::Loop& loop = *found.steps;
  llvm::BasicBlock *header = loop.getHeader(), *latch = loop.getLoopLatch(), *before = loop.getLoopPredecessor();
  if (!latch || !before) return false;
  found.leave = loop.getExitBlock();
  found.test = llvm::dyn_cast<llvm::BranchInst>(header->getTerminator());
  auto* back = llvm::dyn_cast<llvm::BranchInst>(latch->getTerminator());
  if (!found.leave || !found.test || !found.test->isConditional() || !back || back->isConditional()) return false;
  if (llvm::isa<llvm::PHINode>(found.leave->front())) return false;
  for (llvm::PHINode& phi : header->phis()) {
    if (found.index || !read_index(found, phi)) found.own.push_back(&phi);
  }
  if (!found.index) return false;
  for (llvm::BasicBlock* block : loop.blocks()) {
    for (llvm::Instruction& instruction : *block) {
      if (std::find(found.own.begin(), found.own.end(), &instruction) != found.own.end()) continue;
      for (llvm::User* user : instruction.users()) {
        if (!loop.contains(llvm::cast<llvm::Instruction>(user)->getParent())) return false;
      }
    }
  }
  return true;
}

/// What the kernel does outside its loop will be done once a step: it must not be noticed.
bool outside_is_pure(const Found& found) {
  for (llvm::BasicBlock* block : found.threads->blocks()) {
    if (found.steps->contains(block)) continue;
    for (llvm::Instruction& instruction : *block) {
      if (!instruction.mayReadOrWriteMemory() || instruction.isLifetimeStartOrEnd()) continue;
      const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call && call->getCalledFunction() && call->getCalledFunction()->getName() == "__damo_thread_loop") continue;
      const llvm::Value* address = llvm::getLoadStorePointerOperand(&instruction);
      if (!address || llvm::getUnderlyingObject(address, 0) != found.indices) return false;
    }
  }
  return true;
}

llvm::Value* size_on_x(llvm::IRBuilder<>& builder, llvm::Value* indices, MarkerGroup group) {
  llvm::Type* type = builder.getInt32Ty();
  llvm::Value* place = builder.CreateConstInBoundsGEP1_32(type, indices, group * 3);
  return builder.CreateZExt(builder.CreateLoad(type, place), builder.getInt64Ty());
}

/// Reads i < n or i <= n of the test, n being the same for all threads of the row. Leaves bound null where it is another one.
void read_bound(Found& found, const llvm::DominatorTree& dominators) {
  const auto* comparison = llvm::cast<llvm::ICmpInst>(found.test->getCondition());
  const bool index_first = without_extension(comparison->getOperand(0)) == found.index;
  llvm::Value* other = comparison->getOperand(index_first ? 1 : 0);
  auto relation = index_first ? comparison->getPredicate() : comparison->getSwappedPredicate();
  if (!found.steps->contains(found.test->getSuccessor(0))) relation = llvm::CmpInst::getInversePredicate(relation);
  found.includes_bound = llvm::ICmpInst::isLE(relation);
  if (!found.includes_bound && !llvm::ICmpInst::isLT(relation)) return;
  llvm::IRBuilder<> builder(found.threads->getLoopPredecessor()->getTerminator());
  found.bound = RowInvariants(*found.threads, dominators).in_front(other, builder);
}

/// The loop over steps, around the loop over threads.
struct Rounds {
  llvm::PHINode* gone;           ///< the distance that all threads have gone, 64 bit
  llvm::Value* rest = nullptr;   ///< what a thread's first i is compared with in this round; null if n is not known
  llvm::Value* more = nullptr;   ///< then: a variable that says whether any thread did its step
};

Rounds wrap_threads(const Found& found) {
  llvm::BasicBlock *header = found.threads->getHeader(), *before = found.threads->getLoopPredecessor();
  llvm::BasicBlock* after = found.threads->getExitBlock();
  llvm::Function* entry = header->getParent();
  auto* again = llvm::BasicBlock::Create(entry->getContext(), "step", entry, header);
  auto* decide = llvm::BasicBlock::Create(entry->getContext(), "step.end", entry, after);
  before->getTerminator()->replaceSuccessorWith(header, again);
  header->replacePhiUsesWith(before, again);
  found.threads->getExitingBlock()->getTerminator()->replaceSuccessorWith(after, decide);
  after->replacePhiUsesWith(found.threads->getExitingBlock(), decide);

  llvm::IRBuilder<> builder(again);
  Rounds rounds{builder.CreatePHI(builder.getInt64Ty(), 2)};
  if (found.bound) {
    // Thread 0 has the least i: if it has no step to do, nobody has. A round in which every lane is masked out is not
    // only useless: where it passes the end of a page it takes a hundred times as long as another one.
    rounds.rest = builder.CreateTrunc(count_below(builder, found.bound, found.is_signed, found.includes_bound, rounds.gone), without_extension(found.begin)->getType());
    llvm::Value* first = builder.getInt64(0);
    if (!found.of_block) first = builder.CreateMul(size_on_x(builder, found.indices, kBlock), size_on_x(builder, found.indices, kBlockSize), "", true, true);
    builder.CreateCondBr(builder.CreateICmpSLT(builder.CreateTrunc(first, rounds.rest->getType()), rounds.rest), header, after);
  } else {
    rounds.more = llvm::IRBuilder<>(&*entry->getEntryBlock().getFirstInsertionPt()).CreateAlloca(builder.getInt32Ty());
    builder.CreateStore(builder.getInt32(0), rounds.more);
    builder.CreateBr(header);
  }
  builder.SetInsertPoint(decide);
  llvm::Value* span = size_on_x(builder, found.indices, kBlockSize);
  if (!found.of_block) span = builder.CreateMul(size_on_x(builder, found.indices, kGridSize), span, "", true, true);
  llvm::Value* next = builder.CreateAdd(rounds.gone, span, "", true, true);
  if (found.bound) {
    builder.CreateBr(again);
  } else {
    builder.CreateCondBr(builder.CreateIsNotNull(builder.CreateLoad(builder.getInt32Ty(), rounds.more)), again, after);
  }
  rounds.gone->addIncoming(builder.getInt64(0), before);
  rounds.gone->addIncoming(next, decide);
  return rounds;
}

/// The test of a thread that begins at found.begin: asked at each step, and noted if n was not known.
llvm::Value* step_condition(const Found& found, const Rounds& rounds, bool wide) {
  llvm::IRBuilder<> builder(found.test);
  if (found.bound) return builder.CreateICmpSLT(const_cast<llvm::Value*>(without_extension(found.begin)), rounds.rest);
  llvm::Value* condition = found.test->getCondition();
  if (!found.steps->contains(found.test->getSuccessor(0))) condition = builder.CreateNot(condition);
  if (!wide) {
    // A thread that has passed the end of a 32-bit i has finished; others may still have steps to do.
    llvm::Value* room = builder.CreateSub(builder.getInt64(found.is_signed ? 0x7fffffff : 0xffffffff), rounds.gone, "", false, true);
    llvm::Value* inside = builder.CreateICmpSLE(builder.CreateZExt(found.begin, builder.getInt64Ty()), room);
    condition = builder.CreateLogicalAnd(inside, condition);
  }
  llvm::Value* noted = builder.CreateOr(builder.CreateLoad(builder.getInt32Ty(), rounds.more), builder.CreateZExt(condition, builder.getInt32Ty()));
  builder.CreateStore(noted, rounds.more);
  return condition;
}

/// The kernel's loop becomes one step: i is begin + gone, the end of the body leaves.
void run_one_step(const Found& found, const Rounds& rounds) {
  llvm::BasicBlock* header = found.index->getParent();
  llvm::BasicBlock* latch = found.steps->getLoopLatch();
  const bool wide = found.index->getType()->isIntegerTy(64);
  llvm::Value* const old = found.test->getCondition();
  const bool in_own_width = llvm::cast<llvm::ICmpInst>(old)->getOperand(0)->getType() == found.index->getType();
  llvm::Value* const condition = step_condition(found, rounds, wide);
  if (!found.steps->contains(found.test->getSuccessor(0))) found.test->swapSuccessors();
  found.test->setCondition(condition);
  llvm::RecursivelyDeleteTriviallyDeadInstructions(old);
  latch->getTerminator()->replaceSuccessorWith(header, found.leave);
  latch->getTerminator()->setMetadata(llvm::LLVMContext::MD_loop, nullptr);
  // A thread that does its step has passed i < n for signed numbers. Where only such threads use i, it does not wrap for any use.
  const bool is_below = in_own_width && found.bound && found.is_signed && llvm::none_of(found.index->users(), [&](const llvm::User* user) {
    return llvm::cast<llvm::Instruction>(user)->getParent() == header;
  });
  llvm::IRBuilder<> builder(&*header->getFirstInsertionPt());
  llvm::Value* const distance = builder.CreateTrunc(rounds.gone, found.index->getType());
  llvm::Value* const index = builder.CreateAdd(found.begin, distance, "", /*HasNUW=*/true, /*HasNSW=*/wide || found.cant_wrap || is_below);
  found.index->replaceAllUsesWith(index);
  found.index->eraseFromParent();
}

/// Cuts the loop out where it carries sums, or something else is done around it. False if it can't be.
bool isolate(Found& found, const llvm::DominatorTree& dominators) {
  if (!found.bound || !found.steps->getSubLoops().empty()) return false;
  const RowInvariants invariants(*found.threads, dominators);
  if (!RowAddresses(invariants, {found.index}).are_close(*found.steps)) return false;
  IsolatedSteps isolated(*found.threads, *found.steps, found.own, dominators, invariants);
  if (!isolated.is_possible()) return false;
  found.leave = isolated.cut();
  return true;
}

}  // namespace

bool interchange_grid_stride(llvm::Function& entry) {
  const std::vector<llvm::CallInst*> markers = thread_loop_markers(entry);
  llvm::Value* const indices = indices_of(entry);
  if (markers.empty() || !indices || has_local_memory(entry, *indices)) return false;
  llvm::DominatorTree dominators(entry);
  llvm::LoopInfo loops(dominators);
  Found found;
  found.threads = loops.getLoopFor(markers.front()->getParent());
  found.indices = indices;
  if (!found.threads || found.threads->getSubLoops().size() != 1 || !found.threads->getLoopPredecessor()) return false;
  if (!found.threads->getExitingBlock() || !found.threads->getExitBlock()) return false;
  found.steps = found.threads->getSubLoops().front();
  if (!are_steps_free(*found.threads, *found.steps) || !read_steps(found)) return false;
  if (!llvm::isa<llvm::PHINode>(found.threads->getExitBlock()->front())) read_bound(found, dominators);
  const bool is_simple = found.own.empty() && outside_is_pure(found);
  if (!is_simple) {
    if (!isolate(found, dominators)) return false;
    dominators.recalculate(entry);
    loops.releaseMemory();
    loops.analyze(dominators);
    found.threads = loops.getLoopFor(markers.front()->getParent());
    found.steps = loops.getLoopFor(found.index->getParent());
  }
  run_one_step(found, wrap_threads(found));
  return true;
}

}  // namespace damo::clang_plugin
