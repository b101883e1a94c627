#include "thread_function.hpp"

#include <llvm/IR/Operator.h>

#include "markers.hpp"

namespace damo::clang_plugin {
namespace {

constexpr const char* kTie = "__damo_indices";
constexpr const char* kCurrentThread = "damo_current_thread";
constexpr const char* kEnterThread = "damo_enter_thread";

llvm::Instruction* first_place(llvm::Function& function) { return &*function.getEntryBlock().getFirstNonPHIOrDbgOrAlloca(); }

/// Asked of the runtime once, at the beginning.
llvm::Value* current_thread(llvm::Function& function) {
  if (const auto calls = calls_of(function, kCurrentThread); !calls.empty()) return calls.front();
  llvm::IRBuilder<> builder(first_place(function));
  return builder.CreateCall(function.getParent()->getOrInsertFunction(kCurrentThread, builder.getPtrTy()));
}

llvm::Value* thread_state_of(llvm::Function& function) {
  if (llvm::CallInst* tie = tie_of(function)) return tie->getArgOperand(0);
  return is_thread_function(function) ? function.getArg(1) : current_thread(function);
}

}  // namespace

llvm::CallInst* tie_of(llvm::Function& function) {
  const std::vector<llvm::CallInst*> ties = calls_of(function, kTie);
  return ties.empty() ? nullptr : ties.front();
}

bool is_thread_function(const llvm::Function& function) { return function.getName().starts_with("__damo_thread_"); }

/// blockIdx * blockDim + threadIdx never wraps: the launcher refuses grids of 2^31 threads along an axis. Saying so
/// makes the index an affine function of the loop variable, and loads and stores contiguous instead of gathered.
void mark_global_indices(llvm::Function& function) {
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    const bool bounded = global_index_axis(&instruction) >= 0 || block_product_axis(&instruction, kBlock) >= 0 ||
                         block_product_axis(&instruction, kGridSize) >= 0;
    if (!bounded || !llvm::isa<llvm::OverflowingBinaryOperator>(instruction)) continue;
    instruction.setHasNoSignedWrap(true);
    instruction.setHasNoUnsignedWrap(true);
  }
}

void lower_markers(llvm::Function& function) {
  std::vector<llvm::CallInst*> markers;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (marker_slot(&instruction) >= 0) markers.push_back(llvm::cast<llvm::CallInst>(&instruction));
  }
  if (markers.empty()) return;
  llvm::Value* const state = thread_state_of(function);
  for (llvm::CallInst* call : markers) {
    llvm::IRBuilder<> builder(call);
    llvm::Value* place = builder.CreateConstInBoundsGEP1_32(builder.getInt32Ty(), state, marker_slot(call));
    call->replaceAllUsesWith(builder.CreateLoad(builder.getInt32Ty(), place));
    call->eraseFromParent();
  }
}

void lower_tie(llvm::Function& entry) {
  llvm::CallInst* const tie = tie_of(entry);
  if (!tie) return;
  llvm::Module& module = *entry.getParent();
  const llvm::Function* asked = module.getFunction(kCurrentThread);
  if (asked && !asked->use_empty()) {
    llvm::IRBuilder<> builder(tie);
    builder.CreateCall(module.getOrInsertFunction(kEnterThread, builder.getVoidTy(), builder.getPtrTy()), {tie->getArgOperand(0)});
  }
  tie->eraseFromParent();
}

llvm::Value* shared_memory_of(llvm::Function& function) {
  llvm::Value* const state = tie_of(function) ? nullptr : thread_state_of(function);
  // Behind the call that gave the state, if there is one.
  auto* asked = llvm::dyn_cast_or_null<llvm::Instruction>(state);
  llvm::IRBuilder<> builder(asked ? asked->getNextNode() : first_place(function));
  const auto of_thread = [&] { return builder.CreateLoad(builder.getPtrTy(), builder.CreateConstInBoundsGEP1_32(builder.getInt8Ty(), state, kFrameOffset)); };
  llvm::Value* const frame = state ? static_cast<llvm::Value*>(of_thread()) : function.getArg(1);
  llvm::LoadInst* shared = builder.CreateLoad(builder.getPtrTy(), builder.CreateConstInBoundsGEP1_32(builder.getInt8Ty(), frame, kSharedOffset));
  llvm::MDNode* alignment = llvm::MDNode::get(function.getContext(), llvm::ConstantAsMetadata::get(builder.getInt64(64)));
  shared->setMetadata(llvm::LLVMContext::MD_align, alignment);
  return shared;
}

llvm::CallInst* call_wait(llvm::IRBuilder<>& builder, WaitKind kind, unsigned mask) {
  llvm::Type *const number = builder.getInt32Ty(), *const wide = builder.getInt64Ty();
  const auto wait = builder.GetInsertBlock()->getModule()->getOrInsertFunction(kWait, wide, number, number, wide, number);
  llvm::CallInst* const call = builder.CreateCall(wait, {builder.getInt32(static_cast<unsigned>(kind)), builder.getInt32(mask), builder.getInt64(0), builder.getInt32(0)});
  call->setConvergent();
  call->setDoesNotThrow();
  return call;
}

bool is_wait(const llvm::Value* value) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(value);
  return call && call->getCalledFunction() && call->getCalledFunction()->getName() == kWait;
}

bool uses_shared_memory(const llvm::Function& entry) {
  return llvm::any_of(entry.getArg(1)->users(), [&](const llvm::User* user) {
    llvm::APInt offset(64, 0);
    const auto* place = llvm::dyn_cast<llvm::GEPOperator>(user);
    return place && place->accumulateConstantOffset(entry.getDataLayout(), offset) && offset == kSharedOffset;
  });
}

bool orders_threads(const llvm::Instruction& instruction) {
  if (instruction.isAtomic() || instruction.isVolatile()) return true;
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  if (!call || llvm::isa<llvm::IntrinsicInst>(call)) return false;
  const llvm::Function* callee = call->getCalledFunction();
  return !callee || !callee->isDeclaration();
}

void call_runner(llvm::Module& module, const KernelInfo& kernel, const char* runner, llvm::Function& thread) {
  llvm::IRBuilder<> builder(module.getContext());
  llvm::Type *const pointer = builder.getPtrTy(), *const wide = builder.getInt64Ty(), *const none = builder.getVoidTy();
  auto* entry = llvm::Function::Create(llvm::FunctionType::get(none, {pointer, pointer, wide, wide}, false),
                                       llvm::GlobalValue::ExternalLinkage, kernel.entry, module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", entry));
  builder.CreateCall(module.getOrInsertFunction(runner, none, pointer, pointer, pointer, wide, wide),
                     {&thread, entry->getArg(0), entry->getArg(1), entry->getArg(2), entry->getArg(3)});
  builder.CreateRetVoid();
}

}  // namespace damo::clang_plugin
