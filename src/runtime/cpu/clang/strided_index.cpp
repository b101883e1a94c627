#include "strided_index.hpp"

#include "markers.hpp"

namespace damo::clang_plugin {

std::optional<StridedIndex> read_strided_index(const llvm::Loop& steps, const llvm::BranchInst& test, llvm::PHINode& phi) {
  const auto* next = llvm::dyn_cast<llvm::BinaryOperator>(phi.getIncomingValueForBlock(steps.getLoopLatch()));
  if (!next || next->getOpcode() != llvm::Instruction::Add || (next->getOperand(0) != &phi && next->getOperand(1) != &phi)) return std::nullopt;
  const auto* comparison = llvm::dyn_cast<llvm::ICmpInst>(test.getCondition());
  if (!comparison) return std::nullopt;
  const bool index_first = without_extension(comparison->getOperand(0)) == &phi;
  llvm::Value* const compared = comparison->getOperand(index_first ? 0 : 1);
  if (without_extension(compared) != &phi) return std::nullopt;
  auto relation = index_first ? comparison->getPredicate() : comparison->getSwappedPredicate();
  if (!steps.contains(test.getSuccessor(0))) relation = llvm::CmpInst::getInversePredicate(relation);
  if (!llvm::ICmpInst::isLT(relation) && !llvm::ICmpInst::isLE(relation)) return std::nullopt;
  return StridedIndex{.phi = &phi,
                      .begin = phi.getIncomingValueForBlock(steps.getLoopPredecessor()),
                      .distance = next->getOperand(next->getOperand(0) == &phi ? 1 : 0),
                      .bound = comparison->getOperand(index_first ? 1 : 0),
                      .includes_bound = llvm::ICmpInst::isLE(relation),
                      .is_signed = llvm::ICmpInst::isSigned(relation),
                      .in_own_width = compared == &phi,
                      .cant_wrap = next->hasNoSignedWrap()};
}

}  // namespace damo::clang_plugin
