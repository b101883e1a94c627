#include "lower_cuda.hpp"

#include <llvm/Analysis/CaptureTracking.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SROA.h>

#include <algorithm>

#include "grid_stride.hpp"
#include "markers.hpp"

namespace damo::clang_plugin {
namespace {

void inline_everything(llvm::Module& module, const std::vector<KernelInfo>& kernels) {
  const auto is_entry = [&](const llvm::Function& function) {
    return std::any_of(kernels.begin(), kernels.end(), [&](const KernelInfo& kernel) { return function.getName() == kernel.entry; });
  };
  for (llvm::Function& function : module) {
    if (function.isDeclaration() || is_entry(function)) continue;
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.setComdat(nullptr);
    function.setDSOLocal(true);
    function.removeFnAttr(llvm::Attribute::NoInline);
    function.removeFnAttr(llvm::Attribute::OptimizeNone);
    function.addFnAttr(llvm::Attribute::AlwaysInline);
  }
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
}

/// blockIdx * blockDim + threadIdx never wraps: the launcher refuses grids of 2^31 threads along an axis. Saying so
/// makes the index an affine function of the loop variable, and loads and stores contiguous instead of gathered.
void mark_global_indices(llvm::Function& function) {
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    const bool bounded = global_index_axis(&instruction) >= 0 || block_product_axis(&instruction, kBlock) >= 0 ||
                         block_product_axis(&instruction, kGridSize) >= 0;
    if (!bounded) continue;
    instruction.setHasNoSignedWrap(true);
    instruction.setHasNoUnsignedWrap(true);
  }
}

/// Each marker becomes a read of the entry's Indices, which the optimiser turns into loop variables.
void lower_markers(llvm::Function& entry) {
  llvm::Value* indices = nullptr;
  std::vector<llvm::CallInst*> markers, dead;
  for (llvm::Instruction& instruction : llvm::instructions(entry)) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (!call || !call->getCalledFunction()) continue;
    if (call->getCalledFunction()->getName() == "__damo_indices") {
      indices = call->getArgOperand(0);
      dead.push_back(call);
    } else if (marker_slot(call) >= 0) {
      markers.push_back(call);
    }
  }
  for (llvm::CallInst* call : markers) {
    llvm::IRBuilder<> builder(call);
    llvm::Value* place = builder.CreateConstInBoundsGEP1_32(builder.getInt32Ty(), indices, marker_slot(call));
    call->replaceAllUsesWith(builder.CreateLoad(builder.getInt32Ty(), place));
    dead.push_back(call);
  }
  for (llvm::CallInst* call : dead) call->eraseFromParent();
}

/// True of memory that can't be a local array: a pointer that came as data, a variable of the module.
bool is_shared_by_threads(const llvm::Value* object) {
  return llvm::isa<llvm::LoadInst>(object) || llvm::isa<llvm::Argument>(object) || llvm::isa<llvm::GlobalVariable>(object);
}

/// The loop over x: threads without barriers or atomics are independent, so no alias check is needed between them.
/// Memory of the kernel's own local arrays is the exception: inlining made one array out of each thread's own.
void declare_threads_independent(llvm::Function& entry) {
  llvm::CallInst* marker = nullptr;
  bool independent = true;
  for (llvm::Instruction& instruction : llvm::instructions(entry)) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (call && call->getCalledFunction() && call->getCalledFunction()->getName() == "__damo_thread_loop") marker = call;
    if (instruction.isAtomic() || instruction.isVolatile()) independent = false;
    if (llvm::isa<llvm::AllocaInst>(instruction) && llvm::PointerMayBeCaptured(&instruction, false, true)) independent = false;
  }
  if (!marker) return;
  llvm::DominatorTree dominators(entry);
  llvm::LoopInfo loops(dominators);
  llvm::Loop* loop = loops.getLoopFor(marker->getParent());
  marker->eraseFromParent();
  if (!loop || !independent) return;
  llvm::LLVMContext& context = entry.getContext();
  llvm::MDNode* group = llvm::MDNode::getDistinct(context, {});
  for (llvm::BasicBlock* block : loop->blocks()) {
    for (llvm::Instruction& instruction : *block) {
      const llvm::Value* address = llvm::getLoadStorePointerOperand(&instruction);
      if (!address || !is_shared_by_threads(llvm::getUnderlyingObject(address, 0))) continue;
      instruction.setMetadata(llvm::LLVMContext::MD_access_group, group);
    }
  }
  auto* accesses = llvm::MDNode::get(context, {llvm::MDString::get(context, "llvm.loop.parallel_accesses"), group});
  llvm::SmallVector<llvm::Metadata*, 4> properties = {nullptr, accesses};
  if (llvm::MDNode* old = loop->getLoopID()) {
    for (unsigned i = 1; i < old->getNumOperands(); ++i) properties.push_back(old->getOperand(i));
  }
  llvm::MDNode* id = llvm::MDNode::getDistinct(context, properties);
  id->replaceOperandWith(0, id);
  loop->setLoopID(id);
}

