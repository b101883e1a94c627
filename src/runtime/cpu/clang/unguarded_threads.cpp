#include "unguarded_threads.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include <map>
#include <optional>

#include "markers.hpp"
#include "row_addresses.hpp"
#include "row_invariants.hpp"

namespace damo::clang_plugin {
namespace {

constexpr int kDeepest = 12;
constexpr long kLargestStep = 1 << 12;
constexpr long kLeastNumber = 64;  ///< a lesser one asks for the first elements, not for the end
constexpr long kMostRounds = 1 << 12;

/// A counter of the kernel's own: for (int k = 0; k < 4; ++k).
struct Counter {
  long last = 0;  ///< its value in the last round
  long span = 0;  ///< how much more that is than in the first
};

/// index relation bound, index growing with threadIdx.x.
struct Guard {
  llvm::ICmpInst* comparison;
  llvm::Value *index, *bound;       ///< as they are compared
  llvm::CmpInst::Predicate relation;
  long step;                        ///< of index, from thread to thread
  long span;                        ///< of index, over the rounds of its counter
};

/// The loop over threadIdx.x.
struct Row {
  llvm::Loop* loop;
  llvm::ICmpInst* inside;  ///< x < threads of the row
};

/// Reads how a value goes on from thread to thread, in the arithmetic of its own width.
class Reader {
 public:
  Reader(const RowInvariants& invariants, const std::map<const llvm::Value*, Counter>& counters) : invariants_(invariants), counters_(counters) {}

  /// By how much more value is in the next thread, or in the next count of a counter.
  std::optional<long> step_of(const llvm::Value* value, bool of_counter, int depth = 0) const {
    if (counters_.count(value)) return of_counter ? 1 : 0;
    if (is_index(value)) return of_counter ? 0 : 1;
    if (invariants_.is_invariant(value)) return 0;
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    if (!instruction || depth > kDeepest) return std::nullopt;
    if (llvm::isa<llvm::TruncInst>(value)) return step_of(instruction->getOperand(0), of_counter, depth + 1);
    if (llvm::isa<llvm::ZExtInst>(value) || llvm::isa<llvm::SExtInst>(value)) {
      const llvm::Value* narrow = instruction->getOperand(0);
      const auto* counter = counters_.count(narrow) ? &counters_.at(narrow) : nullptr;
      if (is_index(narrow) || (counter && counter->last >= counter->span)) return step_of(narrow, of_counter, depth + 1);
      return std::nullopt;
    }
    return llvm::isa<llvm::BinaryOperator>(value) ? step_of_arithmetic(*instruction, of_counter, depth + 1) : std::nullopt;
  }

 private:
  static bool is_index(const llvm::Value* value) { return marker_slot(value) == kThread * 3 || global_index_axis(value) == 0; }

  std::optional<long> step_of_arithmetic(const llvm::Instruction& instruction, bool of_counter, int depth) const {
    const auto a = step_of(instruction.getOperand(0), of_counter, depth), b = step_of(instruction.getOperand(1), of_counter, depth);
    if (!a || !b || std::abs(*a) > kLargestStep || std::abs(*b) > kLargestStep) return std::nullopt;
    return step_of_result(instruction, *a, *b);
  }

