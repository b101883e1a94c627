#include "region_values.hpp"

#include <algorithm>

#include "../markers.hpp"

namespace damo::clang_plugin {
namespace {

constexpr int kRecomputed = 12;  // instructions that cost less than a load and a store of the value, and what hangs on it

/// An i1 takes a byte, for the vectoriser's sake.
llvm::Type* stored_type(llvm::Type* type) { return type->isIntegerTy(1) ? llvm::Type::getInt8Ty(type->getContext()) : type; }

bool is_cheap(const llvm::Instruction& instruction) {
  if (llvm::isa<llvm::CastInst, llvm::GetElementPtrInst, llvm::CmpInst, llvm::SelectInst>(instruction)) return true;
  const auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(&instruction);
  if (!operation) return false;
  if (operation->getOpcode() == llvm::Instruction::FDiv || operation->getOpcode() == llvm::Instruction::FRem) return false;
  return !operation->isIntDivRem() || llvm::isa<llvm::ConstantInt>(operation->getOperand(1));
}

}  // namespace

RegionValues::RegionValues(ThreadProgram& program, Regions& regions, ThreadMemory& memory, std::map<Region*, ThreadLoop>& loops)
    : program_(program), regions_(regions), memory_(memory), loops_(loops) {}

/// Everything is found from the values as they were; only then is anything replaced.
void RegionValues::connect() {
  std::vector<std::pair<llvm::Use*, llvm::Value*>> replacements;
  for (const auto& region : regions_.all) {
    for (llvm::BasicBlock* block : region->blocks) {
      for (llvm::Instruction& instruction : *block) {
        if (regions_.is_leader_phi(instruction)) continue;
        for (llvm::Use& operand : instruction.operands()) replacements.emplace_back(&operand, value_in(*region, operand.get()));
      }
    }
  }
  for (const auto& region : regions_.all) {
    for (const Guard* guard : regions_.guards_of(*region)) guards_[region.get()].emplace_back(value_in(*region, guard->condition), guard->goes_on_if_true);
  }
  for (size_t i = 0; i < slots_.size(); ++i) {
    auto* phi = llvm::dyn_cast<llvm::PHINode>(slots_.begin()[i].first);
    if (phi && regions_.is_leader_phi(*phi)) connect_phi(*phi);
  }
  for (const auto& [use, value] : replacements) use->set(value);
  for (const auto& [instruction, slot] : slots_) {
    if (!regions_.is_leader_phi(*instruction)) store_definition(*instruction);
  }
}

llvm::Value* RegionValues::value_in(Region& region, llvm::Value* value) {
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (!instruction) return value;
  const int slot = marker_slot(value);
  if (is_of_thread(slot)) return loops_.at(&region).value_of(slot);
  const Region* home = regions_.of(instruction->getParent());
  if (!home || (home == &region && !regions_.is_leader_phi(*instruction))) return value;
  llvm::Value*& known = known_[{&region, value}];
  if (known) return known;
  int budget = kRecomputed;
  llvm::Value* found = !regions_.is_single(*instruction) && can_recompute(value, budget) ? recompute(region, *instruction) : load(region, *instruction);
  return known_[{&region, value}] = found;
}

bool RegionValues::can_recompute(const llvm::Value* value, int& budget) const {
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  const int slot = marker_slot(value);
  if (!instruction || slot >= 0 || !regions_.of(instruction->getParent())) return true;
  if (regions_.is_single(*instruction)) return true;
  if (!is_cheap(*instruction) || --budget < 0) return false;
  return std::all_of(instruction->op_begin(), instruction->op_end(), [&](const llvm::Value* operand) { return can_recompute(operand, budget); });
}

llvm::Value* RegionValues::recompute(Region& region, llvm::Instruction& instruction) {
  std::vector<llvm::Value*> operands;
  for (llvm::Value* operand : instruction.operands()) operands.push_back(value_in(region, operand));
  llvm::Instruction* copy = instruction.clone();
  for (unsigned i = 0; i < operands.size(); ++i) copy->setOperand(i, operands[i]);
  copy->insertBefore(loops_.at(&region).top->getTerminator());
  return copy;
}

llvm::Value* RegionValues::load(Region& region, llvm::Instruction& instruction) {
  const Slot place = slot(instruction);
  const ThreadLoop& loop = loops_.at(&region);
  llvm::Type* const type = stored_type(instruction.getType());
  llvm::IRBuilder<> builder((place.is_single ? loop.begin : loop.top)->getTerminator());
  llvm::Value* address = place.is_single ? place.place : builder.CreateInBoundsGEP(type, place.place, loop.thread);
  llvm::Value* value = builder.CreateLoad(type, address);
  return type == instruction.getType() ? value : builder.CreateTrunc(value, instruction.getType());
}

const RegionValues::Slot& RegionValues::slot(llvm::Instruction& instruction) {
  const auto found = slots_.find(&instruction);
  if (found != slots_.end()) return found->second;
  llvm::Type* const type = stored_type(instruction.getType());
  const bool is_one = regions_.is_single(instruction);
  llvm::Value* const place = is_one ? memory_.variable(type) : memory_.array(program_.function.getDataLayout().getTypeAllocSize(type));
  return slots_.insert({&instruction, Slot{place, is_one}}).first->second;
}

void RegionValues::store(llvm::IRBuilder<>& builder, const ThreadLoop& loop, const llvm::Value* variable, llvm::Value* value) const {
  const Slot& slot = slots_.find(const_cast<llvm::Instruction*>(llvm::cast<llvm::Instruction>(variable)))->second;
  llvm::Type* const type = stored_type(value->getType());
  if (type != value->getType()) value = builder.CreateZExt(value, type);
  builder.CreateStore(value, slot.is_single ? slot.place : builder.CreateInBoundsGEP(type, slot.place, loop.thread));
}

bool RegionValues::is_known_before(const Region& region, const PhiStore& store) const {
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(store.value);
  const llvm::BasicBlock* const at = instruction ? instruction->getParent() : nullptr;
  return slots_.find(store.phi)->second.is_single && (!at || !regions_.of(at) || at == loops_.at(const_cast<Region*>(&region)).begin);
}

void RegionValues::store_definition(llvm::Instruction& instruction) {
  llvm::IRBuilder<> builder(llvm::isa<llvm::PHINode>(instruction) ? &*instruction.getParent()->getFirstInsertionPt() : instruction.getNextNode());
  store(builder, loops_.at(regions_.of(instruction.getParent())), &instruction, &instruction);
}

void RegionValues::connect_phi(llvm::PHINode& phi) {
  for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i) {
    llvm::BasicBlock* from = phi.getIncomingBlock(i);
    Region* region = regions_.of(from);
    llvm::Value* value = value_in(*region, phi.getIncomingValue(i));
    for (const Exit& exit : region->exits) {
      if (exit.from == from && from->getTerminator()->getSuccessor(exit.successor) == phi.getParent()) {
        std::vector<PhiStore>& stores = exit_stores_[{from, exit.successor}];
        if (std::none_of(stores.begin(), stores.end(), [&](const PhiStore& s) { return s.phi == &phi; })) stores.push_back({&phi, value});
      }
    }
  }
}

std::vector<PhiStore> RegionValues::stores_on(const Exit& exit) const {
  const auto found = exit_stores_.find({exit.from, exit.successor});
  return found == exit_stores_.end() ? std::vector<PhiStore>() : found->second;
}

void RegionValues::erase_phis() {
  for (const auto& region : regions_.all) {
    for (llvm::PHINode& phi : llvm::make_early_inc_range(region->leader->phis())) {
      phi.replaceAllUsesWith(llvm::PoisonValue::get(phi.getType()));
      phi.eraseFromParent();
    }
  }
}

}  // namespace damo::clang_plugin
