// What the vectoriser is told of loops over float16, and the unroller of loops over the partial values of a reduction.
#include "codegen.hpp"

#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

namespace damo::clang_plugin {
namespace {

// Loops over float16. Every processor with AVX2 converts eight binary16 to float and back in one instruction, but LLVM 19's
// cost tables know the instructions for four alone and take those for eight, and for four doubles, to be done element by
// element: the vectoriser then uses half, or a quarter, of each register. Here it is told the width.
// Needs nothing for the values: how many rounds go at once is the vectoriser's own choice, and whether any may is still its to
// find out. It is said only of loops that gain by it: innermost ones that convert, every access of which is done in each round and
// to a place beside the last round's. The rest is left to the tables.
constexpr const char* kWidth = "llvm.loop.vectorize.width";
constexpr unsigned kNeighbours = 4;  // elements between a round's access and the next one's: a vector type's parts

bool converts(const llvm::Instruction& instruction) {
  return (llvm::isa<llvm::FPExtInst>(instruction) && instruction.getOperand(0)->getType()->isHalfTy()) ||
         (llvm::isa<llvm::FPTruncInst>(instruction) && instruction.getType()->isHalfTy());
}

/// The processor's own instruction, as the tables have it for vectors of four.
bool has_conversions(const llvm::TargetTransformInfo& target, llvm::LLVMContext& context) {
  auto* const halves = llvm::FixedVectorType::get(llvm::Type::getHalfTy(context), 4);
  auto* const floats = llvm::FixedVectorType::get(llvm::Type::getFloatTy(context), 4);
  return target.getCastInstrCost(llvm::Instruction::FPExt, floats, halves, llvm::TargetTransformInfo::CastContextHint::None,
                                 llvm::TargetTransformInfo::TCK_RecipThroughput) == 1;
}

bool goes_on_to_neighbour(llvm::Instruction& access, const llvm::Loop& loop, llvm::ScalarEvolution& evolution) {
  const llvm::SCEV* const address = evolution.getSCEV(llvm::getLoadStorePointerOperand(&access));
  if (evolution.isLoopInvariant(address, &loop)) return llvm::isa<llvm::LoadInst>(access);
  const auto* const steps = llvm::dyn_cast<llvm::SCEVAddRecExpr>(address);
  const auto* const step = steps && steps->getLoop() == &loop ? llvm::dyn_cast<llvm::SCEVConstant>(steps->getStepRecurrence(evolution)) : nullptr;
  const auto size = evolution.getDataLayout().getTypeStoreSize(llvm::getLoadStoreType(&access)).getFixedValue();
  return step && step->getAPInt().abs().ule(kNeighbours * size);
}

bool gains(const llvm::Loop& loop, llvm::ScalarEvolution& evolution, const llvm::DominatorTree& dominators) {
  bool any = false;
  for (llvm::BasicBlock* block : loop.blocks()) {
    for (llvm::Instruction& instruction : *block) {
      any |= converts(instruction);
      if (!instruction.mayReadOrWriteMemory()) continue;
      if (!llvm::getLoadStorePointerOperand(&instruction)) return false;
      if (!dominators.dominates(block, loop.getLoopLatch()) || !goes_on_to_neighbour(instruction, loop, evolution)) return false;
    }
  }
  return any;
}

struct HalfLoops : llvm::PassInfoMixin<HalfLoops> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
    const auto& target = analyses.getResult<llvm::TargetIRAnalysis>(function);
    llvm::LLVMContext& context = function.getContext();
    const auto register_bits = target.getRegisterBitWidth(llvm::TargetTransformInfo::RGK_FixedWidthVector).getFixedValue();
    if (register_bits <= 128 || !has_conversions(target, context)) return llvm::PreservedAnalyses::all();
    for (llvm::Loop* loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder()) {
      if (!loop->isInnermost() || !loop->getLoopLatch() || llvm::findStringMetadataForLoop(loop, kWidth)) continue;
      auto& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
      if (!gains(*loop, evolution, analyses.getResult<llvm::DominatorTreeAnalysis>(function))) continue;
      llvm::addStringMetadataToLoop(loop, kWidth, static_cast<unsigned>(register_bits / 32));
    }
    return llvm::PreservedAnalyses::all();
  }
};

// Comparisons and roundings of float16 numbers. The text has them of floats; LLVM makes them ones of halves, which a processor without instructions for those
// does element by element. Here they are floats' again, for the vectoriser and behind the last pass that takes that back.
// Needs nothing for the values: every half is a float, and what a half is rounded to is a half.
struct WideHalves : llvm::PassInfoMixin<WideHalves> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
    using namespace llvm::Intrinsic;
    if (!has_conversions(analyses.getResult<llvm::TargetIRAnalysis>(function), function.getContext())) return llvm::PreservedAnalyses::all();
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      const auto* const compared = llvm::dyn_cast<llvm::FCmpInst>(&instruction);
      const auto* const call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      if (!compared && !(call && llvm::is_contained({floor, ceil, trunc, rint, nearbyint, roundeven, round}, call->getIntrinsicID()))) continue;
      llvm::Type* const type = instruction.getOperand(0)->getType();
      if (!type->getScalarType()->isHalfTy()) continue;
      llvm::IRBuilder<> builder(&instruction);
      const auto wide = [&](unsigned i) { return builder.CreateFPExt(instruction.getOperand(i), type->getWithNewType(builder.getFloatTy())); };
      instruction.replaceAllUsesWith(compared ? builder.CreateFCmp(compared->getPredicate(), wide(0), wide(1))
                                              : builder.CreateFPTrunc(builder.CreateUnaryIntrinsic(call->getIntrinsicID(), wide(0)), type));
      instruction.eraseFromParent();
    }
    return llvm::PreservedAnalyses::none();
  }
};

// Loops over the partial values of a reduction, which stand side by side in a small array: `vectorize(enable) unroll(disable)` keeps such a loop whole until
// it is made of vectors. Then it may be unrolled, and what lies in the array comes into registers. Unrolled earlier it would be as many scalar steps.
// Needs nothing for the values: how often a loop's body stands in the code changes none.
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

void describe_vector_loops(llvm::PassBuilder& builder) {
  builder.registerVectorizerStartEPCallback([](llvm::FunctionPassManager& passes, llvm::OptimizationLevel) {
    passes.addPass(WideHalves());
    passes.addPass(HalfLoops());
    passes.addPass(LaneLoops());
  });
  builder.registerOptimizerLastEPCallback([](llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(WideHalves()));
  });
}

}  // namespace damo::clang_plugin
