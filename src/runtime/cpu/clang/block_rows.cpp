#include "block_rows.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <vector>

#include "markers.hpp"
#include "thread_function.hpp"

namespace damo::clang_plugin {
namespace {

constexpr const char* kQuestion = "__damo_row_threads";

/// True if every use of value, or of it as 64 bits, passes the test.
template <class Test>
bool is_used_only(const llvm::Value& value, const Test& test) {
  return llvm::all_of(value.users(), [&](const llvm::User* user) { return llvm::isa<llvm::ZExtInst>(user) ? is_used_only(*user, test) : test(*user); });
}

bool is_global_x(const llvm::User& user) { return global_index_axis(&user) == 0; }
bool is_begin_of_block(const llvm::User& user) { return block_product_axis(&user, kBlock) == 0 && is_used_only(user, is_global_x); }

/// Nobody can tell in which order threads do it, and no call's report names a block and a thread.
bool is_unordered(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  if (orders_threads(instruction)) return false;
  if (!call || llvm::isa<llvm::IntrinsicInst>(call)) return true;
  return call->getCalledFunction()->getName().starts_with("__damo_") || !call->mayHaveSideEffects();
}

}  // namespace

bool can_join_blocks(llvm::Function& entry) {
  return !uses_shared_memory(entry) && llvm::all_of(llvm::instructions(entry), [](const llvm::Instruction& instruction) {
    const int slot = marker_slot(&instruction);
    if (slot == kThread * 3) return is_used_only(instruction, is_global_x);
    if (slot == kBlock * 3) return is_used_only(instruction, is_begin_of_block);
    return is_unordered(instruction);
  });
}

void limit_rows(llvm::Function& function, unsigned threads) {
  std::vector<llvm::CallInst*> questions;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (call && call->getCalledFunction() && call->getCalledFunction()->getName() == kQuestion) questions.push_back(call);
  }
  for (llvm::CallInst* question : questions) {
    question->replaceAllUsesWith(llvm::ConstantInt::get(question->getType(), threads));
    question->eraseFromParent();
  }
}

}  // namespace damo::clang_plugin
