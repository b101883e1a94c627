#include "known_block_size.hpp"

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <string>
#include <vector>

#include "block_rows.hpp"
#include "markers.hpp"
#include "row_invariants.hpp"

namespace damo::clang_plugin {
namespace {

constexpr unsigned kMostThreads = 1024;       ///< of a block, as CUDA has it
constexpr unsigned kMostShift = 10;
constexpr unsigned kMostInstructions = 4000;  ///< of what is compiled twice
constexpr unsigned kBlockSizeOffset = 12;      ///< of block[0] in LaunchFrame (kernel_abi.hpp)

const llvm::Value* without_extension(const llvm::Value* value) {
  const auto* cast = llvm::dyn_cast<llvm::ZExtInst>(value);
  return cast ? cast->getOperand(0) : value;
}

/// blockIdx.x * threads or gridDim.x * threads; << n for powers of two.
struct Product {
  llvm::BinaryOperator* value = nullptr;
  unsigned blocks = 0;  ///< the operand that is blockIdx.x or gridDim.x
  unsigned long threads = 0;
};

Product read_product(llvm::Instruction& instruction, MarkerGroup left) {
  auto* value = llvm::dyn_cast<llvm::BinaryOperator>(&instruction);
  const bool is_shift = value && value->getOpcode() == llvm::Instruction::Shl;
  if (!value || (!is_shift && value->getOpcode() != llvm::Instruction::Mul)) return {};
  for (unsigned blocks = 0; blocks < (is_shift ? 1 : 2); ++blocks) {
    const auto* number = llvm::dyn_cast<llvm::ConstantInt>(value->getOperand(1 - blocks));
    if (!number || number->getValue().ugt(is_shift ? kMostShift : kMostThreads)) continue;
    if (marker_slot(without_extension(value->getOperand(blocks))) != left * 3) continue;
    return {value, blocks, is_shift ? 1UL << number->getZExtValue() : number->getZExtValue()};
  }
  return {};
}

/// True if something adds threadIdx.x to it.
bool begins_index(const llvm::Instruction& product) {
  for (const llvm::User* user : product.users()) {
    const auto* sum = llvm::dyn_cast<llvm::BinaryOperator>(user);
    if (!sum || sum->getOpcode() != llvm::Instruction::Add) continue;
    if (marker_slot(without_extension(sum->getOperand(sum->getOperand(0) == &product ? 1 : 0))) == kThread * 3) return true;
  }
  return false;
}

/// How many threads a block has along x by entry's indices; 0 if they do not say so, or say different things.
unsigned long threads_of_block(llvm::Function& entry) {
  unsigned long threads = 0;
  for (llvm::Instruction& instruction : llvm::instructions(entry)) {
    const Product begin = read_product(instruction, kBlock);
    if (!begin.value || !begins_index(*begin.value)) continue;
    if (threads != 0 && threads != begin.threads) return 0;
    threads = begin.threads;
  }
  return threads;
}

/// Says blockDim.x where entry says threads.
void name_block_size(llvm::Function& entry, unsigned long threads) {
  std::vector<Product> products;
  for (llvm::Instruction& instruction : llvm::instructions(entry)) {
    for (const MarkerGroup left : {kBlock, kGridSize}) {
      const Product product = read_product(instruction, left);
      if (product.value && product.threads == threads) products.push_back(product);
    }
  }
  for (const Product& product : products) {
    llvm::IRBuilder<> builder(product.value);
    llvm::Value* const blocks = product.value->getOperand(product.blocks);
    const auto* marker = llvm::cast<llvm::CallInst>(without_extension(blocks));
    auto* const size = llvm::cast<llvm::CallInst>(marker->clone());  // with what is known of such calls
    size->setCalledFunction(entry.getParent()->getOrInsertFunction("__damo_block_size_x", marker->getFunctionType(), marker->getCalledFunction()->getAttributes()));
    builder.Insert(size);
    product.value->replaceAllUsesWith(builder.CreateMul(blocks, builder.CreateZExt(size, blocks->getType())));
    product.value->eraseFromParent();
  }
}

/// A function of entry's name that calls known where blocks have so many threads along x, else entry under another name.
void choose_by_block_size(llvm::Function& entry, llvm::Function& known, unsigned long threads) {
  const std::string name = entry.getName().str();
  auto* const choice = llvm::Function::Create(entry.getFunctionType(), entry.getLinkage(), "", entry.getParent());
  choice->copyAttributesFrom(&entry);
  entry.setName(name + "_any");
  known.setName(name + "_known");
  choice->setName(name);
  for (llvm::Function* function : {&entry, &known}) {
    function->setLinkage(llvm::GlobalValue::InternalLinkage);
    function->setDSOLocal(true);
    function->addFnAttr(llvm::Attribute::NoInline);
  }
  llvm::LLVMContext& context = entry.getContext();
  auto* const yes = llvm::BasicBlock::Create(context, "", choice);
  llvm::BasicBlock* const cases[] = {llvm::BasicBlock::Create(context, "", choice), llvm::BasicBlock::Create(context, "", choice)};
  llvm::IRBuilder<> builder(yes);
  llvm::Value* const place = builder.CreateConstInBoundsGEP1_32(builder.getInt8Ty(), choice->getArg(1), kBlockSizeOffset);
  llvm::Value* const size = builder.CreateLoad(builder.getInt32Ty(), place);
  builder.CreateCondBr(builder.CreateICmpEQ(size, builder.getInt32(static_cast<unsigned>(threads))), cases[0], cases[1]);
  std::vector<llvm::Value*> arguments;
  for (llvm::Argument& argument : choice->args()) arguments.push_back(&argument);
  for (unsigned i = 0; i < 2; ++i) {
    builder.SetInsertPoint(cases[i]);
    builder.CreateCall(i == 0 ? &known : &entry, arguments)->setTailCall();
    builder.CreateRetVoid();
  }
}

}  // namespace

llvm::Function* add_known_block_size(llvm::Function& entry) {
  const unsigned long threads = threads_of_block(entry);
  if (threads < 2 || thread_loop_markers(entry).empty() || entry.getInstructionCount() > kMostInstructions) return nullptr;
  llvm::ValueToValueMapTy map;
  llvm::Function* const known = llvm::CloneFunction(&entry, map);
  name_block_size(*known, threads);
  if (!can_join_blocks(*known)) {
    known->eraseFromParent();
    return nullptr;
  }
  choose_by_block_size(entry, *known, threads);
  return known;
}

}  // namespace damo::clang_plugin
