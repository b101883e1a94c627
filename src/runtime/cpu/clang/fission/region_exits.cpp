#include "region_exits.hpp"

#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "../thread_function.hpp"
#include "runtime/cpu/block_regions.hpp"

namespace damo::clang_plugin {
namespace {

constexpr unsigned kWaiting = cpu_backend::kWaitingRegion, kReturned = cpu_backend::kReturned;

bool stays_in_lanes(const Wait& wait) { return wait.is_warp_operation() && !wait.only_orders(); }

/// All threads of the warp take part: it says so, or it asks which do.
bool has_full_mask(const Wait& wait) {
  const auto* mask = llvm::dyn_cast<llvm::ConstantInt>(wait.call->getArgOperand(1));
  return wait.kind == WaitKind::kActiveMask || (mask && mask->isMinusOne());
}

}  // namespace

RegionExits::RegionExits(ThreadProgram& program, Regions& regions, ThreadMemory& memory, std::map<Region*, ThreadLoop>& loops)
    : program_(program), regions_(regions), memory_(memory), loops_(loops) {
  bool any_slow = false, any_lanes = false;
  for (const Wait& wait : program.waits) {
    const bool slow = regions.of(wait.call->getParent())->disperses;
    any_slow |= slow;
    any_lanes |= !slow && stays_in_lanes(wait);
  }
  if (regions.loses_threads) next_ = memory.array(4);
  if (any_slow) kinds_ = memory.array(4);
  if (any_slow || any_lanes) values_ = memory.array(8), operands_ = memory.array(4), masks_ = memory.array(4);
}

llvm::Value* RegionExits::element(llvm::IRBuilder<>& builder, llvm::Value* array, llvm::Type* type, const ThreadLoop& loop) const {
  return builder.CreateInBoundsGEP(type, array, loop.thread);
}

void RegionExits::place_result(const Wait& wait) {
  const bool slow = regions_.of(wait.call->getParent())->disperses;
  llvm::Type* const wide = llvm::Type::getInt64Ty(wait.call->getContext());
  if (!wait.result) return;
  const ThreadLoop& loop = loops_.at(regions_.of(wait.after));
  llvm::IRBuilder<> builder(loop.top->getTerminator());
  if (slow || stays_in_lanes(wait)) {
    wait.result->setOperand(0, element(builder, values_, wide, loop));
  } else {
    wait.result->replaceAllUsesWith(llvm::ConstantInt::get(wide, 0));
    wait.result->eraseFromParent();
  }
}

void RegionExits::connect(const RegionValues& values) {
  llvm::LLVMContext& context = program_.function.getContext();
  if (regions_.disperses) dispatch_ = llvm::BasicBlock::Create(context, "dispatch", &program_.function);
  for (const auto& region : regions_.all) connect_region(*region, values);
  for (const Wait& wait : program_.waits) wait.call->eraseFromParent();
  llvm::IRBuilder<> builder(program_.prologue->getTerminator());
  if (next_) builder.CreateMemSet(next_, builder.getInt8(0), builder.CreateMul(memory_.count, builder.getInt64(4)), llvm::Align(64));
  program_.prologue->getTerminator()->setSuccessor(0, loops_.at(regions_.entry).begin);
  if (dispatch_) dispatch();
}

void RegionExits::connect_region(Region& region, const RegionValues& values) {
  const ThreadLoop& loop = loops_.at(&region);
  llvm::IRBuilder<> builder(program_.function.getContext());
  std::vector<llvm::BasicBlock*> arcs;
  bool returns = false;
  for (const Exit& exit : region.exits) {
    returns |= !exit.to;
    if (exit.to && !region.disperses) arcs.push_back(make_arc(exit));
  }
  llvm::Value* chosen = nullptr;
  if (arcs.size() + returns > 1) {
    chosen = memory_.variable(builder.getInt32Ty());
    builder.SetInsertPoint(loop.begin->getTerminator());
    builder.CreateStore(builder.getInt32(0), chosen);
  }
  unsigned number = 0;
  for (const Exit& exit : region.exits) {
    if (exit.to && !region.disperses) ++number;
    leave_loop(region, exit, number, chosen, values);
  }
  builder.SetInsertPoint(loop.end);
  if (region.disperses) {
    builder.CreateBr(dispatch_);
  } else if (!chosen) {
    builder.CreateBr(arcs.empty() ? program_.finish : arcs[0]);
  } else {
    llvm::SwitchInst* choice = builder.CreateSwitch(builder.CreateLoad(builder.getInt32Ty(), chosen), program_.finish);
    for (size_t i = 0; i < arcs.size(); ++i) choice->addCase(builder.getInt32(static_cast<unsigned>(i + 1)), arcs[i]);
  }
}

/// The thread's part of leaving.
void RegionExits::leave_loop(Region& region, const Exit& exit, unsigned arc, llvm::Value* chosen, const RegionValues& values) {
  const ThreadLoop& loop = loops_.at(&region);
  auto* leave = llvm::BasicBlock::Create(program_.function.getContext(), "leave", &program_.function, loop.latch);
  regions_.adopt(leave, region);
  region.blocks.push_back(leave);
  llvm::IRBuilder<> builder(leave);
  llvm::IRBuilder<> end(loop.end);
  for (const PhiStore& store : values.stores_on(exit)) {
    const bool is_of_block = region.exits.size() == 1 && values.is_known_before(region, store);
    values.store(is_of_block ? end : builder, loop, store.phi, store.value);
  }
  unsigned next = exit.to ? static_cast<unsigned>(exit.to->number) : kReturned;
  if (exit.wait) note_wait(builder, loop, region, *exit.wait);
  if (exit.wait && region.disperses) next |= kWaiting;
  const bool notes = region.disperses || (!exit.to && region.loses) || (exit.to && exit.to->is_partial);
  if (notes) builder.CreateStore(builder.getInt32(next), element(builder, next_, builder.getInt32Ty(), loop));
  if (chosen && exit.to) builder.CreateStore(builder.getInt32(arc), chosen);
  builder.CreateBr(loop.latch);
  exit.from->getTerminator()->setSuccessor(exit.successor, leave);
}

void RegionExits::note_wait(llvm::IRBuilder<>& builder, const ThreadLoop& loop, const Region& region, const Wait& wait) {
  if (region.disperses) {
    llvm::Value* const arrays[] = {kinds_, masks_, values_, operands_};
    for (unsigned i = 0; i < 4; ++i) builder.CreateStore(wait.call->getArgOperand(i), element(builder, arrays[i], wait.call->getArgOperand(i)->getType(), loop));
  } else if (stays_in_lanes(wait)) {
    builder.CreateStore(wait.call->getArgOperand(2), element(builder, values_, builder.getInt64Ty(), loop));
    if (!has_full_mask(wait)) builder.CreateStore(wait.call->getArgOperand(1), element(builder, masks_, builder.getInt32Ty(), loop));
    if (wait.kind == WaitKind::kShuffle) builder.CreateStore(wait.call->getArgOperand(3), element(builder, operands_, builder.getInt32Ty(), loop));
  }
}

/// The block's part of leaving.
llvm::BasicBlock* RegionExits::make_arc(const Exit& exit) {
  auto* arc = llvm::BasicBlock::Create(program_.function.getContext(), "next", &program_.function);
  llvm::IRBuilder<> builder(arc);
  if (exit.wait && stays_in_lanes(*exit.wait)) end_wait(builder, *exit.wait);
  builder.CreateBr(loops_.at(exit.to).begin);
  return arc;
}

void RegionExits::end_wait(llvm::IRBuilder<>& builder, const Wait& wait) {
  llvm::Type *const pointer = builder.getPtrTy(), *const number = builder.getInt32Ty();
  const auto operation = program_.function.getParent()->getOrInsertFunction("damo_warp_operation", builder.getVoidTy(), number, pointer, pointer, pointer,
                                                                            pointer, builder.getInt64Ty());
  llvm::Value* const null = llvm::ConstantPointerNull::get(builder.getPtrTy());
  llvm::Value* const masks = has_full_mask(wait) ? null : masks_;
  builder.CreateCall(operation, {builder.getInt32(static_cast<unsigned>(wait.kind)), values_, operands_, masks, next_ ? next_ : null, memory_.count});
}

void RegionExits::admit(Region& region, bool by_row) {
  if (!next_) return;
  const ThreadLoop& loop = loops_.at(&region);
  llvm::Instruction* const go = (by_row ? loop.row : loop.choose)->getTerminator();
  llvm::IRBuilder<> builder(go);
  llvm::Value* const thread = by_row ? first_thread(builder, loop, memory_) : loop.thread;
  llvm::Value* const next = builder.CreateLoad(builder.getInt32Ty(), builder.CreateInBoundsGEP(builder.getInt32Ty(), next_, thread));
  llvm::Value* takes_part = region.is_partial ? builder.CreateICmpEQ(next, builder.getInt32(static_cast<unsigned>(region.number)))
                                              : builder.CreateICmpNE(next, builder.getInt32(kReturned));
  if (by_row) return run_row_if(loop, takes_part);
  builder.CreateCondBr(takes_part, loop.top, loop.latch);
  go->eraseFromParent();
}

void RegionExits::guard(const ThreadLoop& loop, const RegionValues::Conditions& conditions) {
  llvm::BasicBlock* block = loop.top;
  for (const auto& [condition, goes_on_if_true] : conditions) {
    llvm::BasicBlock* const inside = block->splitBasicBlock(block->getTerminator(), "inside");
    llvm::BasicBlock *const yes = goes_on_if_true ? inside : loop.latch, *const no = goes_on_if_true ? loop.latch : inside;
    llvm::ReplaceInstWithInst(block->getTerminator(), llvm::BranchInst::Create(yes, no, condition));
    block = inside;
  }
}

void RegionExits::dispatch() {
  llvm::IRBuilder<> builder(dispatch_);
  llvm::Type *pointer = builder.getPtrTy(), *number = builder.getInt32Ty();
  const auto choose = program_.function.getParent()->getOrInsertFunction("damo_next_region", number, pointer, pointer, pointer, pointer, pointer, pointer,
                                                                         builder.getInt64Ty(), number);
  std::vector<llvm::Value*> arguments = {program_.function.getArg(1), next_};
  for (llvm::Value* array : {kinds_, masks_, values_, operands_}) arguments.push_back(kinds_ ? array : llvm::ConstantPointerNull::get(builder.getPtrTy()));
  arguments.insert(arguments.end(), {memory_.count, builder.getInt32(static_cast<unsigned>(regions_.first_whole))});
  llvm::Value* next = builder.CreateCall(choose, arguments);
  std::set<Region*> targets;
  for (const auto& region : regions_.all) {
    for (const Exit& exit : region->exits) {
      if (exit.to && region->disperses) targets.insert(exit.to);
    }
  }
  llvm::SwitchInst* choice = builder.CreateSwitch(next, program_.finish);
  for (Region* target : targets) choice->addCase(builder.getInt32(static_cast<unsigned>(target->number)), loops_.at(target).begin);
}

}  // namespace damo::clang_plugin