  const RowInvariants& invariants_;
  const std::map<const llvm::Value*, Counter>& counters_;
};

/// The counter of loop if it counts up by constants: tested in the header and nowhere changed.
std::optional<std::pair<const llvm::PHINode*, Counter>> read_counter(const llvm::Loop& loop) {
  const auto* test = llvm::dyn_cast<llvm::BranchInst>(loop.getHeader()->getTerminator());
  const auto* comparison = test && test->isConditional() ? llvm::dyn_cast<llvm::ICmpInst>(test->getCondition()) : nullptr;
  if (!comparison || !loop.getLoopLatch() || !loop.getLoopPredecessor() || loop.contains(test->getSuccessor(1)) || !loop.contains(test->getSuccessor(0))) return {};
  const auto* phi = llvm::dyn_cast<llvm::PHINode>(comparison->getOperand(0));
  const auto* end = llvm::dyn_cast<llvm::ConstantInt>(comparison->getOperand(1));
  if (!phi || !end || phi->getParent() != loop.getHeader() || phi->getType()->getIntegerBitWidth() > 64) return {};
  const auto* first = llvm::dyn_cast<llvm::ConstantInt>(phi->getIncomingValueForBlock(loop.getLoopPredecessor()));
  const auto* next = llvm::dyn_cast<llvm::BinaryOperator>(phi->getIncomingValueForBlock(loop.getLoopLatch()));
  const auto* by = next && next->getOpcode() == llvm::Instruction::Add && next->getOperand(0) == phi ? llvm::dyn_cast<llvm::ConstantInt>(next->getOperand(1)) : nullptr;
  if (!first || !by || by->getSExtValue() <= 0 || !llvm::ICmpInst::isLT(comparison->getPredicate())) return {};
  const long from = first->getSExtValue(), rounds = (end->getSExtValue() - from + by->getSExtValue() - 1) / by->getSExtValue();
  if (from < 0 || end->getSExtValue() <= from || rounds > kMostRounds || by->getSExtValue() > kLargestStep) return {};
  const long span = (rounds - 1) * by->getSExtValue();
  return std::pair{phi, Counter{from + span, span}};
}

const llvm::Value* without_extension(const llvm::Value* value) {
  const auto* cast = llvm::dyn_cast<llvm::CastInst>(value);
  return cast && (llvm::isa<llvm::ZExtInst>(cast) || llvm::isa<llvm::SExtInst>(cast)) ? cast->getOperand(0) : value;
}

std::optional<Guard> read_guard(llvm::ICmpInst& comparison, const Reader& reader, const RowInvariants& invariants) {
  const llvm::Type* type = comparison.getOperand(0)->getType();
  if (!comparison.isRelational() || !type->isIntegerTy() || type->getIntegerBitWidth() > 64) return {};
  for (unsigned side = 0; side < 2; ++side) {
    llvm::Value *index = comparison.getOperand(side), *bound = comparison.getOperand(1 - side);
    const auto* number = llvm::dyn_cast<llvm::ConstantInt>(bound);
    if (!invariants.is_invariant(bound) || (number && number->getSExtValue() < kLeastNumber)) continue;
    const llvm::Value* narrow = without_extension(index);
    const unsigned bits = narrow->getType()->getIntegerBitWidth();
    if (bits != 32 && bits != 64) continue;
    const auto step = reader.step_of(narrow, false), count = reader.step_of(narrow, true);
    if (!step || !count || *step < 2 || *step > kLargestStep || *count < 0 || *count > kLargestStep) continue;
    return Guard{&comparison, index, bound, side == 0 ? comparison.getPredicate() : comparison.getSwappedPredicate(), *step, *count};
  }
  return {};
}

/// The guards of the row, and their counters at their last counts.
std::vector<Guard> read_guards(const Row& row, RowInvariants& invariants) {
  std::vector<Guard> guards;
  const auto read = [&](const std::vector<llvm::BasicBlock*>& blocks, const std::map<const llvm::Value*, Counter>& counters, long span) {
    const Reader reader(invariants, counters);
    for (llvm::BasicBlock* block : blocks) {
      for (llvm::Instruction& instruction : *block) {
        auto* comparison = llvm::dyn_cast<llvm::ICmpInst>(&instruction);
        const auto guard = comparison && comparison != row.inside ? read_guard(*comparison, reader, invariants) : std::nullopt;
        if (!guard) continue;
        guards.push_back(*guard);
        guards.back().span *= span;
      }
    }
  };
  std::vector<llvm::BasicBlock*> own;
  for (llvm::BasicBlock* block : row.loop->blocks()) {
    if (llvm::none_of(row.loop->getSubLoops(), [&](const llvm::Loop* inner) { return inner->contains(block); })) own.push_back(block);
  }
  read(own, {}, 0);
  std::vector<std::pair<const llvm::PHINode*, Counter>> counters;
  for (const llvm::Loop* inner : row.loop->getSubLoops()) {
    const auto counter = read_counter(*inner);
    if (!counter || !inner->getSubLoops().empty()) continue;
    std::vector<llvm::BasicBlock*> body;
    for (llvm::BasicBlock* block : inner->blocks()) {
      if (block != inner->getHeader()) body.push_back(block);
    }
    read(body, {{counter->first, counter->second}}, counter->second.span);
    counters.push_back(*counter);
  }
  for (const auto& [phi, counter] : counters) {
    invariants.assume(const_cast<llvm::PHINode*>(phi), llvm::ConstantInt::get(phi->getType(), static_cast<std::uint64_t>(counter.last)));
  }
  return guards;
}

/// How many threads from the row's thread 0 on pass guard, as 64 bits; 0 where that can't be told. Thread 0's index is computed
/// in its own width, and threads count as far as that width goes.
llvm::Value* passing(const Guard& guard, RowInvariants& invariants, llvm::IRBuilder<>& builder) {
  llvm::Type* const wide = builder.getInt64Ty();
  llvm::Value* const narrow = const_cast<llvm::Value*>(without_extension(guard.index));
  const bool is_narrow = narrow->getType()->isIntegerTy(32);
  const bool is_signed = guard.index == narrow ? llvm::CmpInst::isSigned(guard.relation) : llvm::isa<llvm::SExtInst>(guard.index);
  const auto number = [&](llvm::Value* value, bool sign) { return sign ? builder.CreateSExt(value, wide) : builder.CreateZExt(value, wide); };
  const auto limit = [&](llvm::Intrinsic::ID id, llvm::Value* value, long at) { return builder.CreateBinaryIntrinsic(id, value, builder.getInt64(at)); };
  llvm::Value* const first = number(invariants.in_front(narrow, builder), is_signed);
  llvm::Value* bound = number(invariants.in_front(guard.bound, builder), llvm::CmpInst::isSigned(guard.relation));
  if (!llvm::CmpInst::isSigned(guard.relation)) bound = limit(llvm::Intrinsic::umin, bound, 1L << 61);
  bound = limit(llvm::Intrinsic::smax, limit(llvm::Intrinsic::smin, bound, 1L << 61), 0);
  // index <= bound passes also at it, and index > bound is its contrary.
  if (llvm::ICmpInst::isLE(guard.relation) || llvm::ICmpInst::isGT(guard.relation)) bound = builder.CreateAdd(bound, builder.getInt64(1));
  bound = limit(llvm::Intrinsic::smin, bound, !is_narrow ? 1L << 61 : is_signed ? 1L << 31 : 1L << 32);
  llvm::Value* const begin = limit(llvm::Intrinsic::smin, limit(llvm::Intrinsic::smax, first, 0), 1L << 61);
  llvm::Value* const left = limit(llvm::Intrinsic::smax, builder.CreateSub(bound, begin), 0);
  llvm::Value* const threads = builder.CreateUDiv(builder.CreateAdd(left, builder.getInt64(guard.step - 1)), builder.getInt64(guard.step));
  return builder.CreateSelect(builder.CreateICmpSGE(first, builder.getInt64(guard.span)), threads, builder.getInt64(0));
}

bool is_closed(const llvm::Loop& loop) {
  for (const llvm::BasicBlock* block : loop.blocks()) {
    for (const llvm::Instruction& instruction : *block) {
      if (llvm::any_of(instruction.users(), [&](const llvm::User* user) { return !loop.contains(llvm::cast<llvm::Instruction>(user)); })) return false;
    }
  }
  return true;
}

/// The rest of the row, behind the loop: all of it as it was, from the thread on where that ends.
void add_rest(const Row& row, llvm::Value* passed) {
  llvm::BasicBlock *header = row.loop->getHeader(), *before = row.loop->getLoopPredecessor(), *after = row.loop->getExitBlock();
  llvm::Function* const function = header->getParent();
  llvm::ValueToValueMapTy map;
  llvm::SmallVector<llvm::BasicBlock*, 16> copies;
  for (llvm::BasicBlock* block : row.loop->blocks()) map[block] = copies.emplace_back(llvm::CloneBasicBlock(block, map, ".rest", function));
  llvm::remapInstructionsInBlocks(copies, map);
  auto* const copy = llvm::cast<llvm::BasicBlock>(map[header]);
  auto* const x = llvm::cast<llvm::PHINode>(&copy->front());
  auto* const between = llvm::BasicBlock::Create(function->getContext(), "rest", function, copy);
  llvm::BranchInst::Create(copy, between);
  header->getTerminator()->replaceSuccessorWith(after, between);
  copy->replacePhiUsesWith(before, between);
  x->setIncomingValueForBlock(between, passed);
  for (llvm::CallInst* marker : thread_loop_markers(*function)) {
    if (llvm::is_contained(copies, marker->getParent())) marker->eraseFromParent();
  }
  llvm::LLVMContext& context = function->getContext();
  llvm::Metadata* no_vectors[] = {llvm::MDString::get(context, "llvm.loop.vectorize.enable"), llvm::ConstantAsMetadata::get(llvm::ConstantInt::getFalse(context))};
  llvm::MDNode* id = llvm::MDNode::getDistinct(context, {nullptr, llvm::MDNode::get(context, no_vectors), llvm::MDNode::get(context, llvm::MDString::get(context, "llvm.loop.unroll.disable"))});
  id->replaceOperandWith(0, id);
  llvm::cast<llvm::BasicBlock>(map[row.loop->getLoopLatch()])->getTerminator()->setMetadata(llvm::LLVMContext::MD_loop, id);
}

void part_row(llvm::CallInst& marker, llvm::LoopInfo& loops, const llvm::DominatorTree& dominators) {
  llvm::Loop* const loop = loops.getLoopFor(marker.getParent());
  if (!loop || !loop->getLoopLatch() || !loop->getLoopPredecessor() || loop->getExitingBlock() != loop->getHeader() || !loop->getExitBlock()) return;
  auto* const end = llvm::dyn_cast<llvm::BranchInst>(loop->getHeader()->getTerminator());
  auto* const inside = end ? llvm::dyn_cast<llvm::ICmpInst>(end->getCondition()) : nullptr;
  if (!inside || !inside->hasOneUse() || inside->getPredicate() != llvm::CmpInst::ICMP_ULT || inside->getOperand(0) != &loop->getHeader()->front()) return;
  if (!loop->isLoopInvariant(inside->getOperand(1)) || llvm::isa<llvm::PHINode>(loop->getExitBlock()->front()) || !is_closed(*loop)) return;
  const Row row{loop, inside};
  RowInvariants invariants(*loop, dominators);
  const std::vector<Guard> guards = read_guards(row, invariants);
  if (guards.empty()) return;

  llvm::BasicBlock* const before = loop->getLoopPredecessor();
  llvm::IRBuilder<> builder(before->getTerminator());
  for (llvm::BasicBlock* block : loop->blocks()) {
    for (llvm::Instruction& instruction : *block) {
      if (marker_slot(&instruction) == kThread * 3) invariants.assume(&instruction, builder.getInt32(0));
    }
  }
  llvm::Value* const first = llvm::cast<llvm::PHINode>(inside->getOperand(0))->getIncomingValueForBlock(before);
  llvm::Value* passed = builder.CreateZExt(inside->getOperand(1), builder.getInt64Ty());
  for (const Guard& guard : guards) passed = builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, passed, passing(guard, invariants, builder));
  passed = builder.CreateBinaryIntrinsic(llvm::Intrinsic::umax, builder.CreateTrunc(passed, builder.getInt32Ty()), first);
  add_rest(row, passed);
  inside->setOperand(1, passed);
  for (const Guard& guard : guards) {
    const bool answer = llvm::ICmpInst::isLT(guard.relation) || llvm::ICmpInst::isLE(guard.relation);
    guard.comparison->replaceAllUsesWith(llvm::ConstantInt::getBool(guard.comparison->getContext(), answer));
  }
}

}  // namespace

void part_unguarded_threads(llvm::Function& entry) {
  const std::vector<llvm::CallInst*> markers = thread_loop_markers(entry);
  for (llvm::CallInst* marker : markers) {
    const llvm::DominatorTree dominators(entry);
    llvm::LoopInfo loops(dominators);
    part_row(*marker, loops, dominators);
  }
}

}  // namespace damo::clang_plugin
