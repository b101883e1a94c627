#include "regions.hpp"

#include <llvm/Analysis/IteratedDominanceFrontier.h>

#include <algorithm>

namespace damo::clang_plugin {

Regions::Regions(ThreadProgram& program, const Uniformity& uniformity) : program_(program), uniformity_(uniformity), dominators_(program.function) {
  choose_leaders();
  grow();
  find_exits();
  for (const auto& region : all) find_dispersal(*region);
  mark_partial();
  for (const auto& region : all) {
    loses_threads |= region->loses || region->disperses;
    disperses |= region->disperses;
    for (const llvm::BasicBlock* block : region->blocks) {
      const bool ends = !program_.is_tail(block) && llvm::any_of(llvm::successors(block), [&](const llvm::BasicBlock* to) { return program_.is_tail(to); });
      const bool loses = ends || region->disperses;
      loses_rows &= !loses || !uniformity_.parts_row(block, false);
      loses_warps &= !loses || !uniformity_.parts_row(block, true);
    }
  }
  for (const auto& region : all) region->is_of_block = is_of_block(*region);
  number();
}

Region* Regions::of(const llvm::BasicBlock* block) const {
  const auto found = region_of_.find(block);
  return found == region_of_.end() ? nullptr : found->second;
}

void Regions::choose_leaders() {
  std::set<const llvm::BasicBlock*> waiting;
  leaders_.insert(program_.begin);
  for (const Wait& wait : program_.waits) {
    waiting.insert(wait.call->getParent());
    leaders_.insert(wait.after);
  }
  llvm::LoopInfo loops(dominators_);
  for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
    if (std::none_of(loop->block_begin(), loop->block_end(), [&](llvm::BasicBlock* block) { return waiting.count(block); })) continue;
    leaders_.insert(loop->getHeader());
    llvm::SmallVector<llvm::BasicBlock*> exits;
    loop->getExitBlocks(exits);
    leaders_.insert(exits.begin(), exits.end());
  }
  // A branch that all threads take alike and that decides about waits is the block's own.
  for (llvm::BasicBlock* block : program_.order) {
    if (block->getTerminator()->getNumSuccessors() < 2 || program_.is_tail(block) || uniformity_.parts(block)) continue;
    const std::vector<llvm::BasicBlock*>& between = program_.decided_by(block);
    bool decides = std::any_of(between.begin(), between.end(), [&](llvm::BasicBlock* at) { return waiting.count(at); });
    for (llvm::BasicBlock* to : llvm::successors(block)) decides |= program_.is_tail(to);
    if (decides) leaders_.insert(llvm::succ_begin(block), llvm::succ_end(block));
  }
  leaders_.erase(program_.finish);
}

/// A block belongs to the region that all ways to it come from; if they come from several it begins its own.
void Regions::grow() {
  llvm::ForwardIDFCalculator frontier(dominators_);
  const llvm::SmallPtrSet<llvm::BasicBlock*, 16> known(leaders_.begin(), leaders_.end());
  llvm::SmallVector<llvm::BasicBlock*> meetings;
  frontier.setDefiningBlocks(known);
  frontier.calculate(meetings);
  leaders_.insert(meetings.begin(), meetings.end());
  leaders_.erase(program_.finish);
  std::map<const llvm::BasicBlock*, llvm::BasicBlock*> leader_of;
  for (llvm::BasicBlock* block : program_.order) {
    leader_of[block] = leaders_.count(block) ? block : leader_of.at(dominators_.getNode(block)->getIDom()->getBlock());
  }
  std::map<llvm::BasicBlock*, Region*> by_leader;
  for (llvm::BasicBlock* block : program_.order) {
    Region*& region = by_leader[leader_of.at(block)];
    if (!region) {
      all.push_back(std::make_unique<Region>());
      region = all.back().get();
      region->leader = block;
      region->is_tail = program_.is_tail(block);
    }
    region->blocks.push_back(block);
    region_of_[block] = region;
  }
  entry = region_of_.at(program_.begin);
}

