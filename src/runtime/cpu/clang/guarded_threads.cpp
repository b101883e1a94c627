#include "guarded_threads.hpp"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include "markers.hpp"
#include "row_invariants.hpp"

namespace damo::clang_plugin {
namespace {

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

/// The loop over threadIdx.x and what of it is changed.
struct Row {
  llvm::Loop* loop;
  const llvm::CallInst* marker;
  llvm::ICmpInst* inside;  ///< x < threads of the row
};

/// Threads that go to block are done.
bool is_done(llvm::BasicBlock* block, const Row& row) {
  return row.loop->contains(block) && first_branch(block, *row.loop, *row.marker) == row.loop->getLoopLatch();
}

/// True if branch compares the index: threads that fail, and only they, are done.
bool read_guard(llvm::BranchInst& branch, const Row& row, Guard& guard) {
  auto* comparison = llvm::dyn_cast<llvm::ICmpInst>(branch.getCondition());
  if (!comparison) return false;
  const bool index_first = is_index(without_extension(comparison->getOperand(0)));
  if (!index_first && !is_index(without_extension(comparison->getOperand(1)))) return false;
  guard.of_block = marker_slot(without_extension(comparison->getOperand(index_first ? 0 : 1))) >= 0;
  guard.bound = comparison->getOperand(index_first ? 1 : 0);
  guard.goes_on_if_true = is_done(branch.getSuccessor(1), row);
  if (!guard.goes_on_if_true && !is_done(branch.getSuccessor(0), row)) return false;
  guard.relation = index_first ? comparison->getPredicate() : comparison->getSwappedPredicate();
  if (!guard.goes_on_if_true) guard.relation = llvm::CmpInst::getInversePredicate(guard.relation);
  const auto* zero = llvm::dyn_cast<llvm::ConstantInt>(guard.bound);
  if (guard.relation == llvm::CmpInst::ICMP_NE && zero && zero->isZero()) guard.relation = llvm::CmpInst::ICMP_UGT;  // no index is negative
  return llvm::ICmpInst::isRelational(guard.relation);
}

llvm::Value* index_at(llvm::IRBuilder<>& builder, llvm::Function& entry, const char* marker) {
  return builder.CreateZExt(builder.CreateCall(entry.getParent()->getOrInsertFunction(marker, builder.getInt32Ty())), builder.getInt64Ty());
}

/// Ends the loop where index relation bound fails, or begins it there. False if bound is not known before the loop.
bool apply(const Guard& guard, const Row& row, RowInvariants& invariants) {
  llvm::BasicBlock* const before = row.loop->getLoopPredecessor();
  llvm::IRBuilder<> builder(before->getTerminator());
  llvm::Value* const bound = invariants.in_front(guard.bound, builder);
  if (!bound) return false;
  llvm::Function& entry = *before->getParent();
  llvm::Value* base = builder.getInt64(0);
  if (!guard.of_block) base = builder.CreateMul(index_at(builder, entry, "__damo_block_x"), index_at(builder, entry, "__damo_block_size_x"), "", true, true);
  llvm::Value* at = distance_to(builder, bound, llvm::CmpInst::isSigned(guard.relation), base);
  const bool ends = llvm::ICmpInst::isLT(guard.relation) || llvm::ICmpInst::isLE(guard.relation);
  if (llvm::ICmpInst::isLE(guard.relation) || llvm::ICmpInst::isGT(guard.relation)) at = builder.CreateAdd(at, builder.getInt64(1), "", false, true);
  at = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, at, builder.getInt64(0));
  auto* const x = llvm::cast<llvm::PHINode>(row.inside->getOperand(0));
  const auto narrow = [&](llvm::Intrinsic::ID pick, llvm::Value* old) {
    return builder.CreateTrunc(builder.CreateBinaryIntrinsic(pick, at, builder.CreateZExt(old, builder.getInt64Ty())), builder.getInt32Ty());
  };
  if (ends) row.inside->setOperand(1, narrow(llvm::Intrinsic::smin, row.inside->getOperand(1)));
  else x->setIncomingValueForBlock(before, narrow(llvm::Intrinsic::smax, x->getIncomingValueForBlock(before)));
  return true;
}

/// What branch leads on to after guards that were seen to; null if it is none.
llvm::BasicBlock* behind_guard(llvm::BranchInst& branch, const Row& row, RowInvariants& invariants) {
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(branch.getCondition())) return branch.getSuccessor(known->isZero() ? 1 : 0);
  if (Guard guard{}; read_guard(branch, row, guard) && apply(guard, row, invariants)) {
    branch.setCondition(llvm::ConstantInt::getBool(branch.getContext(), guard.goes_on_if_true));
    return branch.getSuccessor(guard.goes_on_if_true ? 0 : 1);
  }
  // if (y < height): all threads of the row go on, or none does.
  if (!invariants.is_invariant(branch.getCondition())) return nullptr;
  for (unsigned side = 0; side < 2; ++side) {
    if (is_done(branch.getSuccessor(side), row)) return branch.getSuccessor(1 - side);
  }
  return nullptr;
}

void bound_row(llvm::CallInst& marker, llvm::LoopInfo& loops, const llvm::DominatorTree& dominators) {
  llvm::Loop* const loop = loops.getLoopFor(marker.getParent());
  if (!loop || !loop->getLoopLatch() || !loop->getLoopPredecessor()) return;
  auto* end = llvm::dyn_cast<llvm::BranchInst>(loop->getHeader()->getTerminator());
  auto* inside = end && end->isConditional() ? llvm::dyn_cast<llvm::ICmpInst>(end->getCondition()) : nullptr;
  if (!inside || !inside->hasOneUse() || inside->getPredicate() != llvm::CmpInst::ICMP_ULT || inside->getOperand(0) != &loop->getHeader()->front()) return;
  const Row row{loop, &marker, inside};
  RowInvariants invariants(*loop, dominators);
  llvm::BasicBlock* block = end->getSuccessor(0);
  for (unsigned guards = 0; block && loop->contains(block) && guards < 16; ++guards) {
    llvm::BasicBlock* const at = first_branch(block, *loop, marker);
    auto* branch = at ? llvm::dyn_cast<llvm::BranchInst>(at->getTerminator()) : nullptr;
    block = branch && branch->isConditional() ? behind_guard(*branch, row, invariants) : nullptr;
  }
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
  const llvm::DominatorTree dominators(entry);
  llvm::LoopInfo loops(dominators);
  for (llvm::CallInst* marker : thread_loop_markers(entry)) bound_row(*marker, loops, dominators);
}

}  // namespace damo::clang_plugin
