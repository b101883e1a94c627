#include "isolated_steps.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include "markers.hpp"
#include "thread_function.hpp"

namespace damo::clang_plugin {
namespace {

constexpr const char* kArrayName = "damo.kept";
constexpr size_t kMostValues = 12;
constexpr int kDeepest = 12;

bool can_be_kept(const llvm::Type* type) {
  if (const auto* integer = llvm::dyn_cast<llvm::IntegerType>(type)) return integer->getBitWidth() % 8 == 0 && integer->getBitWidth() <= 64;
  return type->isFloatingPointTy() || type->isPointerTy();
}

bool is_marker(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  return call && call->getCalledFunction() && call->getCalledFunction()->getName().starts_with("__damo_");
}

/// Where a thread notes its own index.
bool is_note(const llvm::Instruction& instruction) {
  const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
  return store && store->isSimple() && llvm::isa<llvm::AllocaInst>(store->getPointerOperand()->stripInBoundsConstantOffsets()) &&
         !is_kept_value(store->getPointerOperand()->stripInBoundsConstantOffsets());
}

}  // namespace

bool are_steps_free(const llvm::Loop& threads, const llvm::Loop& steps) {
  const llvm::BasicBlock* const header = steps.getHeader();
  if (steps.getExitingBlock() != header || llvm::any_of(*header, [](const llvm::Instruction& instruction) { return instruction.mayHaveSideEffects(); })) return false;
  return llvm::none_of(threads.blocks(), [](const llvm::BasicBlock* block) { return llvm::any_of(*block, orders_threads); });
}

bool has_local_memory(const llvm::Function& entry, const llvm::Value& indices) {
  return llvm::any_of(llvm::instructions(entry), [&](const llvm::Instruction& variable) {
    return llvm::isa<llvm::AllocaInst>(variable) && &variable != &indices && !is_kept_value(&variable);
  });
}

bool is_kept_value(const llvm::Value* object) { return llvm::isa<llvm::AllocaInst>(object) && object->getName().starts_with(kArrayName); }

bool keeps_values(const llvm::Function& entry) {
  return llvm::any_of(llvm::instructions(entry), [](const llvm::Instruction& instruction) { return is_kept_value(&instruction); });
}

IsolatedSteps::IsolatedSteps(llvm::Loop& threads, llvm::Loop& steps, std::vector<llvm::PHINode*> own, const llvm::DominatorTree& dominators,
                             const RowValues& values)
    : threads_(threads), steps_(steps), own_(std::move(own)), dominators_(dominators), values_(values) {
  is_possible_ = are_steps_free(threads, steps) && has_shape() && can_repeat_what_is_before() && read_uses();
}

bool IsolatedSteps::has_shape() const {
  llvm::BasicBlock *latch = threads_.getLoopLatch(), *exit = threads_.getExitBlock(), *header = threads_.getHeader();
  if (!latch || !exit || !threads_.getLoopPredecessor() || threads_.getExitingBlock() != header || !latch->getSingleSuccessor()) return false;
  if (llvm::isa<llvm::PHINode>(latch->front()) || llvm::isa<llvm::PHINode>(exit->front())) return false;
  if (std::distance(header->phis().begin(), header->phis().end()) != 1 || !header->phis().begin()->getType()->isIntegerTy(32)) return false;
  if (llvm::any_of(*latch, [](const llvm::Instruction& instruction) { return instruction.mayReadOrWriteMemory(); })) return false;
  llvm::BasicBlock *const steps_latch = steps_.getLoopLatch(), *const after = steps_.getExitBlock();
  if (!after || llvm::isa<llvm::PHINode>(after->front()) || after->getSinglePredecessor() != steps_.getHeader()) return false;
  return steps_latch && steps_latch->getSingleSuccessor() && steps_.getLoopPredecessor() && steps_.getExitingBlock() == steps_.getHeader();
}

bool IsolatedSteps::can_repeat_what_is_before() const {
  for (const llvm::BasicBlock* block : threads_.blocks()) {
    if (steps_.contains(block) || is_after(block)) continue;
    for (const llvm::Instruction& instruction : *block) {
      if (is_marker(instruction) || is_note(instruction) || instruction.isLifetimeStartOrEnd()) continue;
      if (instruction.mayHaveSideEffects()) return false;
    }
    const auto* branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
    if (!branch) return false;
    if (branch->isConditional() && block != threads_.getHeader() && !is_cheap(branch->getCondition())) return false;
  }
  return true;
}

/// Index arithmetic: computed again rather than kept.
bool IsolatedSteps::is_cheap(const llvm::Value* value, int depth) const {
  if (marker_slot(value) >= 0 || values_.is_invariant(value)) return true;
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (!instruction || depth > kDeepest || !threads_.contains(instruction)) return false;
  const bool plain = llvm::isa<llvm::CastInst, llvm::GetElementPtrInst, llvm::ICmpInst>(instruction) ||
                     (llvm::isa<llvm::BinaryOperator>(instruction) && instruction->getType()->isIntegerTy() && !instruction->isIntDivRem());
  return plain && llvm::all_of(instruction->operands(), [&](const llvm::Value* operand) { return is_cheap(operand, depth + 1); });
}

bool IsolatedSteps::read_uses() {
  const std::set<const llvm::Value*> own(own_.begin(), own_.end());
  for (llvm::BasicBlock* block : threads_.blocks()) {
    const bool inside = steps_.contains(block), before = !inside && !is_after(block);
    for (llvm::Instruction& instruction : *block) {
      bool goes_on = false;  // to a later part
      for (const llvm::User* user : instruction.users()) {
        const llvm::BasicBlock* at = llvm::cast<llvm::Instruction>(user)->getParent();
        goes_on |= inside ? !steps_.contains(at) : before && is_after(at);
      }
      if (!goes_on || own.count(&instruction)) continue;
      if (inside) return false;
      if (before && &instruction != &threads_.getHeader()->front() && !is_cheap(&instruction)) kept_.push_back(&instruction);
    }
  }
  const auto fits = [](const llvm::Instruction* value) { return can_be_kept(value->getType()); };
  return llvm::all_of(kept_, fits) && llvm::all_of(own_, fits) && own_.size() + kept_.size() <= kMostValues;
}

llvm::Value* IsolatedSteps::place(llvm::IRBuilder<>& builder, llvm::Value* array) const {
  auto* const type = llvm::cast<llvm::AllocaInst>(array)->getAllocatedType();
  llvm::Value* const x = builder.CreateZExt(&threads_.getHeader()->front(), builder.getInt64Ty());
  return builder.CreateInBoundsGEP(type, array, {builder.getInt64(0), x});
}

/// Replaces what crosses the borders by loads and stores of arrays.
void IsolatedSteps::keep_values() {
  llvm::BasicBlock *header = steps_.getHeader(), *latch = steps_.getLoopLatch();
  std::vector<llvm::Instruction*> values(own_.begin(), own_.end());
  values.insert(values.end(), kept_.begin(), kept_.end());
  std::vector<llvm::Value*> arrays;
  for (llvm::Instruction* value : values) {
    llvm::IRBuilder<> top(&*header->getParent()->getEntryBlock().getFirstInsertionPt());
    auto* const array = top.CreateAlloca(llvm::ArrayType::get(value->getType(), kKeptThreads), nullptr, kArrayName);
    array->setAlignment(llvm::Align(64));
    llvm::IRBuilder<> step(&*header->getFirstInsertionPt()), end(leave_->getTerminator());
    llvm::Value* const in_step = step.CreateLoad(value->getType(), place(step, array));
    llvm::Value* const at_end = end.CreateLoad(value->getType(), place(end, array));
    value->replaceUsesWithIf(in_step, [&](llvm::Use& use) {
      const auto* user = llvm::cast<llvm::Instruction>(use.getUser());
      const auto* phi = llvm::dyn_cast<llvm::PHINode>(user);
      return steps_.contains(user) && !(phi && phi->getIncomingBlock(use) == enter_);
    });
    value->replaceUsesWithIf(at_end, [&](llvm::Use& use) {
      const llvm::BasicBlock* at = llvm::cast<llvm::Instruction>(use.getUser())->getParent();
      return !steps_.contains(at) && is_after(at);
    });
    arrays.push_back(array);
  }
  llvm::IRBuilder<> begin(enter_->getTerminator()), step(latch->getTerminator());
  for (size_t i = 0; i < values.size(); ++i) {
    auto* const phi = i < own_.size() ? own_[i] : nullptr;
    stores_.push_back(begin.CreateStore(phi ? phi->getIncomingValueForBlock(enter_) : values[i], place(begin, arrays[i])));
    if (phi) step.CreateStore(phi->getIncomingValueForBlock(latch), place(step, arrays[i]));
  }
  for (llvm::PHINode* phi : own_) phi->eraseFromParent();
}

/// The loops for what stands before and after, as copies of the whole, of which each then loses the other parts.
void IsolatedSteps::copy_loop(std::vector<llvm::BasicBlock*> blocks) {
  llvm::BasicBlock *header = threads_.getHeader(), *latch = threads_.getLoopLatch(), *exit = exit_;
  llvm::BasicBlock* const outside = threads_.getLoopPredecessor();
  llvm::Function* const function = header->getParent();
  llvm::LLVMContext& context = function->getContext();
  llvm::ValueToValueMapTy first, last;
  const auto copy_to = [&](llvm::ValueToValueMapTy& map) {
    llvm::SmallVector<llvm::BasicBlock*, 16> copies;
    for (llvm::BasicBlock* block : blocks) {
      map[block] = copies.emplace_back(llvm::CloneBasicBlock(block, map, ".part", function));
    }
    llvm::remapInstructionsInBlocks(copies, map);
  };
  copy_to(first);
  copy_to(last);
  const auto of = [](llvm::ValueToValueMapTy& map, llvm::BasicBlock* block) { return llvm::cast<llvm::BasicBlock>(map[block]); };
  auto* const to_steps = llvm::BasicBlock::Create(context, "steps", function, header);
  auto* const to_last = llvm::BasicBlock::Create(context, "after", function, exit);
  llvm::BranchInst::Create(header, to_steps);
  llvm::BranchInst::Create(of(last, header), to_last);
  outside->getTerminator()->replaceSuccessorWith(header, of(first, header));
  of(first, header)->getTerminator()->replaceSuccessorWith(exit, to_steps);
  header->replacePhiUsesWith(outside, to_steps);
  header->getTerminator()->replaceSuccessorWith(exit, to_last);
  of(last, header)->replacePhiUsesWith(outside, to_last);

  of(first, enter_)->getTerminator()->setSuccessor(0, of(first, latch));
  of(last, enter_)->getTerminator()->setSuccessor(0, of(last, leave_));
  for (llvm::StoreInst* store : stores_) {
    llvm::cast<llvm::Instruction>(last[store])->eraseFromParent();
    store->eraseFromParent();
  }
  leave_->getTerminator()->setSuccessor(0, latch);
}

llvm::BasicBlock* IsolatedSteps::cut() {
  llvm::BasicBlock *header = steps_.getHeader(), *before = steps_.getLoopPredecessor(), *after = steps_.getExitBlock();
  llvm::Function* const function = header->getParent();
  exit_ = threads_.getExitBlock();
  enter_ = llvm::SplitEdge(before, header, nullptr, nullptr, nullptr, "enter");
  leave_ = llvm::SplitEdge(header, after, nullptr, nullptr, nullptr, "leave");
  keep_values();
  std::vector<llvm::BasicBlock*> blocks(threads_.block_begin(), threads_.block_end());
  blocks.insert(blocks.end(), {enter_, leave_});
  // Phis behind leave_ have one way less to come from in the middle part; they stand there in unreachable blocks.
  copy_loop(std::move(blocks));
  llvm::EliminateUnreachableBlocks(*function);
  return leave_;
}

}  // namespace damo::clang_plugin
