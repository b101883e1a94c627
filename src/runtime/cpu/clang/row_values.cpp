#include "row_values.hpp"

#include <llvm/IR/GetElementPtrTypeIterator.h>

#include "thread_function.hpp"

namespace damo::clang_plugin {
namespace {

constexpr int kDeepestValue = 12;
constexpr long kLargestRowStep = 1 << 16;
constexpr long kFarthest = 4;  ///< elements: vectors of such places are read whole and picked from

/// By how much more an operation's result is in the next thread, where its operands are more by a and b.
std::optional<long> step_of_result(const llvm::BinaryOperator& operation, long a, long b) {
  const auto* by = llvm::dyn_cast<llvm::ConstantInt>(operation.getOperand(1));
  const auto* times = llvm::dyn_cast<llvm::ConstantInt>(operation.getOperand(0));
  if (std::labs(a) > kLargestRowStep || std::labs(b) > kLargestRowStep) return std::nullopt;
  switch (operation.getOpcode()) {
    case llvm::Instruction::Add: return a + b;
    case llvm::Instruction::Sub: return a - b;
    case llvm::Instruction::Mul:
      if (by && by->getValue().isSignedIntN(16)) return a * by->getSExtValue();
      if (times && times->getValue().isSignedIntN(16)) return b * times->getSExtValue();
      break;
    case llvm::Instruction::Shl:
      if (by && by->getValue().ult(16)) return a * (1L << by->getZExtValue());
      break;
    default: break;
  }
  return a == 0 && b == 0 ? std::optional(0L) : std::nullopt;
}

}  // namespace

RowValues::RowValues(const llvm::CallInst& marker, const llvm::Loop& loop, const llvm::DominatorTree& dominators)
    : loop_(loop), before_(loop.getLoopPredecessor()), dominators_(dominators), x_(&loop.getHeader()->front()) {
  for (unsigned axis : {1u, 2u}) {
    llvm::Value* const index = marker.getArgOperand(axis - 1);
    if (is_known_before(index)) noted_[axis] = index;
  }
}

bool RowValues::is_index(const llvm::Value* value) const {
  const auto* const sum = llvm::dyn_cast<llvm::BinaryOperator>(value);
  if (is_thread(value) || is_index_on_x(value)) return true;
  if (!sum || sum->getOpcode() != llvm::Instruction::Add) return false;
  const llvm::Value *a = without_extension(sum->getOperand(0)), *b = without_extension(sum->getOperand(1));
  if (is_thread(a)) std::swap(a, b);
  return is_thread(b) && block_product_axis(a, kBlock) == 0;
}

bool RowValues::is_known_before(const llvm::Value* value) const {
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  return !instruction || dominators_.dominates(instruction->getParent(), before_);
}

bool RowValues::is_same(const llvm::Value* value, int depth) const {
  if (is_known_before(value) || copies_.count(value)) return true;
  if (const int slot = marker_slot(value); slot >= 0) return slot / 3 != kThread || (slot != kThread * 3 && noted_[slot % 3]);
  const auto* instruction = llvm::cast<llvm::Instruction>(value);
  if (depth > kDeepestValue || !loop_.contains(instruction) || llvm::isa<llvm::PHINode>(instruction)) return false;
  if (instruction->mayReadOrWriteMemory() || !llvm::isSafeToSpeculativelyExecute(instruction)) return false;
  return llvm::all_of(instruction->operands(), [&](const llvm::Value* operand) { return is_same(operand, depth + 1); });
}

std::optional<long> RowSteps::step_of(const llvm::Value* value, As as, int depth) const {
  const bool guesses = as == As::kGuess;
  const int slot = marker_slot(value);
  if (is_index(value) || slot == kLane || slot == kNumber) return 1;
  if (is_invariant(value)) return 0;
  const auto* const instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (!instruction || depth > 2 * kDeepestValue) return std::nullopt;
  if (const auto* cast = llvm::dyn_cast<llvm::CastInst>(instruction)) {
    // An index is not negative, and its sum does not wrap; of other values an extension may go on from another number.
    const bool keeps = guesses || llvm::isa<llvm::TruncInst>(cast) || is_index(without_extension(cast));
    return keeps ? step_of(cast->getOperand(0), as, depth + 1) : std::nullopt;
  }
  if (const auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(instruction); operation && operation->getType()->isIntegerTy()) {
    const auto a = step_of(operation->getOperand(0), as, depth + 1), b = step_of(operation->getOperand(1), as, depth + 1);
    return a && b ? step_of_result(*operation, *a, *b) : std::nullopt;
  }
  if (const auto* place = llvm::dyn_cast<llvm::GEPOperator>(instruction); place && guesses) return step_of_place(*place, depth + 1);
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction); load && guesses) {
    return step_of(load->getPointerOperand(), as, depth + 1) == 0 ? std::optional(0L) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<long> RowSteps::step_of_place(const llvm::GEPOperator& place, int depth) const {
  const llvm::DataLayout& data = llvm::cast<llvm::Instruction>(place).getDataLayout();
  auto step = step_of(place.getPointerOperand(), As::kGuess, depth);
  for (auto index = llvm::gep_type_begin(place); step && index != llvm::gep_type_end(place); ++index) {
    if (index.isStruct()) continue;
    const auto of_index = step_of(index.getOperand(), As::kGuess, depth);
    if (!of_index) return std::nullopt;
    *step += *of_index * static_cast<long>(index.getSequentialElementStride(data).getFixedValue());
  }
  return step;
}

bool RowSteps::are_neighbours(llvm::ArrayRef<llvm::BasicBlock*> part) const {
  for (const llvm::BasicBlock* block : part) {
    for (const llvm::Instruction& instruction : *block) {
      if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
        if (marker_slot(call) < 0 && !is_wait(call) && (!llvm::isa<llvm::IntrinsicInst>(call) || call->mayReadOrWriteMemory()) && !call->isLifetimeStartOrEnd()) return false;
        continue;
      }
      if (!instruction.mayReadOrWriteMemory()) continue;
      const llvm::Value* address = llvm::getLoadStorePointerOperand(&instruction);
      if (!address || instruction.isAtomic() || instruction.isVolatile()) return false;
      const auto step = step_of(address, As::kGuess);
      const long bytes = static_cast<long>(block->getDataLayout().getTypeStoreSize(llvm::getLoadStoreType(const_cast<llvm::Instruction*>(&instruction))).getFixedValue());
      if (!step || std::labs(*step) > kFarthest * bytes || (llvm::isa<llvm::StoreInst>(instruction) && *step == 0)) return false;
    }
  }
  return true;
}

llvm::Value* RowValues::in_front(llvm::Value* value, llvm::IRBuilderBase& builder) { return is_same(value, 0) ? copy(value, builder) : nullptr; }

llvm::Value* RowValues::copy(llvm::Value* value, llvm::IRBuilderBase& builder) {
  if (const auto known = copies_.find(value); known != copies_.end()) return known->second;
  if (is_known_before(value)) return value;
  if (const int slot = marker_slot(value); slot >= 0 && slot / 3 == kThread) return noted_[slot % 3];
  llvm::Instruction* const copied = llvm::cast<llvm::Instruction>(value)->clone();
  for (llvm::Use& operand : copied->operands()) {
    if (llvm::isa<llvm::Instruction>(operand)) operand.set(copy(operand, builder));
  }
  copied->dropPoisonGeneratingAnnotations();
  builder.Insert(copied);
  return copies_[value] = copied;
}

}  // namespace damo::clang_plugin
