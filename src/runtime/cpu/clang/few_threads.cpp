#include "few_threads.hpp"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include <algorithm>

#include "row_invariants.hpp"

namespace damo::clang_plugin {
namespace {

// A step of a row takes as long as four or five additions of one thread.
constexpr unsigned kFewThreads = 5;

}  // namespace

void keep_for_few_threads(llvm::Loop& threads) {
  llvm::BasicBlock *header = threads.getHeader(), *before = threads.getLoopPredecessor();
  auto* const end = llvm::dyn_cast<llvm::BranchInst>(header->getTerminator());
  auto* const inside = end && end->isConditional() ? llvm::dyn_cast<llvm::ICmpInst>(end->getCondition()) : nullptr;
  if (!before || !inside || inside->getPredicate() != llvm::CmpInst::ICMP_ULT || inside->getOperand(0) != &header->front()) return;
  if (const auto* count = llvm::dyn_cast<llvm::Instruction>(inside->getOperand(1)); count && threads.contains(count)) return;
  llvm::Function* const function = header->getParent();
  llvm::ValueToValueMapTy map;
  llvm::SmallVector<llvm::BasicBlock*, 16> copies;
  for (llvm::BasicBlock* block : threads.blocks()) map[block] = copies.emplace_back(llvm::CloneBasicBlock(block, map, ".few", function));
  llvm::remapInstructionsInBlocks(copies, map);
  auto* const copy = llvm::cast<llvm::BasicBlock>(map[header]);
  auto* const choice = llvm::BasicBlock::Create(function->getContext(), "threads", function, header);
  before->getTerminator()->replaceSuccessorWith(header, choice);
  header->replacePhiUsesWith(before, choice);
  copy->replacePhiUsesWith(before, choice);
  llvm::IRBuilder<> builder(choice);
  builder.CreateCondBr(builder.CreateICmpULT(inside->getOperand(1), builder.getInt32(kFewThreads)), copy, header);
  for (llvm::CallInst* marker : thread_loop_markers(*function)) {
    if (std::find(copies.begin(), copies.end(), marker->getParent()) != copies.end()) marker->eraseFromParent();
  }
}

}  // namespace damo::clang_plugin
