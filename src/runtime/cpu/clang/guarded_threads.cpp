#include "guarded_threads.hpp"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include "markers.hpp"

namespace damo::clang_plugin {
namespace {

llvm::CallInst* marker_of(llvm::Function& entry) {
  for (llvm::Instruction& instruction : llvm::instructions(entry)) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (call && call->getCalledFunction() && call->getCalledFunction()->getName() == "__damo_thread_loop") return call;
  }
  return nullptr;
}

/// Nobody notices if a thread does not do it, as long as that thread does nothing else: it computes, reads, or writes what
/// is its own.
bool is_unnoticed(const llvm::Instruction& instruction, const llvm::CallInst& marker) {
  if (&instruction == &marker || instruction.isLifetimeStartOrEnd() || !instruction.mayHaveSideEffects()) return true;
  const llvm::Value* written = nullptr;
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) written = store->isSimple() ? store->getPointerOperand() : nullptr;
  if (const auto* memory = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction)) written = memory->isVolatile() ? nullptr : memory->getRawDest();
  return written && llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(written, 0));
}

/// The block with the first branch on the way from block, or the latch; null if something noticed is done before.
llvm::BasicBlock* first_branch(llvm::BasicBlock* block, const llvm::Loop& loop, const llvm::CallInst& marker) {
  for (unsigned steps = 0; steps < 100; ++steps) {
    for (const llvm::Instruction& instruction : *block) {
      if (!instruction.isTerminator() && !is_unnoticed(instruction, marker)) return nullptr;
    }
    llvm::BasicBlock* const next = block->getSingleSuccessor();
    if (block == loop.getLoopLatch() || !next) return block;
    block = next;
  }
  return nullptr;
}

const llvm::Value* without_extension(const llvm::Value* value) {
  const auto* cast = llvm::dyn_cast<llvm::CastInst>(value);
  return cast && (llvm::isa<llvm::ZExtInst>(cast) || llvm::isa<llvm::SExtInst>(cast)) ? cast->getOperand(0) : value;
}

/// Where threads go on: index relation bound.
struct Guard {
  llvm::CmpInst::Predicate relation;
  llvm::Value* bound;
  bool goes_on_if_true;
  bool of_block;  ///< the index is threadIdx.x alone
};

bool is_index(const llvm::Value* value) { return marker_slot(value) == kThread * 3 || global_index_axis(value) == 0; }

/// True if branch is one: threads that fail it, and only they, are done.
bool read_guard(llvm::BranchInst& branch, const llvm::Loop& loop, const llvm::DominatorTree& dominators, const llvm::CallInst& marker, Guard& guard) {
  auto* comparison = llvm::dyn_cast<llvm::ICmpInst>(branch.getCondition());
  if (!comparison || !comparison->isRelational()) return false;
  const bool index_first = is_index(without_extension(comparison->getOperand(0)));
  if (!index_first && !is_index(without_extension(comparison->getOperand(1)))) return false;
  guard.of_block = marker_slot(without_extension(comparison->getOperand(index_first ? 0 : 1))) >= 0;
  guard.bound = comparison->getOperand(index_first ? 1 : 0);
  const auto* source = llvm::dyn_cast<llvm::Instruction>(guard.bound);
  if (source && !dominators.dominates(source->getParent(), loop.getLoopPredecessor())) return false;
  guard.relation = index_first ? comparison->getPredicate() : comparison->getSwappedPredicate();
  guard.goes_on_if_true = llvm::ICmpInst::isLT(guard.relation) || llvm::ICmpInst::isLE(guard.relation);
  if (!guard.goes_on_if_true) guard.relation = llvm::CmpInst::getInversePredicate(guard.relation);
  llvm::BasicBlock* const done = branch.getSuccessor(guard.goes_on_if_true ? 1 : 0);
  return loop.contains(done) && first_branch(done, loop, marker) == loop.getLoopLatch();
}

llvm::Value* index_at(llvm::IRBuilder<>& builder, llvm::Function& entry, const char* marker) {
  return builder.CreateZExt(builder.CreateCall(entry.getParent()->getOrInsertFunction(marker, builder.getInt32Ty())), builder.getInt64Ty());
}

}  // namespace

llvm::Value* distance_to(llvm::IRBuilderBase& builder, llvm::Value* bound, bool is_signed, llvm::Value* base) {
  llvm::Type* const wide = builder.getInt64Ty();
  const auto limit = [&](llvm::Intrinsic::ID id, llvm::Value* value, long at) {
    return builder.CreateBinaryIntrinsic(id, value, llvm::ConstantInt::getSigned(wide, at));
  };
  bound = is_signed ? builder.CreateSExt(bound, wide) : limit(llvm::Intrinsic::umin, builder.CreateZExt(bound, wide), 1L << 62);
  llvm::Value* const left = builder.CreateSub(limit(llvm::Intrinsic::smax, bound, -1), base, "", false, true);
  return limit(llvm::Intrinsic::smin, limit(llvm::Intrinsic::smax, left, -1), 0x7fffffff);
}

void bound_threads(llvm::Function& entry) {
  llvm::CallInst* const marker = marker_of(entry);
  if (!marker) return;
  llvm::DominatorTree dominators(entry);
  llvm::LoopInfo loops(dominators);
  llvm::Loop* const loop = loops.getLoopFor(marker->getParent());
  if (!loop || !loop->getLoopLatch() || !loop->getLoopPredecessor()) return;
  auto* end = llvm::dyn_cast<llvm::BranchInst>(loop->getHeader()->getTerminator());
  auto* inside = end && end->isConditional() ? llvm::dyn_cast<llvm::ICmpInst>(end->getCondition()) : nullptr;
  if (!inside || !inside->hasOneUse() || inside->getPredicate() != llvm::CmpInst::ICMP_ULT || inside->getOperand(0) != &loop->getHeader()->front()) return;
  llvm::BasicBlock* const body = end->getSuccessor(0);
  llvm::BasicBlock* const at = loop->contains(body) ? first_branch(body, *loop, *marker) : nullptr;
  auto* branch = at ? llvm::dyn_cast<llvm::BranchInst>(at->getTerminator()) : nullptr;
  Guard guard{};
  if (!branch || !branch->isConditional() || !read_guard(*branch, *loop, dominators, *marker, guard)) return;
  llvm::IRBuilder<> builder(loop->getLoopPredecessor()->getTerminator());
  llvm::Value* base = builder.getInt64(0);
  if (!guard.of_block) base = builder.CreateMul(index_at(builder, entry, "__damo_block_x"), index_at(builder, entry, "__damo_block_size_x"), "", true, true);
  llvm::Value* count = distance_to(builder, guard.bound, llvm::CmpInst::isSigned(guard.relation), base);
  if (llvm::ICmpInst::isLE(guard.relation)) count = builder.CreateAdd(count, builder.getInt64(1), "", false, true);
  count = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, count, builder.getInt64(0));
  count = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, count, builder.CreateZExt(inside->getOperand(1), builder.getInt64Ty()));
  inside->setOperand(1, builder.CreateTrunc(count, builder.getInt32Ty()));
  branch->setCondition(builder.getInt1(guard.goes_on_if_true));
}

}  // namespace damo::clang_plugin
