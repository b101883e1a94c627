#include "lowering_steps.hpp"

#include <llvm/ADT/SetVector.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/Scalarizer.h>

#include <algorithm>
#include <cstdint>

#include "thread_function.hpp"

namespace damo::clang_plugin {
namespace {

void prepare_for_inlining(llvm::Function& function) {
  function.setLinkage(llvm::GlobalValue::InternalLinkage);
  function.setComdat(nullptr);
  function.removeFnAttr(llvm::Attribute::NoInline);
  function.removeFnAttr(llvm::Attribute::OptimizeNone);
  function.addFnAttr(llvm::Attribute::AlwaysInline);
}

/// Of the widest vector that the function computes or stores.
std::uint64_t vector_bits(const llvm::Function& function) {
  std::uint64_t widest = 0;
  for (const llvm::Instruction& instruction : llvm::instructions(function)) {
    const llvm::Type* type = llvm::isa<llvm::StoreInst>(instruction) ? instruction.getOperand(0)->getType() : instruction.getType();
    if (type->isVectorTy()) widest = std::max<std::uint64_t>(widest, type->getPrimitiveSizeInBits().getKnownMinValue());
  }
  return widest;
}

void inline_marked(llvm::Module& module) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  // Nothing here may move a marker out of its loop: they look constant until they are lowered.
  llvm::FunctionPassManager scalar;
  scalar.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  scalar.addPass(llvm::EarlyCSEPass());
  llvm::ModulePassManager passes;
  passes.addPass(llvm::AlwaysInlinerPass(/*InsertLifetimeIntrinsics=*/true));
  passes.addPass(llvm::GlobalDCEPass());
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(scalar)));
  passes.run(module, modules);
  // float4 is returned as two vectors of two: the loop over threads can't make vectors of those. Vectors that are wider than any of CUDA C
  // are meant as they stand: Damo's own texts for a block of one thread have them (runtime/library/tiled_text.hpp).
  llvm::FunctionPassManager parts;
  parts.addPass(llvm::ScalarizerPass({.ScalarizeVariableInsertExtract = true, .ScalarizeLoadStore = true, .ScalarizeMinBits = 0}));
  parts.addPass(llvm::EarlyCSEPass());
  parts.addPass(llvm::ADCEPass());  // halves of vectors that a thread seems to inherit from the one before
  for (llvm::Function& function : module) {
    if (const std::uint64_t bits = vector_bits(function); bits > 0 && bits <= 128) parts.run(function, functions);
  }
}

}  // namespace

void inline_into(llvm::Module& module, const std::set<std::string>& entries) {
  for (llvm::Function& function : module) {
    if (!function.isDeclaration() && !entries.count(function.getName().str())) prepare_for_inlining(function);
  }
  inline_marked(module);
}

bool reaches_wait(llvm::Function& function) {
  llvm::SetVector<llvm::Function*> reached;
  reached.insert(&function);
  bool calls_pointers = false;
  for (std::size_t i = 0; i < reached.size(); ++i) {
    if (reached[i]->getName() == kWait) return true;
    for (llvm::Instruction& instruction : llvm::instructions(*reached[i])) {
      auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (!call || call->isInlineAsm()) continue;
      if (call->getCalledFunction()) reached.insert(call->getCalledFunction());
      else if (!std::exchange(calls_pointers, true)) {
        for (llvm::Function& target : *function.getParent()) {
          if (!target.isDeclaration() && target.hasAddressTaken()) reached.insert(&target);
        }
      }
    }
  }
  return false;
}

}  // namespace damo::clang_plugin
