#include "row_loops.hpp"

#include <optional>

#include "markers.hpp"
#include "row_values.hpp"

namespace damo::clang_plugin {
namespace {

constexpr long kLargestStep = 1 << 16;

/// Nobody notices if a thread does not do it, as long as that thread does nothing else: it computes, reads, or writes what
/// is its own.
bool is_unnoticed(const llvm::Instruction& instruction, const llvm::CallInst& marker) {
  if (&instruction == &marker || instruction.isLifetimeStartOrEnd() || !instruction.mayHaveSideEffects()) return true;
  const llvm::Value* written = nullptr;
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) written = store->isSimple() ? store->getPointerOperand() : nullptr;
  if (const auto* memory = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction)) written = memory->isVolatile() ? nullptr : memory->getRawDest();
  const llvm::Value* const object = written ? llvm::getUnderlyingObject(written, 0) : nullptr;
  return object && llvm::isa<llvm::AllocaInst>(object) && !object->getName().starts_with(kBlockVariable);
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

/// Where threads go on: index relation bound.
struct Guard {
  llvm::CmpInst::Predicate relation;
  llvm::Value *index, *bound;
  bool goes_on_if_true;
  bool is_signed() const { return llvm::CmpInst::isSigned(relation); }
};

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

/// True if branch compares something that differs from thread to thread: those that fail, and only they, are done.
bool read_guard(llvm::BranchInst& branch, const Row& row, const RowValues& values, Guard& guard) {
  auto* comparison = llvm::dyn_cast<llvm::ICmpInst>(branch.getCondition());
  if (!comparison || !comparison->getOperand(0)->getType()->isIntegerTy()) return false;
  const bool index_first = values.is_invariant(comparison->getOperand(1));
  guard.index = comparison->getOperand(index_first ? 0 : 1);
  guard.bound = comparison->getOperand(index_first ? 1 : 0);
  guard.goes_on_if_true = is_done(branch.getSuccessor(1), row);
  if (!guard.goes_on_if_true && !is_done(branch.getSuccessor(0), row)) return false;
  guard.relation = index_first ? comparison->getPredicate() : comparison->getSwappedPredicate();
  if (!guard.goes_on_if_true) guard.relation = llvm::CmpInst::getInversePredicate(guard.relation);
  const auto* zero = llvm::dyn_cast<llvm::ConstantInt>(guard.bound);
  const bool is_plain = values.is_index(without_extension(guard.index));
  if (guard.relation == llvm::CmpInst::ICMP_NE && zero && zero->isZero() && is_plain) guard.relation = llvm::CmpInst::ICMP_UGT;  // no index is negative
  return llvm::ICmpInst::isRelational(guard.relation);
}

/// What an index is in the row's threads, in numbers of 64 bits: first + step * threadIdx.x.
struct Line {
  llvm::Value* first;
  long step;
  llvm::Value* holds;  ///< asked in front of the row: nothing goes past the end of the index's width. Null: never does anything
};

std::optional<Line> read_line(const Guard& guard, const Row& row, const RowValues& values, llvm::IRBuilder<>& builder) {
  llvm::Value* const index = const_cast<llvm::Value*>(without_extension(guard.index));
  if (values.is_thread(index)) return Line{builder.getInt64(0), 1, nullptr};
  if (values.is_index(index)) return Line{builder.CreateMul(read_marker(builder, kBlock, 0), read_marker(builder, kBlockSize, 0), "", true, true), 1, nullptr};
  const bool is_wide = index->getType()->isIntegerTy(64);
  const auto step = is_wide || index->getType()->isIntegerTy(32) ? values.step_of(index, RowValues::As::kProof) : std::nullopt;
  if (!step || *step < 1 || *step > kLargestStep) return std::nullopt;
  RowValues at_zero = values;
  at_zero.assume(row.inside->getOperand(0), builder.getInt32(0));
  for (llvm::BasicBlock* block : row.loop->blocks()) {
    for (llvm::Instruction& instruction : *block) {
      if (marker_slot(&instruction) == kThread * 3) at_zero.assume(&instruction, builder.getInt32(0));
    }
  }
  const bool is_signed = index == guard.index ? guard.is_signed() : llvm::isa<llvm::SExtInst>(guard.index);
  llvm::Value* first = at_zero.in_front(index, builder);
  if (!first) return std::nullopt;
  first = is_signed ? builder.CreateSExt(first, builder.getInt64Ty()) : builder.CreateZExt(first, builder.getInt64Ty());
  if (is_wide) return Line{first, *step, builder.CreateICmpULE(first, builder.getInt64(1UL << 60))};
  llvm::Value* const beyond = builder.CreateAdd(first, builder.CreateMul(builder.CreateZExt(row.inside->getOperand(1), builder.getInt64Ty()), builder.getInt64(*step)));
  llvm::Value* holds = builder.CreateICmpSLE(beyond, builder.getInt64(is_signed ? 0x7fffffff : 0xffffffff));
  // Less than zero, sign-extended and then compared as unsigned, is very great.
  if (is_signed && !guard.is_signed()) holds = builder.CreateAnd(holds, builder.CreateICmpSGE(first, builder.getInt64(0)));
  return Line{first, *step, holds};
}

/// Ends the loop where index relation bound fails, or begins it there, and tells branch so. False if that is not known before
/// the loop. Where it is known only if the index stays in its width, branch asks that first, and LLVM parts the loop by it.
bool apply(const Guard& guard, const Row& row, RowValues& values, llvm::BranchInst& branch) {
  llvm::BasicBlock* const before = row.loop->getLoopPredecessor();
  llvm::IRBuilder<> builder(before->getTerminator());
  llvm::Value* const bound = values.in_front(guard.bound, builder);
  const auto line = bound ? read_line(guard, row, values, builder) : std::nullopt;
  if (!line) return false;
  const bool ends = llvm::ICmpInst::isLT(guard.relation) || llvm::ICmpInst::isLE(guard.relation);
  const bool counts_equal = llvm::ICmpInst::isLE(guard.relation) || llvm::ICmpInst::isGT(guard.relation);
  llvm::Value* const at = count_below(builder, bound, guard.is_signed(), counts_equal, line->first, line->step);
  auto* const x = llvm::cast<llvm::PHINode>(row.inside->getOperand(0));
  const auto narrow = [&](llvm::Intrinsic::ID pick, llvm::Value* old) {
    llvm::Value* const end = builder.CreateTrunc(builder.CreateBinaryIntrinsic(pick, at, builder.CreateZExt(old, builder.getInt64Ty())), builder.getInt32Ty());
    return line->holds ? builder.CreateSelect(line->holds, end, old) : end;
  };
  if (ends) row.inside->setOperand(1, narrow(llvm::Intrinsic::smin, row.inside->getOperand(1)));
  else x->setIncomingValueForBlock(before, narrow(llvm::Intrinsic::smax, x->getIncomingValueForBlock(before)));
  llvm::Value* passes = llvm::ConstantInt::getBool(branch.getContext(), guard.goes_on_if_true);
  builder.SetInsertPoint(&branch);
  if (line->holds && guard.goes_on_if_true) passes = builder.CreateLogicalOr(line->holds, branch.getCondition());
  else if (line->holds) passes = builder.CreateLogicalAnd(builder.CreateNot(line->holds), branch.getCondition());
  branch.setCondition(passes);
  return true;
}

/// What branch leads on to after guards that were seen to; null if it is none.
llvm::BasicBlock* behind_guard(llvm::BranchInst& branch, const Row& row, RowValues& values) {
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(branch.getCondition())) return branch.getSuccessor(known->isZero() ? 1 : 0);
  if (Guard guard{}; read_guard(branch, row, values, guard) && apply(guard, row, values, branch)) {
    return branch.getSuccessor(guard.goes_on_if_true ? 0 : 1);
  }
  // if (y < height): all threads of the row go on, or none does.
  llvm::IRBuilder<> builder(row.loop->getLoopPredecessor()->getTerminator());
  for (unsigned side = 0; side < 2; ++side) {
    if (!is_done(branch.getSuccessor(side), row)) continue;
    llvm::Value* const answer = values.in_front(branch.getCondition(), builder);
    if (!answer) return nullptr;
    llvm::Value* const end = row.inside->getOperand(1);
    row.inside->setOperand(1, side == 1 ? builder.CreateSelect(answer, end, builder.getInt32(0)) : builder.CreateSelect(answer, builder.getInt32(0), end));
    branch.setCondition(builder.getInt1(side == 1));
    return branch.getSuccessor(1 - side);
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
  RowValues values(marker, *loop, dominators);
  llvm::BasicBlock* block = end->getSuccessor(0);
  for (unsigned guards = 0; block && loop->contains(block) && guards < 16; ++guards) {
    llvm::BasicBlock* const at = first_branch(block, *loop, marker);
    auto* branch = at ? llvm::dyn_cast<llvm::BranchInst>(at->getTerminator()) : nullptr;
    block = branch && branch->isConditional() ? behind_guard(*branch, row, values) : nullptr;
  }
}

}  // namespace

