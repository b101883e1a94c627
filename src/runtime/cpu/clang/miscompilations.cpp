#include "miscompilations.hpp"

#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/Analysis/LoopAccessAnalysis.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

#include <memory>
#include <utility>
#include <vector>

#include "target.hpp"

namespace damo::clang_plugin {
namespace {

/// Issue 157254: select(x < 0, 0, double(x)) becomes double(x <= 0 ? 0 : x), which loses the sign of -0. With the cast
/// outside the select to begin with, which is the same for each x, InstCombine has nothing to choose a predicate for.
void take_casts_out_of_selects(llvm::Function& function) {
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto* select = llvm::dyn_cast<llvm::SelectInst>(&instruction);
    auto* compare = select ? llvm::dyn_cast<llvm::FCmpInst>(select->getCondition()) : nullptr;
    if (!compare) continue;
    for (const bool cast_is_chosen : {true, false}) {
      auto* cast = llvm::dyn_cast<llvm::CastInst>(cast_is_chosen ? select->getTrueValue() : select->getFalseValue());
      auto* limit = llvm::dyn_cast<llvm::Constant>(cast_is_chosen ? select->getFalseValue() : select->getTrueValue());
      auto* bound = llvm::dyn_cast<llvm::Constant>(compare->getOperand(1));
      if (!cast || !limit || !bound || cast->getOperand(0) != compare->getOperand(0)) continue;
      if (!llvm::isa<llvm::FPExtInst, llvm::FPTruncInst>(cast)) continue;
      const auto fits = [&](llvm::Constant* value) {
        return llvm::ConstantFoldCastOperand(cast->getOpcode(), value, cast->getType(), function.getDataLayout()) == limit;
      };
      // The bound may be the other zero than the limit: their comparisons are the same.
      llvm::Constant* narrow = bound;
      if (!fits(narrow) && bound->isZeroValue()) narrow = llvm::ConstantFP::get(bound->getType(), 0.0);
      if (!fits(narrow) && bound->isZeroValue()) narrow = llvm::ConstantFP::getNegativeZero(bound->getType());
      if (!fits(narrow)) continue;
      llvm::IRBuilder<> builder(select);
      llvm::Value* chosen = cast_is_chosen ? builder.CreateSelect(compare, cast->getOperand(0), narrow) : builder.CreateSelect(compare, narrow, cast->getOperand(0));
      select->replaceAllUsesWith(builder.CreateCast(cast->getOpcode(), chosen, cast->getType()));
      select->eraseFromParent();
      break;
    }
  }
}

/// Issue 124387: InstCombine simplifies a funnel shift's operands to the bits that are asked for, and leaves the range that
/// was true of the old operands.
void forget_ranges_of_rotations(llvm::Function& function) {
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    if (call && (call->getIntrinsicID() == llvm::Intrinsic::fshl || call->getIntrinsicID() == llvm::Intrinsic::fshr)) {
      call->removeRetAttr(llvm::Attribute::Range);
      call->setMetadata(llvm::LLVMContext::MD_range, nullptr);
    }
  }
}

/// Issue 129244 and its like (112460, 120076, 129057): the SLP vectoriser makes integers narrower than they are, or unsigned ones
/// signed. Of its floating-point code no such thing is known. Counts the instructions that compute with such vectors.
std::size_t integer_vector_steps(const llvm::Function& function) {
  const auto is_integer_vector = [](const llvm::Type* type) { return type->isVectorTy() && type->isIntOrIntVectorTy(); };
  return static_cast<std::size_t>(llvm::count_if(llvm::instructions(function), [&](const llvm::Instruction& instruction) {
    if (llvm::isa<llvm::BitCastInst>(instruction)) return false;
    if (const auto* select = llvm::dyn_cast<llvm::SelectInst>(&instruction)) return is_integer_vector(select->getType());
    return llvm::isa<llvm::BinaryOperator, llvm::CastInst, llvm::ICmpInst, llvm::IntrinsicInst, llvm::FreezeInst>(instruction) &&
           (is_integer_vector(instruction.getType()) || llvm::any_of(instruction.operands(), [&](const llvm::Use& use) { return is_integer_vector(use->getType()); }));
  }));
}

constexpr const char* kSlp = "SLPVectorizerPass";

llvm::Function* function_of(llvm::StringRef pass, llvm::StringRef wanted, const llvm::Any& unit) {
  const auto* function = pass == wanted ? llvm::any_cast<const llvm::Function*>(&unit) : nullptr;
  return function ? const_cast<llvm::Function*>(*function) : nullptr;
}

