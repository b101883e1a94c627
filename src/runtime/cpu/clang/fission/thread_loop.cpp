#include "thread_loop.hpp"

#include "../markers.hpp"
#include "../row_loops.hpp"

namespace damo::clang_plugin {

ThreadMemory::ThreadMemory(ThreadProgram& program, bool of_row) : program_(program) {
  llvm::IRBuilder<> builder(program.prologue->getTerminator());
  llvm::Module& module = *program.function.getParent();
  count = builder.getInt64(1);
  for (int axis = 0; axis < 3; ++axis) {
    // In place of a thread's index kernel.blocks says how many there are along x, and which row it is.
    llvm::Value* const told = builder.CreateLoad(builder.getInt32Ty(), builder.CreateConstInBoundsGEP1_32(builder.getInt32Ty(), program.function.getArg(1), axis));
    size[axis] = axis == 0 ? told : of_row ? builder.getInt32(1) : call_marker(builder, kBlockSize, axis);
    if (axis > 0 && of_row) row[axis] = told;
    count = builder.CreateMul(count, builder.CreateZExt(size[axis], builder.getInt64Ty()), "", true, true);
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
  llvm::AllocaInst* const made = builder.CreateAlloca(type, nullptr, kBlockVariable);
  variables_.insert(made);
  return made;
}

ThreadLoop make_thread_loop(ThreadProgram& program, const ThreadMemory& memory, Region& region) {
  llvm::LLVMContext& context = program.function.getContext();
  const auto block = [&](const char* name) { return llvm::BasicBlock::Create(context, name, &program.function, region.leader); };
  ThreadLoop loop;
  loop.begin = block("region");
  llvm::BasicBlock *heads[3] = {}, *latches[3] = {};
  heads[2] = block("z"), heads[1] = block("y"), heads[0] = loop.header = block("x");
  loop.choose = block("choose");
  loop.top = block("thread");
  for (int axis = 0; axis < 3; ++axis) latches[axis] = llvm::BasicBlock::Create(context, "next", &program.function);
  loop.end = llvm::BasicBlock::Create(context, "region.end", &program.function);
  llvm::IRBuilder<> builder(loop.begin);
  builder.CreateBr(heads[2]);
  llvm::Value* linear = builder.getInt64(0);
  llvm::PHINode* index[3];
  for (int axis = 2; axis >= 0; --axis) {
    builder.SetInsertPoint(heads[axis]);
    loop.index[axis] = index[axis] = builder.CreatePHI(builder.getInt32Ty(), 2);
    index[axis]->addIncoming(builder.getInt32(0), axis == 2 ? loop.begin : heads[axis + 1]);
    if (axis > 0) builder.CreateBr(heads[axis - 1]);
    else builder.CreateCondBr(builder.CreateICmpULT(index[0], memory.size[0]), loop.choose, latches[1]);
    builder.SetInsertPoint(heads[axis]->getTerminator());
    linear = builder.CreateMul(linear, builder.CreateZExt(memory.size[axis], builder.getInt64Ty()), "", true, true);
    linear = builder.CreateAdd(linear, builder.CreateZExt(index[axis], builder.getInt64Ty()), "", true, true);
  }
  loop.thread = linear;
  loop.row = heads[1];
  for (int axis : {1, 2}) loop.index[axis] = memory.row[axis] ? memory.row[axis] : index[axis];
  builder.SetInsertPoint(loop.choose);
  builder.CreateBr(loop.top);
  builder.SetInsertPoint(loop.top);
  call_thread_loop(builder, loop.index[1], loop.index[2]);
  for (int i = 0; i < 2; ++i) loop.place[i] = call_marker(builder, kPlace, i);
  loop.place[2] = builder.CreateTrunc(linear, builder.getInt32Ty());
  builder.CreateBr(region.leader);
  loop.latch = latches[0];
  loop.outer_latches = {latches[1], latches[2]};
  for (int axis = 0; axis < 3; ++axis) {
    builder.SetInsertPoint(latches[axis]);
    llvm::Value* next = builder.CreateAdd(index[axis], builder.getInt32(1), "", true, true);
    index[axis]->addIncoming(next, latches[axis]);
    if (axis == 0) builder.CreateBr(loop.header);
    else builder.CreateCondBr(builder.CreateICmpULT(next, memory.size[axis]), heads[axis], axis == 1 ? latches[2] : loop.end);
  }
  return loop;
}

namespace {

/// The number, from origin, of the row's first thread.
llvm::Value* begin_of_row(llvm::IRBuilder<>& builder, const ThreadLoop& loop, const ThreadMemory& memory, Origin origin) {
  if (origin == Origin::kRow) return builder.getInt32(0);
  llvm::Value* row = loop.index[1];
  if (origin == Origin::kBlock) row = builder.CreateAdd(builder.CreateMul(loop.index[2], memory.size[1], "", true, true), row, "", true, true);
  return builder.CreateMul(row, memory.size[0], "", true, true);
}

/// The comparison that ends the innermost loop.
llvm::ICmpInst& end_of_row(const ThreadLoop& loop) {
  return *llvm::cast<llvm::ICmpInst>(llvm::cast<llvm::BranchInst>(loop.header->getTerminator())->getCondition());
}

/// What value, a phi of the innermost loop or the thread's number, is in the first round.
llvm::Value* first_of(llvm::IRBuilder<>& builder, const ThreadLoop& loop, const ThreadMemory& memory, llvm::Value* value) {
  if (auto* phi = llvm::dyn_cast<llvm::PHINode>(value)) return phi->getIncomingValueForBlock(loop.row);
  return builder.CreateAdd(begin_of_row(builder, loop, memory, Origin::kBlock), first_of(builder, loop, memory, loop.index[0]), "", true, true);
}

/// Puts a loop over the warps of a row around the one over its threads. Gives the warp's number.
llvm::Value* run_in_warps(ThreadLoop& loop, const ThreadMemory& memory, Origin origin) {
  llvm::LLVMContext& context = loop.row->getContext();
  llvm::Function* const function = loop.row->getParent();
  auto *const head = llvm::BasicBlock::Create(context, "warp", function, loop.header), *const latch = llvm::BasicBlock::Create(context, "next.warp", function);
  llvm::Instruction& test = *loop.header->getTerminator();
  llvm::ICmpInst& inside = end_of_row(loop);
  llvm::IRBuilder<> builder(loop.row->getTerminator());
  llvm::Value* const begin = begin_of_row(builder, loop, memory, origin);
  builder.SetInsertPoint(head);
  llvm::PHINode* const first = builder.CreatePHI(builder.getInt32Ty(), 2);
  llvm::Value* const number = builder.CreateAdd(begin, first, "", true, true);
  llvm::Value* const first_lane = builder.CreateAnd(number, 31);
  llvm::Value* const left = builder.CreateSub(memory.size[0], first, "", true, true);
  llvm::Value* const length = builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, builder.CreateSub(builder.getInt32(32), first_lane, "", true, true), left);
  llvm::Value* const end = builder.CreateAdd(first, length, "", true, true);
  llvm::Value* const warp = builder.CreateLShr(number, 5);
  builder.CreateBr(loop.header);
  builder.SetInsertPoint(latch);
  builder.CreateCondBr(builder.CreateICmpULT(end, memory.size[0]), head, test.getSuccessor(1));
  first->addIncoming(builder.getInt32(0), loop.row);
  first->addIncoming(end, latch);
  loop.row->getTerminator()->setSuccessor(0, head);
  inside.setOperand(1, end);
  test.setSuccessor(1, latch);
  auto* const x = llvm::cast<llvm::PHINode>(loop.index[0]);
  x->setIncomingValueForBlock(loop.row, first);
  x->replaceIncomingBlockWith(loop.row, head);
  loop.row = head;
  loop.outer_latches.push_back(latch);
  builder.SetInsertPoint(x->getNextNode());
  llvm::PHINode* const lane = builder.CreatePHI(builder.getInt32Ty(), 2);
  lane->addIncoming(first_lane, head);
  builder.SetInsertPoint(loop.latch->getTerminator());
  lane->addIncoming(builder.CreateAdd(lane, builder.getInt32(1), "", true, true), loop.latch);
  loop.place[0]->replaceAllUsesWith(lane);
  loop.place[0] = lane;
  return warp;
}

}  // namespace

llvm::Value* first_thread(llvm::IRBuilder<>& builder, const ThreadLoop& loop, const ThreadMemory& memory) {
  return builder.CreateZExt(first_of(builder, loop, memory, loop.place[2]), builder.getInt64Ty());
}

void run_row_if(const ThreadLoop& loop, llvm::Value* condition) {
  auto* const go = llvm::cast<llvm::BranchInst>(loop.row->getTerminator());
  llvm::IRBuilder<> builder(go);
  if (go->isConditional()) return go->setCondition(builder.CreateAnd(go->getCondition(), condition));
  builder.CreateCondBr(condition, loop.header, loop.header->getTerminator()->getSuccessor(1));
  go->eraseFromParent();
}

void run_once(const ThreadLoop& loop) {
  end_of_row(loop).setOperand(1, llvm::ConstantInt::get(loop.index[0]->getType(), 1));
  for (llvm::BasicBlock* latch : loop.outer_latches) llvm::cast<llvm::BranchInst>(latch->getTerminator())->setCondition(llvm::ConstantInt::getFalse(latch->getContext()));
}

bool asks_for_warps(const ThreadLoop& loop) { return !loop.place[0]->use_empty() || !loop.place[1]->use_empty(); }

void place_threads(ThreadLoop& loop, const ThreadMemory& memory, Origin origin, bool in_warps) {
  auto *const lane = llvm::cast<llvm::Instruction>(loop.place[0]), *const warp = llvm::cast<llvm::Instruction>(loop.place[1]);
  if (in_warps) {
    warp->replaceAllUsesWith(run_in_warps(loop, memory, origin));
  } else if (asks_for_warps(loop)) {
    llvm::IRBuilder<> builder(lane);
    llvm::Value* const number = builder.CreateAdd(begin_of_row(builder, loop, memory, origin), loop.index[0], "", true, true);
    lane->replaceAllUsesWith(builder.CreateAnd(number, 31));
    warp->replaceAllUsesWith(builder.CreateLShr(number, 5));
  }
  lane->eraseFromParent();
  warp->eraseFromParent();
}

void end_rows(ThreadLoop& loop, const ThreadMemory& memory, llvm::ICmpInst& takes_part) {
  llvm::IRBuilder<> builder(loop.row->getTerminator());
  llvm::ICmpInst& inside = end_of_row(loop);
  llvm::Value* const left = builder.CreateSub(takes_part.getOperand(1), first_of(builder, loop, memory, takes_part.getOperand(0)), "", false, true);
  llvm::Value* const first = first_of(builder, loop, memory, loop.index[0]);
  llvm::Value* const length = builder.CreateSub(inside.getOperand(1), first, "", true, true);
  inside.setOperand(1, builder.CreateAdd(first, builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, length, left), "", true, true));
  run_row_if(loop, builder.CreateICmpSGT(left, builder.getInt32(0)));
  takes_part.replaceAllUsesWith(builder.getTrue());
}

}  // namespace damo::clang_plugin