llvm::Value* count_below(llvm::IRBuilderBase& builder, llvm::Value* bound, bool is_signed, bool counts_equal, llvm::Value* first, long step) {
  llvm::Type* const wide = builder.getInt64Ty();
  constexpr long kFar = 1L << 60;  // no index is as great, and differences do not wrap
  const auto limit = [&](llvm::Intrinsic::ID id, llvm::Value* value, long at) {
    return builder.CreateBinaryIntrinsic(id, value, llvm::ConstantInt::getSigned(wide, at));
  };
  if (is_signed) bound = limit(llvm::Intrinsic::smin, limit(llvm::Intrinsic::smax, builder.CreateSExt(bound, wide), -kFar), kFar);
  else bound = limit(llvm::Intrinsic::umin, builder.CreateZExt(bound, wide), kFar);
  llvm::Value* left = builder.CreateSub(bound, first, "", false, true);
  if (counts_equal) left = builder.CreateAdd(left, builder.getInt64(1), "", false, true);
  left = limit(llvm::Intrinsic::smax, left, 0);
  if (step > 1) left = builder.CreateUDiv(builder.CreateAdd(left, llvm::ConstantInt::get(wide, step - 1), "", true, true), llvm::ConstantInt::get(wide, step));
  return limit(llvm::Intrinsic::smin, left, 0x7fffffff);
}

void bound_threads(llvm::Function& entry) {
  const llvm::DominatorTree dominators(entry);
  llvm::LoopInfo loops(dominators);
  for (llvm::CallInst* marker : thread_loop_markers(entry)) bound_row(*marker, loops, dominators);
}

}  // namespace damo::clang_plugin
