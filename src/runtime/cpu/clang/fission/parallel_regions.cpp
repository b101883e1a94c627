#include "parallel_regions.hpp"

#include <llvm/Analysis/CaptureTracking.h>
#include <llvm/Analysis/ValueTracking.h>

#include <vector>

namespace damo::clang_plugin {
namespace {

/// Threads that talk by atomics, or through a local variable's address, are not independent.
bool is_independent(const std::vector<llvm::BasicBlock*>& blocks) {
  for (llvm::BasicBlock* block : blocks) {
    for (llvm::Instruction& instruction : *block) {
      if (instruction.isAtomic() || instruction.isVolatile()) return false;
      const llvm::Value* address = llvm::getLoadStorePointerOperand(&instruction);
      const auto* variable = address ? llvm::dyn_cast<llvm::AllocaInst>(llvm::getUnderlyingObject(address, 0)) : nullptr;
      if (variable && llvm::PointerMayBeCaptured(variable, false, true)) return false;
    }
  }
  return true;
}

/// True of memory that can't be a local variable: a pointer that came as data, a global, memory with a place a thread.
bool lies_outside(const llvm::Value* object) {
  return llvm::isa<llvm::LoadInst>(object) || llvm::isa<llvm::Argument>(object) || llvm::isa<llvm::GlobalVariable>(object) || llvm::isa<llvm::CallInst>(object);
}

llvm::Metadata* property(llvm::LLVMContext& context, const char* name, int value = -1) {
  llvm::SmallVector<llvm::Metadata*, 2> parts = {llvm::MDString::get(context, name)};
  if (value >= 0) parts.push_back(llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), static_cast<unsigned>(value))));
  return llvm::MDNode::get(context, parts);
}

void describe(llvm::BasicBlock& latch, llvm::SmallVector<llvm::Metadata*, 4> properties) {
  properties.insert(properties.begin(), nullptr);
  llvm::MDNode* const id = llvm::MDNode::getDistinct(latch.getContext(), properties);
  id->replaceOperandWith(0, id);
  latch.getTerminator()->setMetadata(llvm::LLVMContext::MD_loop, id);
}

}  // namespace

void declare_threads_independent(const Region& region, const ThreadLoop& loop) {
  llvm::LLVMContext& context = region.leader->getContext();
  std::vector<llvm::BasicBlock*> blocks = region.blocks;
  blocks.push_back(loop.choose);
  blocks.push_back(loop.top);
  llvm::Metadata* const once = property(context, "llvm.loop.unroll.disable");
  llvm::SmallVector<llvm::Metadata*, 4> properties = {once, property(context, "llvm.loop.interleave.count", 1)};
  if (is_independent(blocks)) {
    llvm::MDNode* const group = llvm::MDNode::getDistinct(context, {});
    for (llvm::BasicBlock* block : blocks) {
      for (llvm::Instruction& instruction : *block) {
        const llvm::Value* address = llvm::getLoadStorePointerOperand(&instruction);
        if (address && lies_outside(llvm::getUnderlyingObject(address, 0))) instruction.setMetadata(llvm::LLVMContext::MD_access_group, group);
      }
    }
    properties.push_back(llvm::MDNode::get(context, {llvm::MDString::get(context, "llvm.loop.parallel_accesses"), group}));
  }
  describe(*loop.latch, properties);
  for (llvm::BasicBlock* outer : loop.outer_latches) describe(*outer, {once});
}

}  // namespace damo::clang_plugin
