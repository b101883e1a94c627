#include "rounds.hpp"

#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/LoopUtils.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include "../markers.hpp"
#include "../row_loops.hpp"
#include "../row_values.hpp"

namespace damo::clang_plugin {
namespace {

constexpr long kFewSteps = 32;
constexpr long kMostUnrolled = 300;  ///< instructions: LLVM's own limit
constexpr std::size_t kMostLoops = 24;  ///< what LLVM's passes take grows with their square: 1.6 s of 24, more than 100 of 80
constexpr long kLeastDistance = 16;     ///< if it is a constant: threads with less between their steps don't go side by side

/// A loop over i: for (i = begin; i < bound; i += distance), where begin is place + base, each of 32 bits.
struct Strided {
  llvm::Loop* loop;
  llvm::BranchInst* test;
  llvm::PHINode* index = nullptr;
  llvm::Value *begin = nullptr, *distance = nullptr, *bound = nullptr;
  bool includes_bound = false;  ///< i <= n
  bool is_signed = false;       ///< i, as it is compared
  bool cant_wrap = false;       ///< i, as a signed number
  llvm::Value *place = nullptr, *base = nullptr;  ///< base: null if it is 0
};

bool is_place(const llvm::Value* value) {
  const int slot = marker_slot(value);
  return slot == kThread * 3 || slot == kLane || slot == kNumber;
}

bool read_begin(Strided& found) {
  auto* const begin = const_cast<llvm::Value*>(without_extension(found.begin));
  const auto* sum = llvm::dyn_cast<llvm::BinaryOperator>(begin);
  if (is_place(begin)) found.place = begin;
  else if (sum && sum->getOpcode() == llvm::Instruction::Add && is_place(sum->getOperand(0))) found.place = sum->getOperand(0), found.base = sum->getOperand(1);
  else if (sum && sum->getOpcode() == llvm::Instruction::Add && is_place(sum->getOperand(1))) found.place = sum->getOperand(1), found.base = sum->getOperand(0);
  return found.place != nullptr;
}

bool waits_for_nobody(const llvm::Loop& loop) {
  return llvm::none_of(loop.blocks(), [](const llvm::BasicBlock* block) {
    return llvm::any_of(*block, [](const llvm::Instruction& instruction) { return orders_threads(instruction) || is_wait(&instruction); });
  });
}

bool returns_at_once(const llvm::BasicBlock* block) {
  for (; block; block = block->getSingleSuccessor()) {
    if (llvm::any_of(*block, [](const llvm::Instruction& instruction) { return instruction.mayHaveSideEffects() && !instruction.isLifetimeStartOrEnd(); })) return false;
    if (llvm::isa<llvm::ReturnInst>(block->getTerminator())) return true;
  }
  return false;
}

bool has_shape(const llvm::Loop& loop) {
  const llvm::BasicBlock *const header = loop.getHeader(), *const latch = loop.getLoopLatch(), *const exit = loop.getExitBlock();
  if (latch == header || !exit || exit->getSinglePredecessor() != header || loop.getExitingBlock() != header) return false;
  if (!loop.isInnermost() && !returns_at_once(exit)) return false;
  return llvm::none_of(*header, [](const llvm::Instruction& instruction) { return instruction.mayHaveSideEffects(); });
}

/// Loops of few steps, a number known now, are unrolled if that makes no long code, and the loop over threads vectorises as it is.
bool has_few_steps(const llvm::Loop& loop) {
  const auto* const branch = llvm::dyn_cast<llvm::BranchInst>(loop.getHeader()->getTerminator());
  const auto* const test = branch && branch->isConditional() ? llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition()) : nullptr;
  const auto* const bound = test ? llvm::dyn_cast<llvm::ConstantInt>(test->getOperand(1)) : nullptr;
  const auto* const phi = test ? llvm::dyn_cast<llvm::PHINode>(test->getOperand(0)) : nullptr;
  if (!bound || !phi || phi->getParent() != loop.getHeader()) return false;
  const auto* const begin = llvm::dyn_cast<llvm::ConstantInt>(phi->getIncomingValueForBlock(loop.getLoopPreheader()));
  if (!begin) return false;
  const long count = std::abs(bound->getSExtValue() - begin->getSExtValue());
  long instructions = 0;
  for (const llvm::BasicBlock* block : loop.blocks()) {
    instructions += llvm::count_if(*block, [](const llvm::Instruction& instruction) {
      return !llvm::isa<llvm::PHINode, llvm::CastInst, llvm::GetElementPtrInst, llvm::CmpInst>(instruction) && !instruction.isTerminator();
    });
  }
  return count <= kFewSteps && count * instructions <= kMostUnrolled;
}

/// True if nothing that the header computes but values that go from step to step is used behind the loop.
bool leaves_nothing(const Strided& found) {
  return llvm::all_of(*found.loop->getHeader(), [&](const llvm::Instruction& instruction) {
    const bool is_carried = llvm::isa<llvm::PHINode>(instruction) && &instruction != found.index;
    return is_carried || llvm::all_of(instruction.users(), [&](const llvm::User* user) { return found.loop->contains(llvm::cast<llvm::Instruction>(user)); });
  });
}

/// Whether phi, of the loop's header, goes on by a sum and is what the test at the header's end compares.
bool read_index(Strided& found, llvm::PHINode& phi) {
  const auto* next = llvm::dyn_cast<llvm::BinaryOperator>(phi.getIncomingValueForBlock(found.loop->getLoopLatch()));
  if (!next || next->getOpcode() != llvm::Instruction::Add || (next->getOperand(0) != &phi && next->getOperand(1) != &phi)) return false;
  const auto* comparison = llvm::dyn_cast<llvm::ICmpInst>(found.test->getCondition());
  if (!comparison) return false;
  const bool index_first = without_extension(comparison->getOperand(0)) == &phi;
  const llvm::Value* const compared = comparison->getOperand(index_first ? 0 : 1);
  if (without_extension(compared) != &phi) return false;
  auto relation = index_first ? comparison->getPredicate() : comparison->getSwappedPredicate();
  if (!found.loop->contains(found.test->getSuccessor(0))) relation = llvm::CmpInst::getInversePredicate(relation);
  if (!llvm::ICmpInst::isLT(relation) && !llvm::ICmpInst::isLE(relation)) return false;
  found.index = &phi;
  found.begin = phi.getIncomingValueForBlock(found.loop->getLoopPreheader());
  found.distance = next->getOperand(next->getOperand(0) == &phi ? 1 : 0);
  found.bound = comparison->getOperand(index_first ? 1 : 0);
  found.includes_bound = llvm::ICmpInst::isLE(relation);
  found.is_signed = llvm::ICmpInst::isSigned(relation) && !llvm::isa<llvm::ZExtInst>(compared);
  found.cant_wrap = next->hasNoSignedWrap();
  return true;
}

std::optional<Strided> read_strided(llvm::Loop& loop) {
  Strided found{&loop, llvm::dyn_cast<llvm::BranchInst>(loop.getHeader()->getTerminator())};
  if (!has_shape(loop) || !found.test || !found.test->isConditional()) return std::nullopt;
  for (llvm::PHINode& phi : loop.getHeader()->phis()) {
    if (!read_index(found, phi)) continue;
    const auto* distance = llvm::dyn_cast<llvm::ConstantInt>(found.distance);
    const bool is_near = distance && distance->getValue().slt(kLeastDistance);
    const bool is_narrow = phi.getType()->isIntegerTy(32) || phi.getType()->isIntegerTy(64);
    bool changed = false;
    const bool is_fixed = loop.makeLoopInvariant(found.bound, changed) && loop.makeLoopInvariant(found.distance, changed);
    if (is_narrow && !is_near && is_fixed && read_begin(found) && leaves_nothing(found)) return found;
  }
  return std::nullopt;
}

/// Numbers of 64 bits that are known in front of the loop.
struct Counts {
  llvm::Value *base, *distance;
  llvm::Value* holds;  ///< no index passes the end of its type
};

Counts count(const Strided& found, llvm::IRBuilder<>& builder) {
  llvm::Type* const wide = builder.getInt64Ty();
  const bool is_wide = found.index->getType()->isIntegerTy(64), is_sum_signed = llvm::isa<llvm::SExtInst>(found.begin) || (!is_wide && found.is_signed);
  const auto extend = [&](llvm::Value* value, bool is_signed) { return is_signed ? builder.CreateSExt(value, wide) : builder.CreateZExt(value, wide); };
  Counts counts{found.base ? extend(found.base, is_sum_signed) : builder.getInt64(0), extend(found.distance, found.is_signed), builder.getTrue()};
  const auto ask = [&](llvm::Value* answer) { counts.holds = builder.CreateAnd(counts.holds, answer); };
  llvm::Value *const farthest_begin = builder.getInt64(0x7fffffff), *const farthest = is_wide ? builder.getInt64(1UL << 60) : farthest_begin;
  const llvm::Value* const distance = without_extension(found.distance);
  const bool is_positive = marker_slot(distance) / 3 == kBlockSize || block_product_axis(distance, kGridSize) >= 0;
  if (!is_positive) ask(builder.CreateICmpULT(builder.CreateSub(counts.distance, builder.getInt64(1)), farthest));
  const bool is_global = found.base && block_product_axis(found.base, kBlock) == 0;  // the launcher sees to it
  if (found.base && !is_global) {
    llvm::Value* const margin = builder.getInt64(kMostRowThreads);
    ask(builder.CreateICmpULE(builder.CreateAdd(counts.base, margin), farthest_begin));  // from so far below 0 on
    if (!found.is_signed) ask(builder.CreateICmpSGE(counts.base, builder.getInt64(0)));
  }
  if (found.cant_wrap && found.is_signed) return counts;
  llvm::Value* const bound = extend(found.bound, found.is_signed);
  ask(builder.CreateICmpSLE(bound, builder.CreateSub(farthest, counts.distance, "", false, true)));
  if (!found.is_signed) ask(builder.CreateICmpSGE(bound, builder.getInt64(0)));
  return counts;
}

/// The loop as it is, a second time, behind before.
void copy_loop(const llvm::Loop& loop, llvm::BasicBlock* before, llvm::BasicBlock* exit, llvm::BranchInst& choice) {
  llvm::ValueToValueMapTy map;
  llvm::SmallVector<llvm::BasicBlock*, 16> copies;
  for (llvm::BasicBlock* block : loop.blocks()) map[block] = copies.emplace_back(llvm::CloneBasicBlock(block, map, ".alone", before->getParent()));
  llvm::remapInstructionsInBlocks(copies, map);
  for (llvm::PHINode& phi : exit->phis()) {
    llvm::Value* const left = phi.getIncomingValueForBlock(loop.getHeader());
    const auto copy = map.find(left);
    phi.addIncoming(copy == map.end() ? left : static_cast<llvm::Value*>(copy->second), copies.front());
  }
  choice.setSuccessor(1, copies.front());
}

/// The loop that stays beside rounds runs hardly ever: no vectors are made of it, which would take as long to compile as those of rounds.
void leave_plain(const llvm::BranchInst& form) {
  llvm::LLVMContext& context = form.getContext();
  const auto option = [&](const char* name) { return llvm::MDNode::get(context, llvm::MDString::get(context, name)); };
  llvm::Metadata* const no_vectors[] = {llvm::MDString::get(context, "llvm.loop.vectorize.enable"), llvm::ConstantAsMetadata::get(llvm::ConstantInt::getFalse(context))};
  llvm::MDNode* const plain = llvm::makePostTransformationMetadata(context, nullptr, {}, {llvm::MDNode::get(context, no_vectors), option("llvm.loop.unroll.disable")});
  for (llvm::BasicBlock* from : llvm::predecessors(form.getSuccessor(1))) {
    if (from != form.getParent()) from->getTerminator()->setMetadata(llvm::LLVMContext::MD_loop, plain);
  }
}

Rounds::Loop make_rounds(const Strided& found) {
  const llvm::Loop& loop = *found.loop;
  llvm::BasicBlock *before = loop.getLoopPreheader(), *header = loop.getHeader(), *latch = loop.getLoopLatch(), *exit = loop.getExitBlock();
  llvm::LLVMContext& context = header->getContext();
  llvm::Function* const function = header->getParent();
  llvm::IRBuilder<> builder(before->getTerminator());
  const Counts counts = count(found, builder);
  // Frozen, as what is known to hold would be taken for chosen.
  llvm::BranchInst* const choice = builder.CreateCondBr(builder.Insert(new llvm::FreezeInst(counts.holds)), header, header);
  before->getTerminator()->eraseFromParent();
  copy_loop(loop, before, exit, *choice);
  // The header stays where rounds are counted; what else it does becomes the beginning of the body.
  auto* const begin = llvm::BasicBlock::Create(context, "round", function, header->getNextNode());
  auto* const first = llvm::BasicBlock::Create(context, "step", function, begin->getNextNode());
  const bool meets = loop.isInnermost();  // else a thread that takes no part leaves
  auto* const end = llvm::BasicBlock::Create(context, "round.end", function, latch->getNextNode());
  llvm::BasicBlock* const enter = found.test->getSuccessor(loop.contains(found.test->getSuccessor(0)) ? 0 : 1);
  first->splice(first->end(), header, header->getFirstNonPHIIt(), header->end());
  builder.SetInsertPoint(header, header->begin());
  llvm::PHINode* const gone = builder.CreatePHI(builder.getInt64Ty(), 2);
  builder.SetInsertPoint(header);
  llvm::Value* const from = builder.CreateAdd(counts.base, gone, "", false, true);
  llvm::Value* const left = builder.CreateTrunc(count_below(builder, found.bound, found.is_signed, found.includes_bound, from), builder.getInt32Ty());
  gone->addIncoming(builder.getInt64(0), before);
  gone->addIncoming(builder.CreateAdd(gone, counts.distance, "", false, true), meets ? end : latch);
  llvm::Value* const origin = builder.CreateTrunc(from, found.index->getType());
  auto* const some = builder.CreateCondBr(builder.CreateICmpSGT(left, builder.getInt32(0)), begin, exit);
  builder.SetInsertPoint(begin);
  if (!meets) builder.SetInsertPoint(some);  // with the branch alone, LLVM would make one test of both
  auto* const takes_part = llvm::cast<llvm::ICmpInst>(builder.CreateICmpSLT(found.place, left));
  builder.SetInsertPoint(begin);
  builder.CreateCondBr(takes_part, first, end);
  // Behind the wait a thread goes on with what it had, or has now.
  builder.SetInsertPoint(end);
  llvm::CallInst* const call = meets ? call_wait(builder, WaitKind::kWarp, ~0u) : nullptr;
  meets ? static_cast<void>(builder.CreateBr(header)) : static_cast<void>(builder.CreateRetVoid());
  builder.SetInsertPoint(end, end->begin());
  for (llvm::PHINode& phi : header->phis()) {
    if (!meets || &phi == gone || &phi == found.index) continue;
    llvm::PHINode* const merged = builder.CreatePHI(phi.getType(), 2);
    merged->addIncoming(&phi, begin);
    merged->addIncoming(phi.getIncomingValueForBlock(latch), latch);
    phi.setIncomingValueForBlock(latch, merged);
    phi.replaceIncomingBlockWith(latch, end);
  }
  if (meets) latch->getTerminator()->replaceSuccessorWith(header, end);
  latch->getTerminator()->setMetadata(llvm::LLVMContext::MD_loop, nullptr);
  enter->replacePhiUsesWith(header, first);
  builder.SetInsertPoint(first, first->begin());
  llvm::Value* const place = builder.CreateZExt(found.place, found.index->getType());
  found.index->replaceAllUsesWith(builder.CreateAdd(place, origin, "", /*HasNUW=*/!found.is_signed, /*HasNSW=*/true));
  found.index->eraseFromParent();
  llvm::Value* const asked = found.test->getCondition();
  builder.SetInsertPoint(found.test);
  builder.CreateBr(enter);
  found.test->eraseFromParent();
  llvm::RecursivelyDeleteTriviallyDeadInstructions(asked);
  return {choice, header, begin, takes_part, call};
}

/// Of a row of the block's threads.
struct BlockSteps : RowSteps {
  explicit BlockSteps(const Uniformity& uniformity) : uniformity(uniformity) {}
  bool is_invariant(const llvm::Value* value) const override { return uniformity.is_same_in_row(value, true); }
  const Uniformity& uniformity;
};

}  // namespace

