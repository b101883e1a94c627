#include "markers.hpp"

namespace damo::clang_plugin {
namespace {

constexpr const char* kNames[] = {"__damo_thread", "__damo_block", "__damo_block_size", "__damo_grid_size", "__damo_place"};

constexpr const char* kThreadLoop = "__damo_thread_loop";

std::string name_of(int group, int axis) { return std::string(kNames[group]) + "_" + "xyz"[axis]; }

int axis_in_group(const llvm::Value* value, MarkerGroup group) {
  const int slot = marker_slot(without_extension(value));
  return slot >= 0 && slot / 3 == group ? slot % 3 : -1;
}

}  // namespace

std::vector<llvm::CallInst*> calls_of(llvm::Function& function, llvm::StringRef name) {
  std::vector<llvm::CallInst*> calls;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (call && call->getCalledFunction() && call->getCalledFunction()->getName() == name) calls.push_back(call);
  }
  return calls;
}

void call_thread_loop(llvm::IRBuilderBase& builder, llvm::Value* y, llvm::Value* z) {
  llvm::Type* const index = builder.getInt32Ty();
  builder.CreateCall(builder.GetInsertBlock()->getModule()->getOrInsertFunction(kThreadLoop, builder.getVoidTy(), index, index), {y, z});
}

std::vector<llvm::CallInst*> thread_loop_markers(llvm::Function& function) { return calls_of(function, kThreadLoop); }

void unite_markers(llvm::Function& function) {
  llvm::Instruction* const begin = &*function.getEntryBlock().getFirstInsertionPt();
  std::map<int, llvm::Instruction*> reads;
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    const int slot = marker_slot(&instruction);
    if (slot < 0) continue;
    const auto [known, is_new] = reads.try_emplace(slot, &instruction);
    if (is_new) {
      if (&instruction != begin) instruction.moveBefore(begin);
    } else {
      instruction.replaceAllUsesWith(known->second);
      instruction.eraseFromParent();
    }
  }
}

llvm::Value* call_marker(llvm::IRBuilderBase& builder, MarkerGroup group, int axis) {
  const llvm::FunctionCallee marker = builder.GetInsertBlock()->getModule()->getOrInsertFunction(name_of(group, axis), builder.getInt32Ty());
  llvm::CallInst* const call = builder.CreateCall(marker);
  call->setDoesNotAccessMemory();
  call->setDoesNotThrow();
  return call;
}

llvm::Value* read_marker(llvm::IRBuilderBase& builder, MarkerGroup group, int axis) {
  return builder.CreateZExt(call_marker(builder, group, axis), builder.getInt64Ty());
}

const llvm::Value* without_extension(const llvm::Value* value) {
  return llvm::isa<llvm::ZExtInst, llvm::SExtInst>(value) ? llvm::cast<llvm::CastInst>(value)->getOperand(0) : value;
}

bool is_index_on_x(const llvm::Value* value) { return marker_slot(value) == kThread * 3 || global_index_axis(value) == 0; }

int marker_slot(const llvm::Function* function) {
  if (!function || !function->getName().starts_with("__damo_")) return -1;
  for (int group = 0; group < 5; ++group) {
    for (int axis = 0; axis < 3; ++axis) {
      if (function->getName() == name_of(group, axis)) return group * 3 + axis;
    }
  }
  return -1;
}

int marker_slot(const llvm::Value* value) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(value);
  return call ? marker_slot(call->getCalledFunction()) : -1;
}

int block_product_axis(const llvm::Value* value, MarkerGroup left) {
  const auto* product = llvm::dyn_cast<llvm::BinaryOperator>(without_extension(value));
  if (!product || product->getOpcode() != llvm::Instruction::Mul) return -1;
  const llvm::Value *a = product->getOperand(0), *b = product->getOperand(1);
  if (axis_in_group(a, kBlockSize) >= 0) std::swap(a, b);
  const int axis = axis_in_group(a, left);
  return axis >= 0 && axis == axis_in_group(b, kBlockSize) ? axis : -1;
}

int global_index_axis(const llvm::Value* value) {
  const auto* sum = llvm::dyn_cast<llvm::BinaryOperator>(value);
  if (!sum || sum->getOpcode() != llvm::Instruction::Add) return -1;
  const llvm::Value *a = sum->getOperand(0), *b = sum->getOperand(1);
  if (axis_in_group(a, kThread) >= 0) std::swap(a, b);
  const int axis = axis_in_group(b, kThread);
  return axis >= 0 && axis == block_product_axis(a, kBlock) ? axis : -1;
}

}  // namespace damo::clang_plugin
