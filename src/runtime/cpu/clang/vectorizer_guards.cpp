#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/LoopAccessAnalysis.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

#include <optional>

#include "miscompilations.hpp"

namespace damo::clang_plugin {
namespace {

/// Issue 156849: "a sum that starts at 0 and grows can't wrap below 0" is what the check of an unsigned {0, +, step} comes
/// down to, and the product of step and count, which may wrap, is not looked at. For a step of 1 that is right.
bool has_unsound_check(const llvm::SCEVPredicate& predicate, llvm::ScalarEvolution& evolution) {
  if (const auto* all = llvm::dyn_cast<llvm::SCEVUnionPredicate>(&predicate)) {
    return llvm::any_of(all->getPredicates(), [&](const llvm::SCEVPredicate* one) { return has_unsound_check(*one, evolution); });
  }
  const auto* wrap = llvm::dyn_cast<llvm::SCEVWrapPredicate>(&predicate);
  if (!wrap || !(wrap->getFlags() & llvm::SCEVWrapPredicate::IncrementNUSW)) return false;
  const llvm::SCEVAddRecExpr* sum = wrap->getExpr();
  const llvm::SCEV* step = sum->getStepRecurrence(evolution);
  return sum->getStart()->isZero() && !step->isOne() && evolution.isKnownPositive(step);
}

template <class Predicates>
bool has_unsound_checks(const Predicates& predicates, llvm::ScalarEvolution& evolution) {
  return llvm::any_of(predicates, [&](const llvm::SCEVPredicate* one) { return has_unsound_check(*one, evolution); });
}

struct HideAddresses : llvm::PassInfoMixin<HideAddresses> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
    auto& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
    const auto& dominators = analyses.getResult<llvm::DominatorTreeAnalysis>(function);
    Uses unsound;
    for (llvm::Loop* loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder()) {
      if (!loop->isInnermost()) continue;
      find_wrapping(*loop, evolution, unsound);
      if (loop->getLoopLatch()) find_conditional(*loop, evolution, dominators, unsound);
    }
    // A frozen value is one that scalar evolution says nothing about: loads from such addresses are gathered, other loops stay as they are.
    for (const auto& [use, before] : unsound) use->set(new llvm::FreezeInst(use->get(), "", before->getIterator()));
    return unsound.empty() ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
  }

 private:
  using Uses = llvm::MapVector<llvm::Use*, llvm::Instruction*>;  ///< and before what they are frozen

  static void add_address(llvm::Instruction& access, Uses& unsound) {
    unsound.insert({&access.getOperandUse(llvm::isa<llvm::StoreInst>(access) ? 1 : 0), &access});
  }

  static void find_wrapping(llvm::Loop& loop, llvm::ScalarEvolution& evolution, Uses& unsound) {
    llvm::SmallPtrSet<const llvm::SCEVPredicate*, 4> needed;
    for (llvm::BasicBlock* block : loop.blocks()) {
      for (llvm::Instruction& instruction : *block) {
        llvm::Value* pointer = llvm::getLoadStorePointerOperand(&instruction);
        if (!pointer) continue;
        needed.clear();
        evolution.convertSCEVToAddRecWithPredicates(evolution.getSCEV(pointer), &loop, needed);
        if (has_unsound_checks(needed, evolution)) add_address(instruction, unsound);
      }
    }
    llvm::BasicBlock* latch = loop.getLoopLatch();
    if (!latch) return;
    for (llvm::PHINode& phi : loop.getHeader()->phis()) {
      if (!evolution.isSCEVable(phi.getType())) continue;
      const auto* unknown = llvm::dyn_cast<llvm::SCEVUnknown>(evolution.getSCEV(&phi));
      const auto sum = unknown && phi.getType()->isIntegerTy() ? evolution.createAddRecFromPHIWithCasts(unknown) : std::nullopt;
      if (sum && has_unsound_checks(sum->second, evolution)) unsound.insert({&phi.getOperandUse(phi.getBasicBlockIndex(latch)), latch->getTerminator()});
    }
    llvm::SmallVector<const llvm::SCEVPredicate*, 4> for_count;
    evolution.getPredicatedBackedgeTakenCount(&loop, for_count);
    llvm::SmallVector<llvm::BasicBlock*, 4> exiting;
    loop.getExitingBlocks(exiting);
    if (!has_unsound_checks(for_count, evolution)) return;
    for (llvm::BasicBlock* block : exiting) {
      auto* branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
      if (branch && branch->isConditional()) unsound.insert({&branch->getOperandUse(0), branch});
    }
  }