Rounds::Rounds(llvm::Function& function) {
  simplify_loops(function);
  const llvm::DominatorTree dominators(function);
  const llvm::LoopInfo loops(dominators);
  std::vector<Strided> strided;
  std::vector<llvm::Loop*> shared;
  for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
    if (!loop->getLoopPreheader() || !loop->getLoopLatch() || !loop->getLoopLatch()->getSingleSuccessor() || !waits_for_nobody(*loop)) continue;
    const bool is_inner = llvm::any_of(strided, [&](const Strided& outer) { return outer.loop->contains(loop); });
    if (const auto read = is_inner ? std::nullopt : read_strided(*loop)) {
      llvm::formLCSSA(*loop, dominators, &loops, nullptr);
      strided.push_back(*read);
    } else if (loop->isInnermost() && !has_few_steps(*loop)) {
      shared.push_back(loop);
    }
  }
  for (const Strided& loop : strided) loops_.push_back(make_rounds(loop));
  for (const llvm::Loop* loop : shared) {
    llvm::IRBuilder<> builder(loop->getLoopLatch()->getTerminator());
    loops_.push_back({nullptr, loop->getHeader(), nullptr, nullptr, call_wait(builder, WaitKind::kWarp, ~0u)});
  }
}

std::vector<Rounds::Loop> Rounds::gaining(ThreadProgram& program, const Uniformity& uniformity) const {
  const Regions regions(program, uniformity);
  const BlockSteps steps(uniformity);
  const llvm::DominatorTree dominators(program.function);
  const llvm::LoopInfo loops(dominators);
  const auto is_common = [&](const llvm::BasicBlock* block) { return !regions.of(block)->disperses && !regions.of(block)->is_partial; };
  const auto goes_by_threads = [&](const llvm::BasicBlock* block) {
    return llvm::any_of(*block, [&](const llvm::Instruction& instruction) { return !is_wait(&instruction) && uniformity.differs(&instruction); });
  };
  std::vector<Loop> found;
  std::set<const llvm::BasicBlock*> around;  // headers of loops around some that gain
  for (const Loop& loop : loops_) {
    const llvm::Loop* const rounds = loop.wait ? loops.getLoopFor(loop.wait->getParent()) : nullptr;
    const auto is_left_apart = [&](const llvm::BasicBlock* block) { return uniformity.parts(block) && rounds->isLoopExiting(block); };
    const bool gains = rounds && llvm::none_of(rounds->blocks(), is_left_apart) && is_common(loop.test) && is_common(loop.wait->getParent()) && llvm::any_of(rounds->blocks(), goes_by_threads) &&
                       steps.are_neighbours(rounds->getBlocks());
    for (const llvm::Loop* outer = rounds; gains && outer; outer = outer->getParentLoop()) around.insert(outer->getHeader());
    if (gains || (!loop.wait && around.count(loop.test))) found.push_back(loop);
  }
  if (found.size() > kMostLoops) found.clear();
  return found;
}

