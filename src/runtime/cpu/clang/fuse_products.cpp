#include "lowering_steps.hpp"

#include <llvm/ADT/DenseMap.h>

namespace damo::clang_plugin {
namespace {

/// Products by the stretch of code that they are in: between two of them threads may wait, and a product that is kept for that long
/// is one value, its factors are two.
using Stretches = llvm::DenseMap<const llvm::Value*, unsigned>;

bool is_product(const llvm::Instruction& instruction) { return instruction.getOpcode() == llvm::Instruction::FMul && instruction.hasAllowContract(); }

/// A product of the stretch that is needed for nothing but one sum; null for any other value.
llvm::Instruction* product(llvm::Value* value, const Stretches& products, unsigned stretch) {
  const auto found = products.find(value);
  return found != products.end() && found->second == stretch && value->hasOneUse() ? llvm::cast<llvm::Instruction>(value) : nullptr;
}

bool is_sum(const llvm::Instruction& instruction) {
  const unsigned code = instruction.getOpcode();
  if ((code != llvm::Instruction::FAdd && code != llvm::Instruction::FSub) || !instruction.hasAllowContract()) return false;
  const llvm::Type* const type = instruction.getType()->getScalarType();
  return type->isFloatTy() || type->isDoubleTy();  // each operation on halves rounds
}

/// A sum with one product is left to the code generator, which has no choice there; the loop vectoriser's cost model knows it better so.
void fuse(llvm::Instruction& sum, Stretches& products, unsigned stretch) {
  llvm::Instruction* const fused = product(sum.getOperand(0), products, stretch);
  if (!fused || !product(sum.getOperand(1), products, stretch)) return;
  llvm::IRBuilder<> build(&sum);
  llvm::FastMathFlags flags = sum.getFastMathFlags();
  flags &= fused->getFastMathFlags();
  build.setFastMathFlags(flags);
  llvm::Value* rest = sum.getOperand(1);
  if (sum.getOpcode() == llvm::Instruction::FSub) rest = build.CreateFNeg(rest);
  llvm::Value* const value = build.CreateIntrinsic(llvm::Intrinsic::fmuladd, {sum.getType()}, {fused->getOperand(0), fused->getOperand(1), rest});
  sum.replaceAllUsesWith(value);
  sum.eraseFromParent();
  products.erase(fused);
  fused->eraseFromParent();
}

}  // namespace

void choose_fused_products(llvm::Module& module) {
  for (llvm::Function& function : module) {
    Stretches products;
    unsigned stretch = 0;
    for (llvm::BasicBlock& block : function) {
      ++stretch;
      for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) {
        const auto* const call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        if (call && !llvm::isa<llvm::IntrinsicInst>(call) && !call->doesNotAccessMemory()) ++stretch;
        else if (is_product(instruction)) products[&instruction] = stretch;
        else if (is_sum(instruction)) fuse(instruction, products, stretch);
      }
    }
  }
}

}  // namespace damo::clang_plugin
