#include "lowering_steps.hpp"

#include <llvm/Transforms/Utils/Local.h>

#include <algorithm>

#include "fission/region_exits.hpp"
#include "fission/region_values.hpp"
#include "fission/regions.hpp"
#include "fission/rounds.hpp"
#include "fission/thread_loop.hpp"
#include "fission/thread_program.hpp"
#include "fission/uniformity.hpp"
#include "markers.hpp"
#include "parallel_threads.hpp"
#include "row_loops.hpp"
#include "thread_function.hpp"

namespace damo::clang_plugin {
namespace {

/// Values that no memory can hold, control flow that goes to addresses: not in ordinary kernels.
bool can_split(llvm::Function& function) {
  return std::none_of(llvm::inst_begin(function), llvm::inst_end(function), [](const llvm::Instruction& instruction) {
    const bool strange_end = instruction.isTerminator() && !llvm::isa<llvm::BranchInst, llvm::SwitchInst, llvm::ReturnInst, llvm::UnreachableInst>(instruction);
    const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    return strange_end || instruction.getType()->isTokenTy() || (variable && !variable->isStaticAlloca());
  });
}

/// Says of the loops over region's threads that they are parallel, where that is so, and keeps them from being unrolled, which
/// costs more than it brings.
void describe_loops(const Region& region, const ThreadLoop& loop) {
  llvm::LLVMContext& context = region.leader->getContext();
  llvm::MDNode* const once = llvm::MDNode::get(context, llvm::MDString::get(context, "llvm.loop.unroll.disable"));
  std::vector<llvm::BasicBlock*> blocks = region.blocks;
  blocks.insert(blocks.end(), {loop.choose, loop.top});
  declare_threads_independent(*loop.latch, blocks, once);
  for (llvm::BasicBlock* outer : loop.outer_latches) {
    outer->getTerminator()->setMetadata(llvm::LLVMContext::MD_loop, llvm::makePostTransformationMetadata(context, nullptr, {}, once));
  }
}

/// For functions that could not be inlined and ask where they are.
void tell_thread(llvm::Function& function, const ThreadLoop& loop) {
  llvm::IRBuilder<> builder(&*loop.top->getFirstInsertionPt());
  for (unsigned axis = 0; axis < 3; ++axis) {
    builder.CreateStore(loop.index[axis], builder.CreateConstInBoundsGEP1_32(builder.getInt32Ty(), function.getArg(1), axis));
  }
}

/// Whether a thread that takes no part in a round leaves it with what it came with, and so need not be visited. The count of rounds itself is
/// a value a thread where threads come to the loop one by one, and goes on in all of them.
bool leaves_as_it_came(const Rounds::Loop& loop, const Regions& regions) {
  const llvm::BasicBlock* const end = loop.wait->getParent();
  return llvm::all_of(loop.test->phis(), [&](const llvm::PHINode& phi) {
    const llvm::Value* const next = phi.getIncomingValueForBlock(end);
    const auto* const merged = llvm::dyn_cast<llvm::PHINode>(next);
    const int from = merged && merged->getParent() == end ? merged->getBasicBlockIndex(loop.begin) : -1;
    return regions.is_single(phi) || next == &phi || (from >= 0 && merged->getIncomingValue(static_cast<unsigned>(from)) == &phi);
  });
}

}  // namespace

bool split_at_barriers(llvm::Module& module, const KernelInfo& kernel, bool waits) {
  llvm::Function& thread = *module.getFunction(kernel.thread);
  if (!can_split(thread)) return false;
  const Origin origin = name_places(thread);
  Rounds rounds(thread);
  if (!waits && rounds.all().empty()) return false;
  ThreadProgram program(thread);
  const bool names_places = llvm::any_of(llvm::instructions(thread), [](const llvm::Instruction& marker) { return marker_slot(&marker) >= kPlace * 3; });
  const bool by_rows = rounds.choose(program, !waits && !names_places);
  const Uniformity uniformity(program, by_rows);
  Regions regions(program, uniformity);
  if (!waits && (rounds.all().empty() || regions.disperses)) return false;
  std::set<const llvm::BasicBlock*> final;
  for (const Rounds::Loop& loop : rounds.all()) {
    if (!loop.wait) final.insert(loop.begin);
  }
  regions.find_guards(final);
  std::vector<const Rounds::Loop*> short_rows;  // while the loops' phis are there
  for (const Rounds::Loop& loop : rounds.all()) {
    const Region* const region = loop.begin && loop.wait ? regions.of(loop.begin) : nullptr;
    if (region && !region->disperses && !region->is_partial && leaves_as_it_came(loop, regions)) short_rows.push_back(&loop);
  }
  ThreadMemory memory(program, by_rows);
  std::map<Region*, ThreadLoop> loops;
  for (const auto& region : regions.all) {
    const ThreadLoop& loop = loops[region.get()] = make_thread_loop(program, memory, *region);
    regions.adopt(loop.begin, *region);
    regions.adopt(loop.top, *region);
  }
  RegionExits exits(program, regions, memory, loops);
  for (const Wait& wait : program.waits) exits.place_result(wait);
  RegionValues values(program, regions, memory, loops);
  values.connect();
  exits.connect(values);
  values.erase_phis();
  std::set<Region*> often;
  for (const Rounds::Loop& loop : rounds.all()) {
    if (loop.begin && loop.wait) often.insert({regions.of(loop.test), regions.of(loop.begin)});
  }
  for (const auto& region : regions.all) {  // not by address: the same kernel gives the same code
    ThreadLoop& loop = loops.at(region.get());
    // What rounds consist of is done often; the rest costs more in parts of rows than it gains.
    const bool in_warps = often.count(region.get()) != 0 && (asks_for_warps(loop) || (regions.loses_threads && !regions.loses_rows && regions.loses_warps));
    place_threads(loop, memory, origin, in_warps);
    if (region->is_of_block) {
      run_once(loop);
      continue;
    }
    exits.admit(*region, regions.loses_rows || (in_warps && regions.loses_warps));
    exits.guard(loop, values.guards_in(*region));
  }
  for (const Rounds::Loop* loop : short_rows) end_rows(loops.at(regions.of(loop->begin)), memory, *loop->takes_part);
  split_local_arrays(program, regions, memory, loops);
  answer_by_rows(*module.getFunction(kernel.blocks), by_rows);
  memory.finish();
  const bool is_asked = module.getFunction("damo_current_thread") != nullptr;
  for (const auto& region : regions.all) {
    const ThreadLoop& loop = loops.at(region.get());
    if (is_asked) tell_thread(thread, loop);
    describe_loops(*region, loop);
  }
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(thread))) {
    if (marker_slot(&instruction) >= kPlace * 3) instruction.eraseFromParent();
  }
  llvm::removeUnreachableBlocks(thread);
  bound_threads(thread);
  for (llvm::CallInst* marker : thread_loop_markers(thread)) marker->eraseFromParent();
  thread.setLinkage(llvm::GlobalValue::InternalLinkage);
  thread.addFnAttr(llvm::Attribute::AlwaysInline);
  return true;
}

}  // namespace damo::clang_plugin
