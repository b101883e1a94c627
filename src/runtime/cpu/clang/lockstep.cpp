#include "lockstep.hpp"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>

#include <algorithm>
#include <vector>

#include "address_spaces.hpp"
#include "thread_function.hpp"

namespace damo::clang_plugin {
namespace {

constexpr int kLockstep = 19;  // runtime::cpu Wait

bool is_volatile(const llvm::Instruction& instruction) {
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return load->isVolatile();
  const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
  return store && store->isVolatile();
}

bool is_shared(const llvm::Value* pointer) {
  llvm::SmallVector<const llvm::Value*> objects;
  llvm::getUnderlyingObjects(pointer, objects, nullptr, 0);
  return std::any_of(objects.begin(), objects.end(), [](const llvm::Value* object) {
    const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(object);
    return global && global->getAddressSpace() == kSharedSpace;
  });
}

/// Where the block's accesses so far leave the lanes: nothing done since they met, all have read, or anything.
enum class Since { kNothing, kRead, kUnknown };

/// Accesses of block that the lanes must meet before.
void find_meetings(llvm::BasicBlock& block, Since since, std::vector<llvm::Instruction*>& meetings) {
  for (llvm::Instruction& instruction : block) {
    if (is_wait(&instruction)) since = Since::kNothing;
    if (!is_volatile(instruction) || !is_shared(llvm::getLoadStorePointerOperand(&instruction))) continue;
    const bool reads = llvm::isa<llvm::LoadInst>(instruction);
    if (since == Since::kUnknown || (since == Since::kRead && !reads)) meetings.push_back(&instruction);
    since = reads ? Since::kRead : Since::kUnknown;
  }
}

}  // namespace

bool may_go_in_step(const llvm::Module& module) {
  const bool has_shared = std::any_of(module.global_begin(), module.global_end(), [](const llvm::GlobalVariable& global) {
    return global.getAddressSpace() == kSharedSpace;
  });
  return has_shared && std::any_of(module.begin(), module.end(), [](const llvm::Function& function) {
    return std::any_of(llvm::inst_begin(function), llvm::inst_end(function), is_volatile);
  });
}

bool keep_in_step(llvm::Function& thread) {
  std::vector<llvm::Instruction*> meetings;
  for (llvm::BasicBlock& block : thread) {
    find_meetings(block, block.isEntryBlock() ? Since::kNothing : Since::kUnknown, meetings);
  }
  llvm::IRBuilder<> builder(thread.getContext());
  llvm::Type *const number = builder.getInt32Ty(), *const wide = builder.getInt64Ty();
  const auto wait = thread.getParent()->getOrInsertFunction("__damo_wait", wide, number, number, wide, number);
  unsigned place = 0;  // blocks stand in the order of the text: of lanes that have parted, those behind go on first
  for (llvm::Instruction* access : meetings) {
    builder.SetInsertPoint(access);
    llvm::CallInst* const call = builder.CreateCall(wait, {builder.getInt32(kLockstep), builder.getInt32(++place), builder.getInt64(0), builder.getInt32(0)});
    call->setConvergent();
    call->setDoesNotThrow();
  }
  return !meetings.empty();
}

}  // namespace damo::clang_plugin