void Regions::find_exits() {
  for (const auto& region : all) {
    for (llvm::BasicBlock* block : region->blocks) {
      llvm::Instruction* end = block->getTerminator();
      for (unsigned i = 0; i < end->getNumSuccessors(); ++i) {
        llvm::BasicBlock* to = end->getSuccessor(i);
        if (to != program_.finish && !leaders_.count(to)) continue;
        region->exits.push_back({block, i, of(to), program_.wait_at(block)});
      }
    }
  }
}

/// Do all threads leave region on one way, and is it known what they wait for?
void Regions::find_dispersal(Region& region) {
  std::set<Region*> onward, tails;
  for (const Exit& exit : region.exits) {
    if (exit.to) (exit.to->is_tail && !exit.wait ? tails : onward).insert(exit.to);
    if (exit.wait && !exit.wait->is_common()) region.disperses = true;
  }
  if (region.is_tail) {
    const bool returns = std::any_of(region.exits.begin(), region.exits.end(), [](const Exit& exit) { return !exit.to; });
    if (tails.size() + returns > 1) region.disperses = true;
    return;
  }
  for (llvm::BasicBlock* block : region.blocks) {
    if (program_.is_tail(block) || !uniformity_.parts(block)) continue;
    for (llvm::BasicBlock* to : llvm::successors(block)) region.loses |= program_.is_tail(to);
    const std::vector<llvm::BasicBlock*>& between = program_.decided_by(block);
    for (llvm::BasicBlock* at : between) region.disperses |= of(at) != &region || at == region.leader;  // to its leader a way leads from outside
    if (!between.empty() && !program_.meeting_of(block) && region.exits.size() > 1) region.disperses = true;
  }
  if (region.loses && !tails.empty()) region.disperses = true;
}

bool Regions::waits_for_block(const Region& region) {
  return std::any_of(region.exits.begin(), region.exits.end(), [](const Exit& exit) { return exit.wait && !exit.wait->is_warp_operation(); });
}

/// Where threads have gone different ways, regions are run by some of them, until the ways meet again.
void Regions::mark_partial() {
  std::vector<std::vector<int>> next(all.size());
  std::map<const Region*, int> place;
  for (size_t i = 0; i < all.size(); ++i) place[all[i].get()] = static_cast<int>(i);
  for (size_t i = 0; i < all.size(); ++i) {
    for (const Exit& exit : all[i]->exits) {
      if (exit.to && !exit.to->is_tail) next[i].push_back(place.at(exit.to));
    }
  }
  const FlowGraph graph(std::move(next));
  for (int i = 0; i < graph.end(); ++i) {
    if (!all[i]->disperses || all[i]->is_tail) continue;
    std::vector<int> apart = graph.between(i, graph.meeting(i));
    // Threads that wait for the whole block while others are elsewhere: where these are, they too may have to go on.
    bool waits = waits_for_block(*all[i]);
    for (int region : apart) waits |= waits_for_block(*all[region]);
    if (waits) apart = graph.between(i, graph.end());
    for (int region : apart) all[region]->is_partial = true;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& region : all) {
      region->disperses |= region->is_partial;
      if (!region->disperses) continue;
      for (const Exit& exit : region->exits) {
        if (exit.to && exit.to->is_tail && !exit.to->is_partial) changed = exit.to->is_partial = true;
      }
    }
  }
}

