// Functions whose rare arguments are a matter of their own (prelude/math_rare.h): a call says which way holds, and stays a call until loops
// are vectors, since the vectoriser takes no branch but by computing both sides. It gets forms of the call for vectors of any width. Behind it
// each call becomes a branch, which is taken where any element is rare.
// Needs nothing: rare() changes those elements alone that the call was told are rare, so an element's value depends on its own argument.
#include "codegen.hpp"

#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/VFABIDemangler.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

namespace damo::clang_plugin {
namespace {

constexpr llvm::StringLiteral kPrefix = "damo_unless_rare_";
constexpr unsigned kWidths[] = {2, 4, 8, 16, 32, 64};  // elements that a round of a loop may compute

bool is_form(const llvm::Function& function) { return function.isDeclaration() && function.getName().starts_with(kPrefix); }

std::vector<llvm::CallInst*> calls_of(llvm::Module& module) {
  std::vector<llvm::CallInst*> calls;
  for (llvm::Function& function : module) {
    if (!is_form(function)) continue;
    for (llvm::User* user : function.users()) {
      auto* const call = llvm::dyn_cast<llvm::CallInst>(user);
      if (call && call->getCalledFunction() == &function) calls.push_back(call);
    }
  }
  return calls;
}

/// The call's function for so many elements, which has no body either.
llvm::Function* widened(llvm::Module& module, const llvm::Function& scalar, unsigned width) {
  llvm::FunctionType* const type = scalar.getFunctionType();
  std::vector<llvm::Type*> parameters;
  for (llvm::Type* parameter : type->params()) parameters.push_back(parameter->isPointerTy() ? parameter : llvm::FixedVectorType::get(parameter, width));
  auto* const wide = llvm::FunctionType::get(llvm::FixedVectorType::get(type->getReturnType(), width), parameters, false);
  auto* const function = llvm::cast<llvm::Function>(module.getOrInsertFunction((scalar.getName() + "_" + llvm::Twine(width)).str(), wide).getCallee());
  function->setDoesNotAccessMemory();
  function->setDoesNotThrow();
  function->setWillReturn();
  return function;
}

struct OfferWidths : llvm::PassInfoMixin<OfferWidths> {
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    const std::vector<llvm::CallInst*> calls = calls_of(module);
    std::set<llvm::Function*> seen;
    llvm::SmallVector<llvm::GlobalValue*, 12> forms;
    for (llvm::CallInst* call : calls) {
      llvm::Function* const scalar = call->getCalledFunction();
      llvm::SmallVector<std::string, 8> names;
      for (const unsigned width : kWidths) {
        llvm::Function* const wide = widened(module, *scalar, width);
        if (seen.insert(wide).second) forms.push_back(wide);
        // Vectors of what is told, of arguments and of values; one rare() for all.
        names.push_back("_ZGV_LLVM_N" + std::to_string(width) + "vvvu_" + scalar->getName().str() + "(" + wide->getName().str() + ")");
      }
      llvm::VFABI::setVectorVariantNames(call, names);
    }
    llvm::appendToCompilerUsed(module, forms);
    return calls.empty() ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
  }
};

/// The call's value, by a branch: rare() goes over its elements in memory.
void write_branch(llvm::CallInst& call) {
  llvm::Function& function = *call.getFunction();
  llvm::Value* const is_rare = call.getArgOperand(0);
  llvm::Value* const usual = call.getArgOperand(2);
  llvm::Type* const type = call.getType();
  const auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  llvm::IRBuilder<> entry(&*function.getEntryBlock().getFirstInsertionPt());
  llvm::Value* const arguments = entry.CreateAlloca(type);
  llvm::Value* const values = entry.CreateAlloca(type);

  llvm::IRBuilder<> build(&call);
  // Elements that a mask leaves out may have no value at all, by which nothing may branch.
  llvm::Value* const known = build.CreateFreeze(is_rare);
  llvm::Value* const any = vector ? build.CreateOrReduce(known) : known;
  llvm::MDNode* const weights = llvm::MDBuilder(call.getContext()).createUnlikelyBranchWeights();
  llvm::Instruction* const end = llvm::SplitBlockAndInsertIfThen(any, call.getIterator(), false, weights);
  llvm::BasicBlock* const before = end->getParent()->getSinglePredecessor();
  build.SetInsertPoint(end);
  build.CreateStore(call.getArgOperand(1), arguments);
  build.CreateStore(usual, values);
  llvm::Type* const pointer = build.getPtrTy();
  auto* const signature = llvm::FunctionType::get(build.getVoidTy(), {pointer, pointer, build.getInt32Ty()}, false);
  build.CreateCall(signature, call.getArgOperand(3), {arguments, values, build.getInt32(vector ? vector->getNumElements() : 1)});
  llvm::Value* const changed = build.CreateLoad(type, values);
  build.SetInsertPoint(&call);
  llvm::PHINode* const value = build.CreatePHI(type, 2);
  value->addIncoming(usual, before);
  value->addIncoming(changed, end->getParent());
  call.replaceAllUsesWith(value);
  call.eraseFromParent();
}

struct WriteBranches : llvm::PassInfoMixin<WriteBranches> {
  static bool isRequired() { return true; }

  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    const std::vector<llvm::CallInst*> calls = calls_of(module);
    for (llvm::CallInst* call : calls) write_branch(*call);
    llvm::removeFromUsedLists(module, [](llvm::Constant* value) {
      const auto* const function = llvm::dyn_cast<llvm::Function>(value);
      return function && is_form(*function);
    });
    for (llvm::Function& function : llvm::make_early_inc_range(module)) {
      if (is_form(function)) function.eraseFromParent();
    }
    return calls.empty() ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
  }
};

}  // namespace

void part_rare_arguments(llvm::PassBuilder& builder) {
  builder.registerOptimizerEarlyEPCallback([](llvm::ModulePassManager& passes, llvm::OptimizationLevel) { passes.addPass(OfferWidths()); });
  builder.registerOptimizerLastEPCallback([](llvm::ModulePassManager& passes, llvm::OptimizationLevel) { passes.addPass(WriteBranches()); });
}

}  // namespace damo::clang_plugin