/// What a function was before a pass.
class FunctionCopy {
 public:
  void take(llvm::Function& function) {
    llvm::ValueToValueMapTy values;
    copy_ = llvm::CloneFunction(&function, values);
  }
  const llvm::Function& function() const { return *copy_; }
  void put_back(llvm::Function& function) {
    llvm::SmallVector<std::pair<unsigned, llvm::MDNode*>> attached;  // the lines of the copy's instructions are said of its own subprogram
    copy_->getAllMetadata(attached);
    function.dropAllReferences();
    function.splice(function.end(), copy_);
    for (unsigned i = 0; i < function.arg_size(); ++i) copy_->getArg(i)->replaceAllUsesWith(function.getArg(i));
    for (const auto& [kind, node] : attached) function.addMetadata(kind, *node);
  }
  void drop() { copy_->eraseFromParent(); }

 private:
  llvm::Function* copy_ = nullptr;
};

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

/// A frozen value is one that scalar evolution says nothing about: loads from such addresses are gathered, other loops stay
/// as they are.
void freeze(llvm::Use& use, llvm::Instruction* before) { use.set(new llvm::FreezeInst(use.get(), "", before->getIterator())); }

struct HideWrappingAddresses : llvm::PassInfoMixin<HideWrappingAddresses> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
    auto& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
    std::vector<std::pair<llvm::Use*, llvm::Instruction*>> unsound;
    for (llvm::Loop* loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder()) {
      if (loop->isInnermost()) find(*loop, evolution, unsound);
    }
    for (const auto& [use, before] : unsound) freeze(*use, before);
    return unsound.empty() ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
  }

 private:
  static void find(llvm::Loop& loop, llvm::ScalarEvolution& evolution, std::vector<std::pair<llvm::Use*, llvm::Instruction*>>& unsound) {
    llvm::SmallPtrSet<const llvm::SCEVPredicate*, 4> needed;
    for (llvm::BasicBlock* block : loop.blocks()) {
      for (llvm::Instruction& instruction : *block) {
        llvm::Value* pointer = llvm::getLoadStorePointerOperand(&instruction);
        if (!pointer) continue;
        needed.clear();
        evolution.convertSCEVToAddRecWithPredicates(evolution.getSCEV(pointer), &loop, needed);
        if (has_unsound_checks(needed, evolution)) unsound.emplace_back(&instruction.getOperandUse(llvm::isa<llvm::StoreInst>(instruction) ? 1 : 0), &instruction);
      }
    }
    llvm::BasicBlock* latch = loop.getLoopLatch();
    if (!latch) return;
    for (llvm::PHINode& phi : loop.getHeader()->phis()) {
      if (!evolution.isSCEVable(phi.getType())) continue;
      const auto* unknown = llvm::dyn_cast<llvm::SCEVUnknown>(evolution.getSCEV(&phi));
      const auto sum = unknown && phi.getType()->isIntegerTy() ? evolution.createAddRecFromPHIWithCasts(unknown) : std::nullopt;
      if (sum && has_unsound_checks(sum->second, evolution)) unsound.emplace_back(&phi.getOperandUse(phi.getBasicBlockIndex(latch)), latch->getTerminator());
    }
    llvm::SmallVector<const llvm::SCEVPredicate*, 4> for_count;
    evolution.getPredicatedBackedgeTakenCount(&loop, for_count);
    llvm::SmallVector<llvm::BasicBlock*, 4> exiting;
    loop.getExitingBlocks(exiting);
    if (!has_unsound_checks(for_count, evolution)) return;
    for (llvm::BasicBlock* block : exiting) {
      auto* branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
      if (branch && branch->isConditional()) unsound.emplace_back(&branch->getOperandUse(0), branch);
    }
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

/// Issue 142957: what can't be done ahead of a branch, a division above all, is done by the lanes that take the branch. An address
/// that depends on it and that scalar evolution knows all the same (3 % n is the same for all, (k * n) / n grows by one) the
/// vectoriser computes from the first lane's value alone, which is poison unless that lane takes the branch. Frozen, each lane has its own.
struct HideConditionalAddresses : llvm::PassInfoMixin<HideConditionalAddresses> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
    auto& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
    const auto& dominators = analyses.getResult<llvm::DominatorTreeAnalysis>(function);
    std::vector<llvm::Instruction*> unsound;
    for (llvm::Loop* loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder()) {
      if (!loop->isInnermost() || !loop->getLoopLatch()) continue;
      const auto dependent = conditional_values(*loop, dominators);
      for (llvm::Instruction* instruction : dependent) {
        for (llvm::User* user : instruction->users()) {
          auto* access = llvm::dyn_cast<llvm::Instruction>(user);
          if (access && loop->contains(access) && llvm::getLoadStorePointerOperand(access) == instruction && is_known(evolution.getSCEV(instruction), *loop))
            unsound.push_back(access);
        }
      }
    }
    for (llvm::Instruction* access : unsound) freeze(access->getOperandUse(llvm::isa<llvm::StoreInst>(access) ? 1 : 0), access);
    return unsound.empty() ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
  }

 private:
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

