#include "ordered_accesses.hpp"

#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/GetElementPtrTypeIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

namespace damo::clang_plugin {
namespace {

constexpr int kDeepest = 24;
constexpr size_t kMostAccesses = 256;
constexpr long kLargestFactor = 8;  ///< LLVM makes no groups of wider gaps

/// How a value goes on from thread to thread.
struct Step {
  enum Kind { kConstant, kOther, kUnknown } kind = kConstant;  ///< by as much; by no constant, ever; not seen through
  long by = 0;
};

class Steps {
 public:
  explicit Steps(const llvm::Loop& threads) : threads_(threads), x_(&threads.getHeader()->front()) {}

  Step of(const llvm::Value* value, int depth = 0) const {
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    if (value == x_) return {Step::kConstant, 1};
    if (!instruction || !threads_.contains(instruction)) return {};
    if (depth > kDeepest) return {Step::kUnknown};
    if (llvm::isa<llvm::GEPOperator>(instruction)) return of_address(*instruction, depth + 1);
    if (llvm::isa<llvm::CastInst>(instruction) || llvm::isa<llvm::FreezeInst>(instruction)) return of(instruction->getOperand(0), depth + 1);
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction)) return of_load(*load, depth + 1);
    // A counter of an inner loop is a number once that is unrolled.
    if (llvm::isa<llvm::PHINode>(instruction)) return is_inner(*instruction) ? Step{} : Step{Step::kUnknown};
    return llvm::isa<llvm::BinaryOperator>(instruction) ? of_arithmetic(*instruction, depth + 1) : Step{Step::kUnknown};
  }

 private:
  bool is_inner(const llvm::Instruction& phi) const {
    for (const llvm::Loop* inner : threads_.getLoopsInPreorder()) {
      if (inner != &threads_ && inner->getHeader() == phi.getParent()) return true;
    }
    return false;
  }

  /// What is read from the thread's own variables may be anything; the indices are read from the row's.
  Step of_load(const llvm::LoadInst& load, int depth) const {
    const llvm::Value* object = llvm::getUnderlyingObject(load.getPointerOperand(), 0);
    if (!llvm::isa<llvm::AllocaInst>(object)) {
      const Step address = of(load.getPointerOperand(), depth);
      return address.kind == Step::kConstant && address.by == 0 ? Step{} : Step{Step::kOther};
    }
    for (const llvm::User* user : object->users()) {
      const auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
      if (store && store->getValueOperand() == x_ && store->getPointerOperand() == object && load.getPointerOperand()->stripInBoundsConstantOffsets() == object) {
        llvm::APInt offset(64, 0);
        load.getPointerOperand()->stripAndAccumulateConstantOffsets(load.getDataLayout(), offset, true);
        if (offset.isZero()) return {Step::kConstant, 1};
        return offset.ult(48) ? Step{} : Step{Step::kUnknown};
      }
    }
    return {Step::kUnknown};
  }

  Step of_arithmetic(const llvm::Instruction& instruction, int depth) const {
    const Step a = of(instruction.getOperand(0), depth), b = of(instruction.getOperand(1), depth);
    if (a.kind != Step::kConstant) return a;
    if (b.kind != Step::kConstant) return b;
    if (a.by == 0 && b.by == 0) return {};
    const auto* by = llvm::dyn_cast<llvm::ConstantInt>(instruction.getOperand(1));
    const auto* times = llvm::dyn_cast<llvm::ConstantInt>(instruction.getOperand(0));
    switch (instruction.getOpcode()) {
      case llvm::Instruction::Add:
      case llvm::Instruction::Or: return {Step::kConstant, a.by + b.by};
      case llvm::Instruction::Sub: return {Step::kConstant, a.by - b.by};
      case llvm::Instruction::Mul:
        if (by && by->getValue().isSignedIntN(16)) return {Step::kConstant, a.by * by->getSExtValue()};
        if (times && times->getValue().isSignedIntN(16)) return {Step::kConstant, b.by * times->getSExtValue()};
        return {threads_.isLoopInvariant(instruction.getOperand(a.by == 0 ? 0 : 1)) ? Step::kOther : Step::kUnknown};
      case llvm::Instruction::Shl:
        if (by && by->getValue().ult(16)) return {Step::kConstant, a.by << by->getZExtValue()};
        return {Step::kUnknown};
      default: return {Step::kOther};
    }
  }

  Step of_address(const llvm::Instruction& address, int depth) const {
    const auto& element = llvm::cast<llvm::GEPOperator>(address);
    Step step = of(element.getPointerOperand(), depth);
    for (auto index = llvm::gep_type_begin(element); step.kind == Step::kConstant && index != llvm::gep_type_end(element); ++index) {
      if (index.isStruct()) continue;
      const Step of_index = of(index.getOperand(), depth);
      if (of_index.kind != Step::kConstant) return of_index;
      step.by += of_index.by * static_cast<long>(index.getSequentialElementStride(address.getDataLayout()).getFixedValue());
    }
    return step;
  }

