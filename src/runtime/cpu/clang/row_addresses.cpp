#include "row_addresses.hpp"

#include <llvm/IR/GetElementPtrTypeIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>

#include <cstdlib>

#include "markers.hpp"

namespace damo::clang_plugin {
namespace {

constexpr int kDeepest = 24;
constexpr long kLargestStep = 1 << 16;
constexpr long kFarthest = 4;  ///< elements: vectors of such places are read whole and picked from

/// By how much more a sum, difference, product or shift is in the next thread, where its operands are more by a and b;
/// nothing where that depends, or for another operation.
std::optional<long> step_of_result(const llvm::Instruction& operation, long a, long b) {
  const auto* by = llvm::dyn_cast<llvm::ConstantInt>(operation.getOperand(1));
  const auto* times = llvm::dyn_cast<llvm::ConstantInt>(operation.getOperand(0));
  switch (operation.getOpcode()) {
    case llvm::Instruction::Add: return a + b;
    case llvm::Instruction::Sub: return a - b;
    case llvm::Instruction::Mul:
      if (by && by->getValue().isSignedIntN(16)) return a * by->getSExtValue();
      if (times && times->getValue().isSignedIntN(16)) return b * times->getSExtValue();
      return std::nullopt;
    case llvm::Instruction::Shl:
      return by && by->getValue().ult(16) ? std::optional(a << by->getZExtValue()) : std::nullopt;
    default: return std::nullopt;
  }
}

bool is_index(const llvm::Value* value) { return marker_slot(value) == kThread * 3 || global_index_axis(value) == 0; }

}  // namespace

std::optional<long> RowAddresses::step_of_number(const llvm::Value* value) const {
  if (is_index(value)) return 1;
  if (invariants_.is_invariant(value)) return 0;
  const auto* const instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (!instruction) return std::nullopt;
  if (const auto* const cast = llvm::dyn_cast<llvm::CastInst>(instruction)) {
    const bool keeps = llvm::isa<llvm::TruncInst>(cast) || ((llvm::isa<llvm::ZExtInst>(cast) || llvm::isa<llvm::SExtInst>(cast)) && is_index(cast->getOperand(0)));
    return keeps ? step_of_number(cast->getOperand(0)) : std::nullopt;
  }
  if (!llvm::isa<llvm::BinaryOperator>(instruction) || !instruction->getType()->isIntegerTy()) return std::nullopt;
  const auto a = step_of_number(instruction->getOperand(0)), b = step_of_number(instruction->getOperand(1));
  if (!a || !b || std::labs(*a) > kLargestStep || std::labs(*b) > kLargestStep) return std::nullopt;
  return step_of_result(*instruction, *a, *b);
}

std::optional<long> RowAddresses::step_of(const llvm::Value* value, int depth) const {
  if (follows_.count(value)) return 1;
  if (const int slot = marker_slot(value); slot >= 0) return slot == kThread * 3;
  if (invariants_.is_invariant(value)) return 0;
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (!instruction || depth > kDeepest) return std::nullopt;
  if (llvm::isa<llvm::GEPOperator>(instruction)) return step_of_address(*instruction, depth + 1);
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction)) {
    return step_of(load->getPointerOperand(), depth + 1) == 0 ? std::optional(0L) : std::nullopt;  // all read the same
  }
  if (llvm::isa<llvm::CastInst>(instruction)) return step_of(instruction->getOperand(0), depth + 1);
  return step_of_arithmetic(*instruction, depth + 1);
}

std::optional<long> RowAddresses::step_of_arithmetic(const llvm::Instruction& instruction, int depth) const {
  if (!llvm::isa<llvm::BinaryOperator>(instruction) || !instruction.getType()->isIntegerTy()) return std::nullopt;
  const auto a = step_of(instruction.getOperand(0), depth), b = step_of(instruction.getOperand(1), depth);
  if (!a || !b) return std::nullopt;
  if (const auto step = step_of_result(instruction, *a, *b)) return step;
  return *a == 0 && *b == 0 ? std::optional(0L) : std::nullopt;
}

std::optional<long> RowAddresses::step_of_address(const llvm::Value& address, int depth) const {
  const auto& element = llvm::cast<llvm::GEPOperator>(address);
  const llvm::DataLayout& data = llvm::cast<llvm::Instruction>(address).getModule()->getDataLayout();
  auto step = step_of(element.getPointerOperand(), depth);
  for (auto index = llvm::gep_type_begin(element); step && index != llvm::gep_type_end(element); ++index) {
    if (index.isStruct()) continue;
    const auto of_index = step_of(index.getOperand(), depth);
    if (!of_index) return std::nullopt;
    *step += *of_index * static_cast<long>(index.getSequentialElementStride(data).getFixedValue());
  }
  return step;
}

bool RowAddresses::are_close(const llvm::Loop& loop) const {
  for (const llvm::BasicBlock* block : loop.blocks()) {
    for (const llvm::Instruction& instruction : *block) {
      if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
        if (marker_slot(call) < 0 && (!llvm::isa<llvm::IntrinsicInst>(call) || call->mayReadOrWriteMemory()) && !call->isLifetimeStartOrEnd()) return false;
        continue;
      }
      if (!instruction.mayReadOrWriteMemory()) continue;
      const llvm::Value* address = llvm::getLoadStorePointerOperand(&instruction);
      if (!address || instruction.isAtomic() || instruction.isVolatile()) return false;
      const auto step = step_of(address);
      const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
      const llvm::Type* type = store ? store->getValueOperand()->getType() : instruction.getType();
      const long bytes = static_cast<long>(block->getDataLayout().getTypeStoreSize(const_cast<llvm::Type*>(type)).getFixedValue());
      if (!step || std::labs(*step) > kFarthest * bytes || (store && *step == 0)) return false;
    }
  }
  return true;
}

}  // namespace damo::clang_plugin