/// __device__ and __constant__ variables live in numbered address spaces; on the CPU they are ordinary globals that
/// keep their names, so that the host can find them.
bool flatten_address_spaces(llvm::Module& module, std::string& error) {
  std::vector<llvm::GlobalVariable*> spaced;
  for (llvm::GlobalVariable& global : module.globals()) {
    if (global.getAddressSpace() != 0) spaced.push_back(&global);
  }
  for (llvm::GlobalVariable* old : spaced) {
    auto* flat = new llvm::GlobalVariable(module, old->getValueType(), old->isConstant() && !old->isExternallyInitialized(),
                                          old->getLinkage(), nullptr, "", old, old->getThreadLocalMode(), 0,
                                          old->isExternallyInitialized());
    flat->copyAttributesFrom(old);
    flat->setDSOLocal(true);
    if (old->hasInitializer()) {
      flat->setInitializer(old->getInitializer());
      old->setInitializer(nullptr);
    }
    flat->takeName(old);
    for (llvm::User* user : llvm::make_early_inc_range(old->users())) {
      auto* cast = llvm::dyn_cast<llvm::AddrSpaceCastOperator>(user);
      if (!cast || cast->getDestAddressSpace() != 0) {
        error += "internal: the address of '" + flat->getName().str() + "' is used in a way the CPU back end does not know\n";
        return false;
      }
      cast->replaceAllUsesWith(flat);
    }
    old->removeDeadConstantUsers();
    if (!old->use_empty()) {
      error += "internal: uses of '" + flat->getName().str() + "' are left in a device address space\n";
      return false;
    }
    old->eraseFromParent();
  }
  return true;
}

/// What could not be inlined must not ask where it is; what is called must exist.
bool check(llvm::Module& module, const std::vector<KernelInfo>& kernels, std::string& error) {
  for (const KernelInfo& kernel : kernels) {
    if (!module.getFunction(kernel.entry)) {
      error += "internal: no entry was made for kernel '" + kernel.name + "'\n";
      return false;
    }
  }
  for (llvm::Function& function : module) {
    const int slot = marker_slot(&function);
    for (const llvm::User* user : function.users()) {
      const auto* call = llvm::dyn_cast<llvm::CallInst>(user);
      const llvm::Function* home = call ? call->getFunction() : nullptr;
      const bool in_entry = home && std::any_of(kernels.begin(), kernels.end(), [&](const KernelInfo& kernel) { return home->getName() == kernel.entry; });
      if (slot >= 0 && !in_entry) {
        error += "error: '" + (home ? llvm::demangle(home->getName().str()) : std::string("a function")) +
                 "' reads its thread or block index but can't be inlined (recursion, or a call through a pointer): "
                 "not supported on the CPU yet\n";
        return false;
      }
    }
    if (function.isDeclaration() && !function.use_empty() && function.getName().starts_with("_Z")) {
      error += "error: function '" + llvm::demangle(function.getName().str()) + "' is called but has no definition\n";
      return false;
    }
  }
  return true;
}

void name_entry(llvm::Module& module, const KernelInfo& kernel) {
  if (llvm::GlobalValue* taken = module.getNamedValue(kernel.name)) taken->setName(kernel.name + ".body");
  llvm::Function* entry = module.getFunction(kernel.entry);
  entry->setName(kernel.name);
  entry->setLinkage(llvm::GlobalValue::ExternalLinkage);
}

void add_signatures(llvm::Module& module, const std::string& signatures) {
  llvm::Constant* text = llvm::ConstantDataArray::getString(module.getContext(), signatures);
  auto* global = new llvm::GlobalVariable(module, text->getType(), true, llvm::GlobalValue::ExternalLinkage, text, "damo_signatures");
  global->setDSOLocal(true);
}

}  // namespace

bool lower_cuda(llvm::Module& module, const std::vector<KernelInfo>& kernels, const std::string& signatures, std::string& error) {
  inline_everything(module, kernels);
  if (!flatten_address_spaces(module, error) || !check(module, kernels, error)) return false;
  for (const KernelInfo& kernel : kernels) {
    llvm::Function& entry = *module.getFunction(kernel.entry);
    mark_global_indices(entry);
    interchange_grid_stride(entry);
    lower_markers(entry);
    declare_threads_independent(entry);
    name_entry(module, kernel);
  }
  add_signatures(module, signatures);
  return true;
}

}  // namespace damo::clang_plugin
