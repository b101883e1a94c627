#include "miscompilations.hpp"

#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <memory>

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

void guard_selection(llvm::TargetPassConfig& config, Unsound& found) {
  config.insertPass(&llvm::FinalizeISelID, new FindMaskedTernaryLogic(found));
}

}  // namespace damo::clang_plugin
