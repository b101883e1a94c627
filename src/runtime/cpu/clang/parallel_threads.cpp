#include "parallel_threads.hpp"

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/CaptureTracking.h>
#include <llvm/Analysis/LoopAccessAnalysis.h>
#include <llvm/Analysis/LoopIterator.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopRotation.h>

#include "markers.hpp"
#include "thread_function.hpp"

namespace damo::clang_plugin {
namespace {

constexpr const char* kParallel = "llvm.loop.parallel_accesses";
constexpr size_t kMostAccesses = 256;
constexpr std::int64_t kLargestFactor = 8;  ///< LLVM makes no groups of wider gaps

/// True of memory that can't be a local variable, as long as no local variable's address gets out: a pointer that came as
/// data or from a call, a variable of the module.
bool is_of_all_threads(const llvm::Value* object) {
  return llvm::isa<llvm::LoadInst, llvm::CallInst, llvm::Argument, llvm::GlobalVariable>(object);
}

bool are_independent(const llvm::Function& function, llvm::ArrayRef<llvm::BasicBlock*> blocks) {
  const bool gets_out = llvm::any_of(llvm::instructions(function), [](const llvm::Instruction& variable) {
    return llvm::isa<llvm::AllocaInst>(variable) && llvm::PointerMayBeCaptured(&variable, false, true);
  });
  return !gets_out && llvm::none_of(blocks, [](const llvm::BasicBlock* block) { return llvm::any_of(*block, orders_threads); });
}

/// A load or store, and its distance from round to round in elements; 0 where that is no number.
struct GroupedAccess {
  const llvm::Instruction* instruction;
  std::int64_t stride;
  bool is_grouped() const { return stride > 1 ? stride <= kLargestFactor : stride < -1 && -stride <= kLargestFactor; }
};

/// In the order in which a round does them.
std::vector<GroupedAccess> read_accesses(llvm::Loop& loop, llvm::LoopInfo& loops, llvm::ScalarEvolution& evolution) {
  llvm::PredicatedScalarEvolution predicated(evolution, loop);
  llvm::LoopBlocksRPO order(&loop);
  order.perform(&loops);
  std::vector<GroupedAccess> accesses;
  for (llvm::BasicBlock* block : order) {
    for (llvm::Instruction& instruction : *block) {
      llvm::Value* const address = llvm::getLoadStorePointerOperand(&instruction);
      if (!address) continue;
      const auto stride = llvm::getPtrStride(predicated, llvm::getLoadStoreType(&instruction), address, &loop, llvm::DenseMap<llvm::Value*, const llvm::SCEV*>(), /*Assume=*/true, /*ShouldCheckWrap=*/false);
      accesses.push_back({&instruction, stride.value_or(0)});
    }
  }
  return accesses;
}

/// True if a and b, of one round, are to different places.
bool are_apart(const llvm::Instruction& a, const llvm::Instruction& b, llvm::AAResults& aliases, llvm::ScalarEvolution& evolution) {
  const llvm::MemoryLocation first = llvm::MemoryLocation::get(&a), second = llvm::MemoryLocation::get(&b);
  if (aliases.isNoAlias(first, second)) return true;
  const llvm::SCEV* const from = evolution.getSCEV(const_cast<llvm::Value*>(first.Ptr));
  const auto distance = evolution.computeConstantDifference(evolution.getSCEV(const_cast<llvm::Value*>(second.Ptr)), from);
  if (!distance || !first.Size.isPrecise() || !second.Size.isPrecise()) return false;
  return distance->sge(static_cast<std::int64_t>(first.Size.getValue())) || distance->sle(-static_cast<std::int64_t>(second.Size.getValue()));
}

/// The vectoriser moves strided loads to before stores, and strided stores to behind other accesses.
bool would_reorder(llvm::Loop& loop, llvm::LoopInfo& loops, llvm::AAResults& aliases, llvm::ScalarEvolution& evolution) {
  const std::vector<GroupedAccess> accesses = read_accesses(loop, loops, evolution);
  if (llvm::none_of(accesses, [](const GroupedAccess& access) { return access.is_grouped(); })) return false;
  if (accesses.size() > kMostAccesses) return true;
  for (size_t i = 0; i < accesses.size(); ++i) {
    for (size_t j = i + 1; accesses[i].instruction->mayWriteToMemory() && j < accesses.size(); ++j) {
      const bool moves = accesses[i].is_grouped() || accesses[j].is_grouped();
      if (moves && !are_apart(*accesses[i].instruction, *accesses[j].instruction, aliases, evolution)) return true;
    }
  }
  return false;
}

struct OrderOfAccesses : llvm::PassInfoMixin<OrderOfAccesses> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
    auto& loops = analyses.getResult<llvm::LoopAnalysis>(function);
    for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
      if (!loop->isInnermost() || !loop->isAnnotatedParallel()) continue;
      auto& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
      if (!would_reorder(*loop, loops, analyses.getResult<llvm::AAManager>(function), evolution)) continue;
      loop->setLoopID(llvm::makePostTransformationMetadata(function.getContext(), loop->getLoopID(), {kParallel}, {}));
    }
    return llvm::PreservedAnalyses::all();
  }
};

}  // namespace

void declare_threads_independent(llvm::BasicBlock& latch, llvm::ArrayRef<llvm::BasicBlock*> blocks, llvm::ArrayRef<llvm::MDNode*> properties) {
  llvm::LLVMContext& context = latch.getContext();
  llvm::SmallVector<llvm::MDNode*, 4> said(properties.begin(), properties.end());
  if (are_independent(*latch.getParent(), blocks)) {
    llvm::MDNode* const group = llvm::MDNode::getDistinct(context, {});
    for (llvm::BasicBlock* block : blocks) {
      for (llvm::Instruction& instruction : *block) {
        const llvm::Value* const address = llvm::getLoadStorePointerOperand(&instruction);
        if (address && is_of_all_threads(llvm::getUnderlyingObject(address, 0))) instruction.setMetadata(llvm::LLVMContext::MD_access_group, group);
      }
    }
    said.push_back(llvm::MDNode::get(context, {llvm::MDString::get(context, kParallel), group}));
  }
  llvm::Instruction& end = *latch.getTerminator();
  end.setMetadata(llvm::LLVMContext::MD_loop, llvm::makePostTransformationMetadata(context, end.getMetadata(llvm::LLVMContext::MD_loop), {}, said));
}

void declare_rows_independent(llvm::Function& entry) {
  const llvm::DominatorTree dominators(entry);
  llvm::LoopInfo loops(dominators);
  for (llvm::CallInst* marker : thread_loop_markers(entry)) {
    llvm::Loop* const loop = loops.getLoopFor(marker->getParent());
    marker->eraseFromParent();
    if (loop && loop->getLoopLatch()) declare_threads_independent(*loop->getLoopLatch(), loop->getBlocks());
  }
}

void keep_order_of_accesses(llvm::PassBuilder& builder) {
  builder.registerVectorizerStartEPCallback([](llvm::FunctionPassManager& passes, llvm::OptimizationLevel) {
    passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LoopRotatePass()));
    passes.addPass(OrderOfAccesses());
  });
}

}  // namespace damo::clang_plugin
