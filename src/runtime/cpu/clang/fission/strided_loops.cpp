#include "strided_loops.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/LoopUtils.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include "../markers.hpp"
#include "../row_loops.hpp"
#include "../row_values.hpp"
#include "../strided_index.hpp"

namespace damo::clang_plugin {
namespace {

constexpr std::uint64_t kMostThreads = 1024;  ///< of a block
constexpr long kLeastDistance = 16;           ///< if it is a constant: threads with less between their steps don't go side by side

/// A loop's index, of which begin is place + base, each of 32 bits.
struct Strided {
  llvm::Loop* loop;
  llvm::BranchInst* test;
  StridedIndex index = {};
  llvm::Value *place = nullptr, *base = nullptr;  ///< base: null if it is 0
};

bool is_place(const llvm::Value* value) {
  const int slot = marker_slot(value);
  return slot == kThread * 3 || slot == kLane || slot == kNumber;
}

bool read_begin(Strided& found) {
  auto* const begin = const_cast<llvm::Value*>(without_extension(found.index.begin));
  const auto* sum = llvm::dyn_cast<llvm::BinaryOperator>(begin);
  if (is_place(begin)) found.place = begin;
  else if (sum && sum->getOpcode() == llvm::Instruction::Add && is_place(sum->getOperand(0))) found.place = sum->getOperand(0), found.base = sum->getOperand(1);
  else if (sum && sum->getOpcode() == llvm::Instruction::Add && is_place(sum->getOperand(1))) found.place = sum->getOperand(1), found.base = sum->getOperand(0);
  return found.place != nullptr;
}

bool has_shape(const llvm::Loop& loop) {
  const llvm::BasicBlock *const header = loop.getHeader(), *const latch = loop.getLoopLatch(), *const exit = loop.getExitBlock();
  if (!loop.getSubLoops().empty() || !loop.getLoopPreheader() || !latch || latch == header || !exit || exit->getSinglePredecessor() != header) return false;
  if (!latch->getSingleSuccessor() || loop.getExitingBlock() != header) return false;
  if (llvm::any_of(*header, [](const llvm::Instruction& instruction) { return instruction.mayHaveSideEffects(); })) return false;
  return llvm::none_of(loop.blocks(), [](const llvm::BasicBlock* block) {
    return llvm::any_of(*block, [](const llvm::Instruction& instruction) { return orders_threads(instruction) || is_wait(&instruction); });
  });
}

/// True if nothing that the header computes but values that go from step to step is used behind the loop.
bool leaves_nothing(const Strided& found) {
  return llvm::all_of(*found.loop->getHeader(), [&](const llvm::Instruction& instruction) {
    const bool is_carried = llvm::isa<llvm::PHINode>(instruction) && &instruction != found.index.phi;
    return is_carried || llvm::all_of(instruction.users(), [&](const llvm::User* user) { return found.loop->contains(llvm::cast<llvm::Instruction>(user)); });
  });
}

std::optional<Strided> read_loop(llvm::Loop& loop) {
  Strided found{&loop, llvm::dyn_cast<llvm::BranchInst>(loop.getHeader()->getTerminator())};
  if (!has_shape(loop) || !found.test || !found.test->isConditional()) return std::nullopt;
  for (llvm::PHINode& phi : loop.getHeader()->phis()) {
    const auto read = read_strided_index(loop, *found.test, phi);
    if (!read) continue;
    found.index = *read;
    const auto* distance = llvm::dyn_cast<llvm::ConstantInt>(read->distance);
    const bool is_near = distance && distance->getValue().slt(kLeastDistance);
    const bool is_narrow = phi.getType()->isIntegerTy(32) || phi.getType()->isIntegerTy(64);
    bool changed = false;
    const bool is_fixed = loop.makeLoopInvariant(read->bound, changed) && loop.makeLoopInvariant(read->distance, changed);
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
  const StridedIndex& index = found.index;
  llvm::Type* const wide = builder.getInt64Ty();
  const bool is_wide = index.phi->getType()->isIntegerTy(64), is_sum_signed = llvm::isa<llvm::SExtInst>(index.begin) || (!is_wide && index.is_signed);
  const auto extend = [&](llvm::Value* value, bool is_signed) { return is_signed ? builder.CreateSExt(value, wide) : builder.CreateZExt(value, wide); };
  Counts counts{found.base ? extend(found.base, is_sum_signed) : builder.getInt64(0), extend(index.distance, index.is_signed), builder.getTrue()};
  const auto ask = [&](llvm::Value* answer) { counts.holds = builder.CreateAnd(counts.holds, answer); };
  llvm::Value* const farthest = builder.getInt64(is_wide ? 1UL << 60 : 0x7fffffff);
  const llvm::Value* const distance = without_extension(index.distance);
  const bool is_positive = marker_slot(distance) / 3 == kBlockSize || block_product_axis(distance, kGridSize) >= 0;
  if (!is_positive) ask(builder.CreateICmpULT(builder.CreateSub(counts.distance, builder.getInt64(1)), farthest));
  if (found.base) ask(builder.CreateICmpULE(builder.CreateAdd(counts.base, builder.getInt64(kMostThreads)), farthest));
  if (index.cant_wrap && index.is_signed) return counts;
  llvm::Value* const bound = extend(index.bound, index.is_signed);
  ask(builder.CreateICmpSLE(bound, builder.CreateSub(farthest, counts.distance, "", false, true)));
  if (!index.is_signed) ask(builder.CreateICmpSGE(bound, builder.getInt64(0)));
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

StridedLoops::Loop make_rounds(const Strided& found) {
  const llvm::Loop& loop = *found.loop;
  const StridedIndex& index = found.index;
  llvm::BasicBlock *before = loop.getLoopPreheader(), *header = loop.getHeader(), *latch = loop.getLoopLatch(), *exit = loop.getExitBlock();
  llvm::LLVMContext& context = header->getContext();
  llvm::Function* const function = header->getParent();
  llvm::IRBuilder<> builder(before->getTerminator());
  const Counts counts = count(found, builder);
  // Frozen, as what is known to hold would be taken for chosen.
  llvm::BranchInst* const choice = builder.CreateCondBr(builder.Insert(new llvm::FreezeInst(counts.holds)), header, header);
  before->getTerminator()->eraseFromParent();
  std::vector<llvm::BasicBlock*> body(loop.block_begin(), loop.block_end());
  copy_loop(loop, before, exit, *choice);
  // The header stays where rounds are counted; what else it does becomes the beginning of the body.
  auto* const begin = llvm::BasicBlock::Create(context, "round", function, header->getNextNode());
  auto* const first = llvm::BasicBlock::Create(context, "step", function, begin->getNextNode());
  auto* const end = llvm::BasicBlock::Create(context, "round.end", function, latch->getNextNode());
  llvm::BasicBlock* const enter = found.test->getSuccessor(loop.contains(found.test->getSuccessor(0)) ? 0 : 1);
  first->splice(first->end(), header, header->getFirstNonPHIIt(), header->end());
  builder.SetInsertPoint(header, header->begin());
  llvm::PHINode* const gone = builder.CreatePHI(builder.getInt64Ty(), 2);
  builder.SetInsertPoint(header);
  llvm::Value* const from = builder.CreateAdd(counts.base, gone, "", false, true);
  llvm::Value* const left = builder.CreateTrunc(count_below(builder, index.bound, index.is_signed, index.includes_bound, from), builder.getInt32Ty());
  gone->addIncoming(builder.getInt64(0), before);
  gone->addIncoming(builder.CreateAdd(gone, counts.distance, "", false, true), end);
  llvm::Value* const origin = builder.CreateTrunc(from, index.phi->getType());
  builder.CreateCondBr(builder.CreateICmpSGT(left, builder.getInt32(0)), begin, exit);
  builder.SetInsertPoint(begin);
  auto* const takes_part = llvm::cast<llvm::ICmpInst>(builder.CreateICmpSLT(found.place, left));
  builder.CreateCondBr(takes_part, first, end);
  // Behind the wait a thread goes on with what it had, or has now.
  builder.SetInsertPoint(end);
  for (llvm::PHINode& phi : header->phis()) {
    if (&phi == gone || &phi == index.phi) continue;
    llvm::PHINode* const merged = builder.CreatePHI(phi.getType(), 2);
    merged->addIncoming(&phi, begin);
    merged->addIncoming(phi.getIncomingValueForBlock(latch), latch);
    phi.setIncomingValueForBlock(latch, merged);
    phi.replaceIncomingBlockWith(latch, end);
  }
  llvm::Type* const number = builder.getInt32Ty();
  const auto wait = function->getParent()->getOrInsertFunction(kWait, builder.getInt64Ty(), number, number, builder.getInt64Ty(), number);
  llvm::CallInst* const call = builder.CreateCall(wait, {builder.getInt32(static_cast<unsigned>(WaitKind::kWarp)), builder.getInt32(~0u), builder.getInt64(0), builder.getInt32(0)});
  builder.CreateBr(header);
  latch->getTerminator()->replaceSuccessorWith(header, end);
  latch->getTerminator()->setMetadata(llvm::LLVMContext::MD_loop, nullptr);
  enter->replacePhiUsesWith(header, first);
  builder.SetInsertPoint(first, first->begin());
  llvm::Value* const place = builder.CreateZExt(found.place, index.phi->getType());
  index.phi->replaceAllUsesWith(builder.CreateAdd(place, origin, "", /*HasNUW=*/!index.is_signed, /*HasNSW=*/true));
  index.phi->eraseFromParent();
  llvm::Value* const asked = found.test->getCondition();
  builder.SetInsertPoint(found.test);
  builder.CreateBr(enter);
  found.test->eraseFromParent();
  llvm::RecursivelyDeleteTriviallyDeadInstructions(asked);
  body.front() = first;
  return {choice, header, takes_part, call, std::move(body)};
}

/// Of a row of the block's threads.
struct BlockSteps : RowSteps {
  explicit BlockSteps(const Uniformity& uniformity) : uniformity(uniformity) {}
  bool is_invariant(const llvm::Value* value) const override { return uniformity.is_same_in_row(value, true); }
  const Uniformity& uniformity;
};

}  // namespace

StridedLoops::StridedLoops(llvm::Function& function) {
  simplify_loops(function);
  const llvm::DominatorTree dominators(function);
  const llvm::LoopInfo loops(dominators);
  std::vector<Strided> found;
  for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
    const auto read = read_loop(*loop);
    if (!read) continue;
    llvm::formLCSSA(*loop, dominators, &loops, nullptr);
    found.push_back(*read);
  }
  for (const Strided& loop : found) loops_.push_back(make_rounds(loop));
}

void StridedLoops::choose(ThreadProgram& program) {
  if (loops_.empty()) return;
  const Uniformity uniformity(program);
  const Regions regions(program, uniformity);
  const BlockSteps steps(uniformity);
  const auto is_common = [&](const llvm::BasicBlock* block) { return !regions.of(block)->disperses && !regions.of(block)->is_partial; };
  std::vector<Loop> kept;
  for (const Loop& loop : loops_) {
    const bool stays = is_common(loop.test) && is_common(loop.wait->getParent()) && steps.are_neighbours(loop.body);
    const bool always = llvm::isa<llvm::Constant>(llvm::cast<llvm::FreezeInst>(loop.form->getCondition())->getOperand(0));
    if (stays) kept.push_back(loop);
    else llvm::erase_if(program.waits, [&](const Wait& wait) { return wait.call == loop.wait; });
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
}

}  // namespace damo::clang_plugin
