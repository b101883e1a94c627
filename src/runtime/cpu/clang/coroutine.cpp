#include "lowering_steps.hpp"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/AttributeMask.h>
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/DebugInfo.h>

#include "markers.hpp"
#include "thread_function.hpp"

namespace damo::clang_plugin {
namespace {

constexpr unsigned kFrameAlignment = 64;  // of the memory that damo_coroutine_memory gives

/// The same body under a signature that returns the coroutine's handle.
llvm::Function* with_handle(llvm::Module& module, llvm::Function& thread) {
  llvm::Type* const pointer = llvm::PointerType::get(module.getContext(), 0);
  auto* start = llvm::Function::Create(llvm::FunctionType::get(pointer, {pointer, pointer}, false), llvm::GlobalValue::InternalLinkage, "", module);
  start->copyAttributesFrom(&thread);
  start->copyMetadata(&thread, 0);  // its lines
  start->removeRetAttrs(llvm::AttributeFuncs::typeIncompatible(pointer));
  start->takeName(&thread);
  start->splice(start->begin(), &thread);
  for (unsigned i = 0; i < 2; ++i) thread.getArg(i)->replaceAllUsesWith(start->getArg(i));
  thread.eraseFromParent();
  start->setPresplitCoroutine();
  start->removeFnAttr(llvm::Attribute::AlwaysInline);
  start->removeFnAttr(llvm::Attribute::MustProgress);
  return start;
}

class Coroutine {
 public:
  Coroutine(llvm::Module& module, llvm::Function& function) : module_(module), function_(function), state_(function.getArg(1)) {}

  void make() {
    const std::vector<llvm::CallInst*> waits = calls_of(function_, kWait);
    std::vector<llvm::ReturnInst*> returns;
    for (llvm::Instruction& instruction : llvm::instructions(function_)) {
      if (auto* back = llvm::dyn_cast<llvm::ReturnInst>(&instruction)) returns.push_back(back);
    }
    begin();
    end();
    for (llvm::CallInst* wait : waits) suspend(*wait);
    for (llvm::ReturnInst* back : returns) {
      llvm::IRBuilder<> builder(back);
      builder.CreateStore(builder.getInt32(static_cast<unsigned>(kExited)), field(builder, kKindOffset));
      builder.CreateBr(cleanup_);
      back->eraseFromParent();
    }
  }

 private:
  llvm::Value* field(llvm::IRBuilder<>& builder, int offset) { return builder.CreateConstInBoundsGEP1_32(builder.getInt8Ty(), state_, offset); }

  void begin() {
    llvm::BasicBlock* const old = &function_.getEntryBlock();
    auto* entry = llvm::BasicBlock::Create(module_.getContext(), "coroutine", &function_, old);
    llvm::IRBuilder<> builder(entry);
    llvm::Value* const null = llvm::ConstantPointerNull::get(builder.getPtrTy());
    id_ = builder.CreateIntrinsic(llvm::Intrinsic::coro_id, {}, {builder.getInt32(kFrameAlignment), null, null, null});
    llvm::Value* size = builder.CreateIntrinsic(llvm::Intrinsic::coro_size, {builder.getInt64Ty()}, {});
    const auto memory = module_.getOrInsertFunction("damo_coroutine_memory", builder.getPtrTy(), builder.getInt64Ty());
    handle_ = builder.CreateIntrinsic(llvm::Intrinsic::coro_begin, {}, {id_, builder.CreateCall(memory, {size})});
    // Local variables must be seen to belong to the entry block.
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(*old)) {
      if (llvm::isa<llvm::AllocaInst>(instruction)) instruction.moveBefore(*entry, entry->begin());
    }
    builder.SetInsertPoint(entry);
    builder.CreateBr(old);
  }

  void end() {
    leave_ = llvm::BasicBlock::Create(module_.getContext(), "leave", &function_);
    cleanup_ = llvm::BasicBlock::Create(module_.getContext(), "cleanup", &function_);
    llvm::IRBuilder<> builder(cleanup_);
    builder.CreateIntrinsic(llvm::Intrinsic::coro_free, {}, {id_, handle_});  // the memory is the scheduler's
    builder.CreateBr(leave_);
    builder.SetInsertPoint(leave_);
    builder.CreateIntrinsic(llvm::Intrinsic::coro_end, {}, {handle_, builder.getFalse(), llvm::ConstantTokenNone::get(module_.getContext())});
    builder.CreateRet(handle_);
  }

  void suspend(llvm::CallInst& wait) {
    llvm::BasicBlock* const before = wait.getParent();
    llvm::BasicBlock* const after = before->splitBasicBlock(&wait, "resumed");
    before->getTerminator()->eraseFromParent();
    llvm::IRBuilder<> builder(before);
    const int offsets[] = {kKindOffset, kMaskOffset, kValueOffset, kOperandOffset};
    for (unsigned i = 0; i < 4; ++i) builder.CreateStore(wait.getArgOperand(i), field(builder, offsets[i]));
    llvm::Value* const token = llvm::ConstantTokenNone::get(module_.getContext());
    llvm::Value* const how = builder.CreateIntrinsic(llvm::Intrinsic::coro_suspend, {}, {token, builder.getFalse()});
    llvm::SwitchInst* const decide = builder.CreateSwitch(how, leave_, 2);
    decide->addCase(builder.getInt8(0), after);
    decide->addCase(builder.getInt8(1), cleanup_);
    if (!wait.use_empty()) {
      builder.SetInsertPoint(&wait);
      wait.replaceAllUsesWith(builder.CreateLoad(builder.getInt64Ty(), field(builder, kValueOffset)));
    }
    wait.eraseFromParent();
  }

  llvm::Module& module_;
  llvm::Function& function_;
  llvm::Value* state_;
  llvm::CallInst *id_ = nullptr, *handle_ = nullptr;
  llvm::BasicBlock *leave_ = nullptr, *cleanup_ = nullptr;
};

}  // namespace

void call_language_c(llvm::Module& module) {
  llvm::NamedMDNode* const units = module.getNamedMetadata("llvm.dbg.cu");
  if (!units || units->getNumOperands() != 1) return;
  const auto* old = llvm::cast<llvm::DICompileUnit>(units->getOperand(0));
  llvm::DIBuilder builder(module, /*AllowUnresolved=*/false);
  units->eraseFromParent();
  llvm::DICompileUnit* const unit =
      builder.createCompileUnit(llvm::dwarf::DW_LANG_C11, old->getFile(), old->getProducer(), old->isOptimized(), "", 0, "", old->getEmissionKind());
  llvm::DebugInfoFinder finder;
  finder.processModule(module);
  for (llvm::DISubprogram* function : finder.subprograms()) {
    if (function->getUnit()) function->replaceUnit(unit);
  }
}

void make_coroutine(llvm::Module& module, const KernelInfo& kernel) {
  llvm::Function* const start = with_handle(module, *module.getFunction(kernel.thread));
  Coroutine(module, *start).make();
  call_runner(module, kernel, "damo_run_coroutines", *start);
}

}  // namespace damo::clang_plugin
