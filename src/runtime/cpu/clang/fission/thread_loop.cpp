#include "thread_loop.hpp"

#include "../markers.hpp"

namespace damo::clang_plugin {

ThreadMemory::ThreadMemory(ThreadProgram& program) : program_(program) {
  llvm::IRBuilder<> builder(program.prologue->getTerminator());
  llvm::Module& module = *program.function.getParent();
  count = builder.getInt64(1);
  for (int axis = 0; axis < 3; ++axis) {
    block_size[axis] = call_marker(builder, kBlockSize, axis);
    count = builder.CreateMul(count, builder.CreateZExt(block_size[axis], builder.getInt64Ty()), "", true, true);
  }
  padded_ = builder.CreateAnd(builder.CreateAdd(count, builder.getInt64(63), "", true, true), builder.getInt64(~63ul), "padded");
  memory_ = builder.CreateCall(module.getOrInsertFunction("damo_block_memory", builder.getPtrTy(), builder.getInt64Ty()), {padded_}, "memory");
  memory_->addRetAttr(llvm::Attribute::NoAlias);
  memory_->addRetAttr(llvm::Attribute::getWithAlignment(module.getContext(), llvm::Align(64)));
  memory_->addFnAttr(llvm::Attribute::NoUnwind);
}

llvm::Value* ThreadMemory::array(unsigned long bytes) {
  llvm::IRBuilder<> builder(program_.prologue->getTerminator());
  llvm::Value* offset = builder.CreateMul(padded_, builder.getInt64(bytes_), "", true, true);
  bytes_ += bytes;
  return builder.CreateInBoundsGEP(builder.getInt8Ty(), memory_, offset);
}

void ThreadMemory::finish() {
  if (bytes_ == 0) {
    memory_->eraseFromParent();
    return;
  }
  llvm::IRBuilder<> builder(memory_);
  memory_->setArgOperand(0, builder.CreateMul(padded_, builder.getInt64(bytes_), "", true, true));
}

llvm::AllocaInst* ThreadMemory::variable(llvm::Type* type) {
  llvm::IRBuilder<> builder(program_.prologue, program_.prologue->begin());
  llvm::AllocaInst* const made = builder.CreateAlloca(type);
  variables_.insert(made);
  return made;
}

ThreadLoop make_thread_loop(ThreadProgram& program, const ThreadMemory& memory, Region& region) {
  llvm::LLVMContext& context = program.function.getContext();
  const auto block = [&](const char* name) { return llvm::BasicBlock::Create(context, name, &program.function, region.leader); };
  ThreadLoop loop;
  loop.begin = block("region");
  llvm::BasicBlock* heads[3] = {};
  heads[2] = block("z"), heads[1] = block("y"), heads[0] = loop.choose = block("x");
  loop.top = block("thread");
  llvm::IRBuilder<> builder(loop.begin);
  builder.CreateBr(heads[2]);
  llvm::Value* linear = builder.getInt64(0);
  llvm::PHINode* index[3];
  for (int axis = 2; axis >= 0; --axis) {
    builder.SetInsertPoint(heads[axis]);
    loop.index[axis] = index[axis] = builder.CreatePHI(builder.getInt32Ty(), 2);
    index[axis]->addIncoming(builder.getInt32(0), axis == 2 ? loop.begin : heads[axis + 1]);
    linear = builder.CreateMul(linear, builder.CreateZExt(memory.block_size[axis], builder.getInt64Ty()), "", true, true);
    linear = builder.CreateAdd(linear, builder.CreateZExt(index[axis], builder.getInt64Ty()), "", true, true);
    builder.CreateBr(axis > 0 ? heads[axis - 1] : loop.top);
  }
  loop.thread = linear;
  builder.SetInsertPoint(loop.top);
  builder.CreateBr(region.leader);
  loop.latch = llvm::BasicBlock::Create(context, "next.x", &program.function);
  llvm::BasicBlock* latches[3] = {loop.latch, llvm::BasicBlock::Create(context, "next.y", &program.function),
                                  llvm::BasicBlock::Create(context, "next.z", &program.function)};
  for (int axis = 1; axis < 3; ++axis) loop.outer_latches[axis - 1] = latches[axis];
  loop.end = llvm::BasicBlock::Create(context, "region.end", &program.function);
  for (int axis = 0; axis < 3; ++axis) {
    builder.SetInsertPoint(latches[axis]);
    llvm::Value* next = builder.CreateAdd(index[axis], builder.getInt32(1), "", true, true);
    index[axis]->addIncoming(next, latches[axis]);
    builder.CreateCondBr(builder.CreateICmpULT(next, memory.block_size[axis]), heads[axis], axis < 2 ? latches[axis + 1] : loop.end);
  }
  return loop;
}

}  // namespace damo::clang_plugin
