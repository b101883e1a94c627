#include "lowering_steps.hpp"

#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/Scalarizer.h>

#include <algorithm>
#include <cstdint>

#include "ir.hpp"

namespace damo::clang_plugin {
namespace {

void prepare_for_inlining(llvm::Function& function) {
  function.setLinkage(llvm::GlobalValue::InternalLinkage);
  function.setComdat(nullptr);
  function.setDSOLocal(true);
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
  std::set<llvm::Function*> seen = {&function};
  std::vector<llvm::Function*> open = {&function};
  const auto visit = [&](llvm::Function* next) {
    if (next && seen.insert(next).second) open.push_back(next);
  };
  while (!open.empty()) {
    llvm::Function* const at = open.back();
    open.pop_back();
    if (at->getName() == "__damo_wait") return true;
    bool calls_pointers = false;
    for (llvm::Instruction& instruction : llvm::instructions(*at)) {
      auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (!call || call->isInlineAsm()) continue;
      visit(call->getCalledFunction());
      calls_pointers |= call->getCalledFunction() == nullptr;
    }
    if (!calls_pointers) continue;
    for (llvm::Function& target : *at->getParent()) {
      if (!target.isDeclaration() && target.hasAddressTaken()) visit(&target);
    }
  }
  return false;
}

}  // namespace damo::clang_plugin
