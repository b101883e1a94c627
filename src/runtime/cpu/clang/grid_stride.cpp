#include "grid_stride.hpp"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "markers.hpp"

namespace damo::clang_plugin {
namespace {

struct Found {
  llvm::Loop* threads = nullptr;      ///< over threadIdx.x
  llvm::Loop* steps = nullptr;        ///< the kernel's own loop
  llvm::PHINode* index = nullptr;     ///< its i
  llvm::Value* begin = nullptr;       ///< i of the first step
  llvm::BranchInst* test = nullptr;   ///< i < n
  bool is_signed = false;             ///< of that comparison
  llvm::BasicBlock* leave = nullptr;  ///< where the test goes when it fails
  llvm::Value* indices = nullptr;     ///< the entry's Indices
};

llvm::CallInst* call_of(llvm::Function& entry, const char* name) {
  for (llvm::Instruction& instruction : llvm::instructions(entry)) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (call && call->getCalledFunction() && call->getCalledFunction()->getName() == name) return call;
  }
  return nullptr;
}

const llvm::Value* without_extension(const llvm::Value* value) {
  const auto* cast = llvm::dyn_cast<llvm::CastInst>(value);
  return cast && (llvm::isa<llvm::ZExtInst>(cast) || llvm::isa<llvm::SExtInst>(cast)) ? cast->getOperand(0) : value;
}

/// One header phi, one exit, at the test in the header; nothing computed inside is used after.
bool read_steps(Found& found) {
  llvm::Loop& loop = *found.steps;
  llvm::BasicBlock *header = loop.getHeader(), *latch = loop.getLoopLatch(), *before = loop.getLoopPredecessor();
  if (!latch || !before || loop.getExitingBlock() != header) return false;
  found.leave = loop.getExitBlock();
  found.test = llvm::dyn_cast<llvm::BranchInst>(header->getTerminator());
  auto* back = llvm::dyn_cast<llvm::BranchInst>(latch->getTerminator());
  if (!found.leave || !found.test || !found.test->isConditional() || !back || back->isConditional()) return false;
  if (llvm::isa<llvm::PHINode>(found.leave->front())) return false;
  const auto phis = header->phis();
  if (std::distance(phis.begin(), phis.end()) != 1) return false;
  found.index = &*phis.begin();
  found.begin = found.index->getIncomingValueForBlock(before);
  const auto* next = llvm::dyn_cast<llvm::BinaryOperator>(found.index->getIncomingValueForBlock(latch));
  if (!next || next->getOpcode() != llvm::Instruction::Add) return false;
  const llvm::Value* step = next->getOperand(0) == found.index ? next->getOperand(1) : next->getOperand(0);
  if (step == found.index || (next->getOperand(0) != found.index && next->getOperand(1) != found.index)) return false;
  if (block_product_axis(without_extension(step), kGridSize) != 0) return false;
  if (global_index_axis(without_extension(found.begin)) != 0) return false;
  for (llvm::BasicBlock* block : loop.blocks()) {
    for (llvm::Instruction& instruction : *block) {
      for (llvm::User* user : instruction.users()) {
        if (!loop.contains(llvm::cast<llvm::Instruction>(user)->getParent())) return false;
      }
    }
  }
  // How i is compared says where a 32-bit i may not go on: past 2^31 or past 2^32.
  const auto* comparison = llvm::dyn_cast<llvm::ICmpInst>(found.test->getCondition());
  if (!comparison || !comparison->isRelational()) return false;
  found.is_signed = comparison->isSigned();
  return comparison->getOperand(0) == found.index || comparison->getOperand(1) == found.index ||
         without_extension(comparison->getOperand(0)) == found.index;
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

/// A thread's own variables must not live from step to step: a local array would.
bool no_local_memory(llvm::Function& entry, const Found& found) {
  for (llvm::Instruction& instruction : llvm::instructions(entry)) {
    if (llvm::isa<llvm::AllocaInst>(instruction) && &instruction != found.indices) return false;
  }
  return true;
}

llvm::Value* size_on_x(llvm::IRBuilder<>& builder, llvm::Value* indices, MarkerGroup group) {
  llvm::Type* type = builder.getInt32Ty();
  llvm::Value* place = builder.CreateConstInBoundsGEP1_32(type, indices, group * 3);
  return builder.CreateZExt(builder.CreateLoad(type, place), builder.getInt64Ty());
}

/// The loop over steps, around the loop over threads. Gives the distance that all threads have gone, 64 bit wide.
llvm::PHINode* wrap_threads(const Found& found, llvm::Value* more) {
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
  llvm::PHINode* gone = builder.CreatePHI(builder.getInt64Ty(), 2);
  builder.CreateStore(builder.getInt32(0), more);
  builder.CreateBr(header);
  builder.SetInsertPoint(decide);
  llvm::Value* span = builder.CreateMul(size_on_x(builder, found.indices, kGridSize), size_on_x(builder, found.indices, kBlockSize), "", true, true);
  llvm::Value* next = builder.CreateAdd(gone, span, "", true, true);
  builder.CreateCondBr(builder.CreateIsNotNull(builder.CreateLoad(builder.getInt32Ty(), more)), again, after);
  gone->addIncoming(builder.getInt64(0), before);
  gone->addIncoming(next, decide);
  return gone;
}

/// The kernel's loop becomes one step: i is begin + gone, the end of the body leaves.
void run_one_step(const Found& found, llvm::PHINode* gone, llvm::Value* more) {
  llvm::BasicBlock* header = found.index->getParent();
  llvm::BasicBlock* latch = found.steps->getLoopLatch();
  const bool wide = found.index->getType()->isIntegerTy(64);
  llvm::IRBuilder<> builder(&*header->getFirstInsertionPt());
  llvm::Value* distance = builder.CreateTrunc(gone, found.index->getType());
  llvm::Value* index = builder.CreateAdd(found.begin, distance, "", /*HasNUW=*/true, /*HasNSW=*/wide || found.is_signed);
  // A thread that has passed the end of a 32-bit i has finished; others may still have steps to do.
  builder.SetInsertPoint(found.test);
  llvm::Value* condition = found.test->getCondition();
  const bool stays_on_true = found.steps->contains(found.test->getSuccessor(0));
  if (!stays_on_true) condition = builder.CreateNot(condition);
  if (!wide) {
    llvm::Value* room = builder.CreateSub(builder.getInt64(found.is_signed ? 0x7fffffff : 0xffffffff), gone, "", false, true);
    llvm::Value* inside = builder.CreateICmpSLE(builder.CreateZExt(found.begin, builder.getInt64Ty()), room);
    condition = builder.CreateLogicalAnd(inside, condition);
  }
  llvm::Value* noted = builder.CreateOr(builder.CreateLoad(builder.getInt32Ty(), more), builder.CreateZExt(condition, builder.getInt32Ty()));
  builder.CreateStore(noted, more);
  if (!stays_on_true) found.test->swapSuccessors();
  found.test->setCondition(condition);
  latch->getTerminator()->replaceSuccessorWith(header, found.leave);
  latch->getTerminator()->setMetadata(llvm::LLVMContext::MD_loop, nullptr);
  found.index->replaceAllUsesWith(index);
  found.index->eraseFromParent();
}

}  // namespace

bool interchange_grid_stride(llvm::Function& entry) {
  llvm::CallInst *marker = call_of(entry, "__damo_thread_loop"), *tie = call_of(entry, "__damo_indices");
  if (!marker || !tie) return false;
  llvm::DominatorTree dominators(entry);
  llvm::LoopInfo loops(dominators);
  Found found;
  found.threads = loops.getLoopFor(marker->getParent());
  found.indices = tie->getArgOperand(0);
  if (!found.threads || found.threads->getSubLoops().size() != 1 || !found.threads->getLoopPredecessor()) return false;
  if (!found.threads->getExitingBlock() || !found.threads->getExitBlock()) return false;
  found.steps = found.threads->getSubLoops().front();
  if (!read_steps(found) || !outside_is_pure(found) || !no_local_memory(entry, found)) return false;
  llvm::IRBuilder<> builder(&*entry.getEntryBlock().getFirstInsertionPt());
  llvm::Value* more = builder.CreateAlloca(builder.getInt32Ty());
  run_one_step(found, wrap_threads(found, more), more);
  return true;
}

}  // namespace damo::clang_plugin
