#include "markers.hpp"

#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include <string>
#include <utility>

namespace damo::clang_plugin {
namespace {

constexpr const char* kNames[] = {"__damo_thread", "__damo_block", "__damo_block_size", "__damo_grid_size"};

/// (size_t)blockIdx.x reads the same index: its value is never negative.
const llvm::Value* without_extension(const llvm::Value* value) {
  const auto* cast = llvm::dyn_cast<llvm::ZExtInst>(value);
  return cast ? cast->getOperand(0) : value;
}

int axis_in_group(const llvm::Value* value, MarkerGroup group) {
  const int slot = marker_slot(without_extension(value));
  return slot >= 0 && slot / 3 == group ? slot % 3 : -1;
}

}  // namespace

int marker_slot(const llvm::Function* function) {
  if (!function || !function->getName().starts_with("__damo_")) return -1;
  for (int group = 0; group < 4; ++group) {
    for (int axis = 0; axis < 3; ++axis) {
      if (function->getName() == std::string(kNames[group]) + "_" + "xyz"[axis]) return group * 3 + axis;
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