bool Rounds::choose(ThreadProgram& program, bool may_go_by_rows) {
  std::set<const llvm::Value*> there;  // the rest was found to be unreachable
  for (const llvm::BasicBlock& block : program.function) there.insert(&block);
  for (const Wait& wait : program.waits) there.insert(wait.call);
  llvm::erase_if(loops_, [&](const Loop& loop) { return !there.count(loop.test) || (loop.wait && !there.count(loop.wait)); });
  llvm::stable_sort(loops_, [](const Loop& a, const Loop& b) { return a.wait && !b.wait; });  // inner ones first
  std::vector<Loop> kept = gaining(program, Uniformity(program, false));
  bool goes_by_rows = false;
  if (may_go_by_rows && kept.size() < loops_.size()) {
    std::vector<Loop> of_rows = gaining(program, Uniformity(program, true));
    goes_by_rows = of_rows.size() > kept.size();
    if (goes_by_rows) kept = std::move(of_rows);
  }
  for (const Loop& loop : loops_) {
    const bool stays = llvm::any_of(kept, [&](const Loop& other) { return other.test == loop.test; });
    if (!stays && loop.wait) llvm::erase_if(program.waits, [&](const Wait& wait) { return wait.call == loop.wait; });
    if (!loop.form) {
      if (!stays) loop.wait->eraseFromParent();
      continue;
    }
    const bool always = llvm::isa<llvm::Constant>(llvm::cast<llvm::FreezeInst>(loop.form->getCondition())->getOperand(0));
    if (stays && !always) {
      leave_plain(*loop.form);
      continue;
    }
    loop.form->getSuccessor(stays ? 1 : 0)->removePredecessor(loop.form->getParent());
    llvm::BranchInst::Create(loop.form->getSuccessor(stays ? 0 : 1), loop.form);
    loop.form->eraseFromParent();
  }
  llvm::removeUnreachableBlocks(program.function);
  loops_ = std::move(kept);
  program.survey();
  return goes_by_rows;
}

}  // namespace damo::clang_plugin