/// Issue 157929: of the forms of vpternlog only those that keep their old lanes under a mask and read memory, as a vector or as one
/// element for all, can have the truth table of another rotation of their operands (tried for each order of operands, place of
/// the load, mask and width). Once instruction selection is over the original order is not known any more.
class FindMaskedTernaryLogic : public llvm::MachineFunctionPass {
 public:
  static inline char ID = 0;
  explicit FindMaskedTernaryLogic(Unsound& found) : llvm::MachineFunctionPass(ID), found_(found) {}
  llvm::StringRef getPassName() const override { return "look for masked vpternlog with a memory operand"; }
  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }
  bool runOnMachineFunction(llvm::MachineFunction& function) override {
    const llvm::TargetInstrInfo& names = *function.getSubtarget().getInstrInfo();
    for (const llvm::MachineBasicBlock& block : function) {
      for (const llvm::MachineInstr& instruction : block) {
        if (!instruction.mayLoad()) continue;
        const llvm::StringRef name = names.getName(instruction.getOpcode());
        if (name.starts_with("VPTERNLOG") && (name.ends_with("rmik") || name.ends_with("rmbik"))) found_.insert(function.getName().str());
      }
    }
    return false;
  }

 private:
  Unsound& found_;
};

}  // namespace

void set_target(llvm::Module& module, const Target& target, const Unsound& without_avx512) {
  const std::string all = target.feature_string(), fewer = without_avx512.empty() ? all : target.without_avx512().feature_string();
  for (llvm::Function& function : module) {
    function.removeFnAttr("tune-cpu");
    function.addFnAttr("target-cpu", target.cpu);
    function.addFnAttr("target-features", without_avx512.contains(function.getName().str()) ? fewer : all);
  }
}

void guard_passes(llvm::PassInstrumentationCallbacks& callbacks, llvm::FunctionAnalysisManager& functions) {
  // Issues 140481 and 218569: it computes in 64 bits and does not see that they overflow.
  callbacks.registerShouldRunOptionalPassCallback([](llvm::StringRef pass, llvm::Any) { return pass != "ConstraintEliminationPass"; });
  callbacks.registerBeforeNonSkippedPassCallback([](llvm::StringRef pass, llvm::Any unit) {
    if (llvm::Function* function = function_of(pass, "InstCombinePass", unit)) {
      take_casts_out_of_selects(*function);
      forget_ranges_of_rotations(*function);
    }
  });
  auto before = std::make_shared<FunctionCopy>();
  callbacks.registerBeforeNonSkippedPassCallback([before](llvm::StringRef pass, llvm::Any unit) {
    if (llvm::Function* function = function_of(pass, kSlp, unit)) before->take(*function);
  });
  callbacks.registerAfterPassCallback([before, &functions](llvm::StringRef pass, llvm::Any unit, const llvm::PreservedAnalyses& kept) {
    llvm::Function* function = function_of(pass, kSlp, unit);
    if (!function) return;
    if (!kept.areAllPreserved() && integer_vector_steps(*function) > integer_vector_steps(before->function())) {
      functions.clear(*function, function->getName());
      before->put_back(*function);
    }
    before->drop();
  });
}

void guard_vectorizer(llvm::PassBuilder& builder) {
  builder.registerVectorizerStartEPCallback([](llvm::FunctionPassManager& passes, llvm::OptimizationLevel) {
    passes.addPass(HideWrappingAddresses());
    passes.addPass(HideConditionalAddresses());
    passes.addPass(AskForNoUncheckedVectors());
  });
}

void guard_selection(llvm::TargetPassConfig& config, Unsound& found) {
  config.insertPass(&llvm::FinalizeISelID, new FindMaskedTernaryLogic(found));
}

}  // namespace damo::clang_plugin
