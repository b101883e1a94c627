// Loops over the partial values of a reduction, which stand side by side in a small array: `vectorize(enable) unroll(disable)` keeps such a loop whole until
// it is made of vectors. Then it may be unrolled, and what lies in the array comes into registers. Unrolled earlier it would be as many scalar steps.
// Needs nothing for the values: how often a loop's body stands in the code changes none.
#include "codegen.hpp"
#include "ir.hpp"

#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

namespace damo::clang_plugin {
namespace {

constexpr unsigned kMostRounds = 64;

struct LaneLoops : llvm::PassInfoMixin<LaneLoops> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
    auto& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
    for (llvm::Loop* loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder()) {
      if (!loop->isInnermost() || !llvm::getBooleanLoopAttribute(loop, "llvm.loop.vectorize.enable")) continue;
      llvm::MDNode* const id = loop->getLoopID();
      const unsigned rounds = evolution.getSmallConstantTripCount(loop);
      if (rounds == 0 || rounds > kMostRounds || !llvm::findOptionMDForLoopID(id, "llvm.loop.unroll.disable")) continue;
      loop->setLoopID(llvm::makePostTransformationMetadata(function.getContext(), id, {"llvm.loop.unroll."}, {}));
    }
    return llvm::PreservedAnalyses::all();
  }
};

}  // namespace

void unroll_lanes(llvm::PassBuilder& builder) {
  builder.registerVectorizerStartEPCallback([](llvm::FunctionPassManager& passes, llvm::OptimizationLevel) { passes.addPass(LaneLoops()); });
}

}  // namespace damo::clang_plugin