  /// Issue 142957: what can't be done ahead of a branch, a division above all, is done by the lanes that take the branch. An address
  /// that depends on it and that scalar evolution knows all the same (3 % n is the same for all, (k * n) / n grows by one) the
  /// vectoriser computes from the first lane's value alone, which is poison unless that lane takes the branch. Frozen, each lane has its own.
  static void find_conditional(llvm::Loop& loop, llvm::ScalarEvolution& evolution, const llvm::DominatorTree& dominators, Uses& unsound) {
    for (llvm::Instruction* instruction : conditional_values(loop, dominators)) {
      for (llvm::User* user : instruction->users()) {
        auto* access = llvm::dyn_cast<llvm::Instruction>(user);
        if (access && loop.contains(access) && llvm::getLoadStorePointerOperand(access) == instruction && is_known(evolution.getSCEV(instruction), loop)) add_address(*access, unsound);
      }
    }
  }

  /// Values of the loop that depend on what only a branch of it computes.
  static llvm::SmallSetVector<llvm::Instruction*, 16> conditional_values(llvm::Loop& loop, const llvm::DominatorTree& dominators) {
    llvm::SmallSetVector<llvm::Instruction*, 16> values;
    for (llvm::BasicBlock* block : loop.blocks()) {
      if (dominators.dominates(block, loop.getLoopLatch())) continue;
      for (llvm::Instruction& instruction : *block) {
        if (!instruction.getType()->isVoidTy() && !llvm::isa<llvm::PHINode>(instruction) && !llvm::isSafeToSpeculativelyExecute(&instruction)) values.insert(&instruction);
      }
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      for (llvm::User* user : values[i]->users()) {
        auto* instruction = llvm::dyn_cast<llvm::Instruction>(user);
        if (instruction && loop.contains(instruction)) values.insert(instruction);
      }
    }
    return values;
  }

  /// Whether nothing that is computed in the loop and that scalar evolution can't see through is part of it.
  static bool is_known(const llvm::SCEV* value, const llvm::Loop& loop) {
    return !llvm::SCEVExprContains(value, [&](const llvm::SCEV* part) {
      const auto* unknown = llvm::dyn_cast<llvm::SCEVUnknown>(part);
      const auto* instruction = unknown ? llvm::dyn_cast<llvm::Instruction>(unknown->getValue()) : nullptr;
      return instruction && loop.contains(instruction);
    });
  }
};

/// A loop whose text asks for vectors (`vectorize(enable)`) gets them without any check where the arrays' pairs are more than the vectoriser makes
/// checks for: of whether arrays overlap, and of whether strides are the 1 that it took them for. So nothing asks for them there, and it gives such a
/// loop up. Where arrays are known not to overlap, by `restrict` parameters or accesses declared parallel, there are no pairs.
struct AskForNoUncheckedVectors : llvm::PassInfoMixin<AskForNoUncheckedVectors> {
  static constexpr unsigned kMostChecks = 128;  // LLVM's vectorize-memory-check-threshold

  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
    auto& accesses = analyses.getResult<llvm::LoopAccessAnalysis>(function);
    bool changed = false;
    for (llvm::Loop* loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder()) {
      if (!loop->isInnermost() || !llvm::getBooleanLoopAttribute(loop, "llvm.loop.vectorize.enable")) continue;
      if (accesses.getInfo(*loop).getNumRuntimePointerChecks() <= kMostChecks) continue;
      llvm::addStringMetadataToLoop(loop, "llvm.loop.vectorize.enable", 0);
      changed = true;
    }
    return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
  }
};

}  // namespace

void guard_vectorizer(llvm::PassBuilder& builder) {
  builder.registerVectorizerStartEPCallback([](llvm::FunctionPassManager& passes, llvm::OptimizationLevel) {
    passes.addPass(HideAddresses());
    passes.addPass(AskForNoUncheckedVectors());
  });
}

}  // namespace damo::clang_plugin