  const llvm::Loop& threads_;
  const llvm::Value* x_;
};

/// A place: root, numbers of bytes for the values of indices, and a number of bytes.
struct Place {
  const llvm::Value* root;
  std::map<const llvm::Value*, long> scales = {};
  long offset = 0;
};

/// An index as another one plus a number.
std::pair<const llvm::Value*, long> sum_with_number(const llvm::Value* value) {
  long number = 0;
  for (int depth = 0; depth < kDeepest; ++depth) {
    const auto* sum = llvm::dyn_cast<llvm::BinaryOperator>(value);
    const auto* by = sum && sum->getOpcode() == llvm::Instruction::Add ? llvm::dyn_cast<llvm::ConstantInt>(sum->getOperand(1)) : nullptr;
    if (by && by->getBitWidth() <= 64) number += by->getSExtValue();
    else if (!llvm::isa<llvm::SExtInst>(value) && !llvm::isa<llvm::ZExtInst>(value)) break;
    value = llvm::cast<llvm::Instruction>(value)->getOperand(0);
  }
  return {value, number};
}

Place place_of(const llvm::Value* address, const llvm::DataLayout& data) {
  Place place{address};
  while (const auto* element = llvm::dyn_cast<llvm::GEPOperator>(place.root)) {
    llvm::MapVector<llvm::Value*, llvm::APInt> variables;
    llvm::APInt offset(64, 0);
    if (!element->collectOffset(data, 64, variables, offset)) break;
    place.offset += offset.getSExtValue();
    for (const auto& [index, scale] : variables) {
      const auto [value, number] = sum_with_number(index);
      place.scales[value] += scale.getSExtValue();
      place.offset += number * scale.getSExtValue();
    }
    place.root = element->getPointerOperand();
  }
  return place;
}

struct Access {
  Place place;
  const llvm::Value* object;
  long bytes;
  bool is_store;
  bool may_be_grouped;
  const llvm::Loop* inner;  ///< the outermost loop inside the row's that it stands in, or null
};

Access read_access(const llvm::Instruction& instruction, const llvm::Loop& threads, const Steps& steps) {
  const llvm::Value* address = llvm::getLoadStorePointerOperand(&instruction);
  const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
  llvm::Type* type = store ? store->getValueOperand()->getType() : instruction.getType();
  const llvm::DataLayout& data = instruction.getDataLayout();
  const long bytes = static_cast<long>(data.getTypeStoreSize(type).getFixedValue());
  const Step step = steps.of(address);
  const long distance = std::labs(step.by);
  const bool grouped = step.kind == Step::kUnknown || (step.kind == Step::kConstant && distance > bytes && distance <= kLargestFactor * bytes);
  const llvm::Loop* outermost = nullptr;
  for (const llvm::Loop* inner : threads.getSubLoops()) {
    if (inner->contains(&instruction)) outermost = inner;
  }
  return {place_of(address, data), llvm::getUnderlyingObject(address, 0), bytes, store != nullptr, grouped, outermost};
}

/// True if a thread's two accesses are to different places.
bool are_apart(const Access& a, const Access& b) {
  if (a.object != b.object && llvm::isIdentifiedObject(a.object) && llvm::isIdentifiedObject(b.object)) return true;
  if (a.inner || b.inner || a.place.root != b.place.root || a.place.scales != b.place.scales) return false;
  const long distance = b.place.offset - a.place.offset;
  return distance >= a.bytes || -distance >= b.bytes;
}

std::vector<Access> read_accesses(const llvm::Loop& threads, const Steps& steps) {
  std::vector<Access> accesses;
  llvm::ReversePostOrderTraversal<const llvm::Function*> order(threads.getHeader()->getParent());
  for (const llvm::BasicBlock* block : order) {
    if (!threads.contains(block)) continue;
    for (const llvm::Instruction& instruction : *block) {
      const llvm::Value* address = llvm::getLoadStorePointerOperand(&instruction);
      if (address && !llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(address, 0))) accesses.push_back(read_access(instruction, threads, steps));
    }
  }
  return accesses;
}

}  // namespace

bool has_ordered_groups(const llvm::Loop& threads) {
  const std::vector<Access> accesses = read_accesses(threads, Steps(threads));
  if (llvm::none_of(accesses, [](const Access& access) { return access.may_be_grouped; })) return false;
  if (accesses.size() > kMostAccesses) return true;
  for (size_t i = 0; i < accesses.size(); ++i) {
    const Access& store = accesses[i];
    for (size_t j = 0; store.is_store && j < accesses.size(); ++j) {
      const Access& other = accesses[j];
      const bool follows = j > i || (store.inner && store.inner == other.inner);
      const bool may_move = store.may_be_grouped || (other.may_be_grouped && !other.is_store);
      if (follows && may_move && (i == j || !are_apart(store, other))) return true;
    }
  }
  return false;
}

}  // namespace damo::clang_plugin
