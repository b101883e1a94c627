#include "lowering_steps.hpp"

namespace damo::clang_plugin {
namespace {

/// By an amount that its own text does not show to be less than the width, of a type that CUDA C computes in.
bool may_be_too_far(llvm::Instruction& instruction, const llvm::DataLayout& layout) {
  const unsigned width = instruction.getType()->getScalarSizeInBits();
  if (!instruction.isShift() || (width != 32 && width != 64)) return false;
  return llvm::computeKnownBits(instruction.getOperand(1), layout).getMaxValue().uge(width);
}

void clamp(llvm::BinaryOperator& shift) {
  llvm::IRBuilder<> build(&shift);
  llvm::Value* const amount = shift.getOperand(1);
  llvm::Type* const type = shift.getType();
  const unsigned width = type->getScalarSizeInBits();
  if (shift.getOpcode() == llvm::Instruction::AShr) {
    shift.setOperand(1, build.CreateBinaryIntrinsic(llvm::Intrinsic::umin, amount, llvm::ConstantInt::get(type, width - 1)));
    return;
  }
  llvm::Value* const is_near = build.CreateICmpULT(amount, llvm::ConstantInt::get(type, width));
  build.SetInsertPoint(shift.getNextNode());
  auto* const value = llvm::cast<llvm::SelectInst>(build.CreateSelect(is_near, &shift, llvm::Constant::getNullValue(type)));
  shift.replaceUsesWithIf(value, [&](const llvm::Use& use) { return use.getUser() != value; });
}

}  // namespace

void clamp_shifts(llvm::Module& module) {
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      if (may_be_too_far(instruction, module.getDataLayout())) clamp(llvm::cast<llvm::BinaryOperator>(instruction));
    }
  }
}

}  // namespace damo::clang_plugin