void Regions::find_guards(const std::set<const llvm::BasicBlock*>& final) {
  const bool is_asked = llvm::any_of(program_.waits, [](const Wait& wait) { return wait.is_warp_operation() && !wait.only_orders(); });  // who is there
  if (disperses || !loses_threads || is_asked) return;
  // Counts rounds: threads that have returned may do it, too.
  const auto is_unnoticed = [&](const Region& region) {
    return llvm::none_of(region.blocks, [&](const llvm::BasicBlock* block) {
      return uniformity_.parts(block) || llvm::any_of(*block, [](const llvm::Instruction& instruction) { return instruction.mayHaveSideEffects(); });
    });
  };
  std::vector<Guard> found;
  for (const auto& region : all) {
    for (llvm::BasicBlock* block : region->blocks) {
      const auto* const branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
      const bool loses = !program_.is_tail(block) && uniformity_.parts(block) && llvm::any_of(llvm::successors(block), [&](llvm::BasicBlock* to) { return program_.is_tail(to); });
      if (!loses) continue;
      const bool is_final = final.count(block) || !repeats(*region);
      const auto follows = [&](const Region* other) { return !other || other == region.get() || dominators_.dominates(block, other->leader) || is_unnoticed(*other); };
      if (!is_final || !branch || !llvm::all_of(behind(*region), follows)) return;
      found.push_back({block, branch->getCondition(), !program_.is_tail(branch->getSuccessor(0))});
    }
  }
  guards = std::move(found);
  loses_threads = false;
  for (const auto& region : all) region->loses = false;
}

std::vector<const Guard*> Regions::guards_of(const Region& region) const {
  std::vector<const Guard*> passed;
  for (const Guard& guard : guards) {
    if (of(guard.block) != &region && dominators_.dominates(guard.block, region.leader)) passed.push_back(&guard);
  }
  return passed;
}

bool Regions::is_leader_phi(const llvm::Instruction& instruction) const {
  const Region* const home = of(instruction.getParent());
  return llvm::isa<llvm::PHINode>(instruction) && home && home->leader == instruction.getParent();
}

bool Regions::is_single(const llvm::Instruction& instruction) const {
  if (uniformity_.differs(&instruction) || of(instruction.getParent())->is_partial) return false;
  const auto comes_one_by_one = [&](const llvm::BasicBlock* from) { return of(from) && of(from)->disperses; };
  return !is_leader_phi(instruction) || llvm::none_of(llvm::cast<llvm::PHINode>(instruction).blocks(), comes_one_by_one);
}

bool Regions::is_of_block(const Region& region) const {
  if (region.disperses || region.is_partial || region.loses) return false;
  // What each thread has by itself is known of those alone that have not returned.
  const auto has_block = [&](const llvm::Value* value) {
    const auto* const instruction = llvm::dyn_cast<llvm::Instruction>(value);
    const Region* const home = instruction ? of(instruction->getParent()) : nullptr;
    return !home || (home == &region && !is_leader_phi(*instruction)) || is_single(*instruction);
  };
  for (const llvm::BasicBlock* block : region.blocks) {
    for (const llvm::Instruction& instruction : *block) {
      if (is_leader_phi(instruction)) continue;
      if (uniformity_.differs(&instruction) || instruction.mayHaveSideEffects() || !llvm::all_of(instruction.operands(), has_block)) return false;
    }
  }
  return llvm::none_of(region.exits, [&](const Exit& exit) {
    const auto is_of_thread = [&](const llvm::PHINode& phi) { return !is_single(phi) || !has_block(phi.getIncomingValueForBlock(exit.from)); };
    return exit.to && (exit.to->is_partial || llvm::any_of(exit.to->leader->phis(), is_of_thread));  // each thread says that it goes there, and with what
  });
}

void Regions::number() {
  const auto partial_end = std::stable_partition(all.begin(), all.end(), [](const auto& region) { return region->is_partial; });
  first_whole = static_cast<int>(partial_end - all.begin());
  for (size_t i = 0; i < all.size(); ++i) all[i]->number = static_cast<int>(i);
}

llvm::SetVector<const Region*> Regions::behind(const Region& region) const {
  llvm::SetVector<const Region*> found;
  const auto go_on = [&](const Region& from) {
    for (const Exit& exit : from.exits) found.insert(exit.to);
  };
  go_on(region);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i]) go_on(*found[i]);
  }
  return found;
}

}  // namespace damo::clang_plugin
