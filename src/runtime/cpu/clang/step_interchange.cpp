#include "row_loops.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Transforms/Utils/Local.h>

#include "isolated_steps.hpp"
#include "markers.hpp"
#include "row_values.hpp"
#include "strided_index.hpp"
#include "thread_function.hpp"

namespace damo::clang_plugin {
namespace {

constexpr long kFewSteps = 32;
constexpr long kMostUnrolled = 300;  // instructions: LLVM's own limit
constexpr int kMostInterchanges = 4;

struct Steps {
  llvm::Loop* threads;
  llvm::Loop* steps;
  llvm::BranchInst* test;  ///< in the header of steps
  StridedIndex stride = {};  ///< without phi: steps are shared
  bool of_block = false;     ///< strided by the threads of the block, not of the grid
  std::vector<llvm::PHINode*> counted = {};  ///< the same in all threads
  std::vector<llvm::PHINode*> own = {};      ///< each thread has its own
  std::vector<llvm::BranchInst*> guards = {};  ///< what threads ask on their way to the loop
  std::vector<bool> answers = {};              ///< by which they get there
  bool goes_on_if_true() const { return steps->contains(test->getSuccessor(0)); }
};

/// Parts the loop's phis. Those that are counted are assumed by values afterwards.
void read_phis(Steps& found, RowValues& values) {
  llvm::BasicBlock *before = found.steps->getLoopPredecessor(), *latch = found.steps->getLoopLatch();
  for (llvm::PHINode& phi : found.steps->getHeader()->phis()) {
    if (phi.getType()->isIntegerTy() && values.is_invariant(phi.getIncomingValueForBlock(before))) {
      found.counted.push_back(&phi);
      values.assume(&phi);
    } else {
      found.own.push_back(&phi);
    }
  }
  const auto differs = [&](llvm::PHINode* phi) { return !values.is_invariant(phi->getIncomingValueForBlock(latch)); };
  for (auto phi = llvm::find_if(found.counted, differs); phi != found.counted.end(); phi = llvm::find_if(found.counted, differs)) {
    values.forget(*phi);
    found.own.push_back(*phi);
    found.counted.erase(phi);
  }
}

/// Loops of few steps, a number known now, are unrolled if that makes no long code, and the loop over threads vectorises as it is.
bool has_few_steps(const Steps& found) {
  const auto* test = llvm::dyn_cast<llvm::ICmpInst>(found.test->getCondition());
  const auto* bound = test ? llvm::dyn_cast<llvm::ConstantInt>(test->getOperand(1)) : nullptr;
  const auto* phi = test ? llvm::dyn_cast<llvm::PHINode>(test->getOperand(0)) : nullptr;
  if (!bound || !phi || phi->getParent() != found.steps->getHeader()) return false;
  const auto* begin = llvm::dyn_cast<llvm::ConstantInt>(phi->getIncomingValueForBlock(found.steps->getLoopPredecessor()));
  if (!begin) return false;
  const long count = std::abs(bound->getSExtValue() - begin->getSExtValue());
  long instructions = 0;
  for (const llvm::BasicBlock* block : found.steps->blocks()) instructions += static_cast<long>(block->sizeWithoutDebug());
  return count <= kFewSteps && count * instructions <= kMostUnrolled;
}

/// True if a thread's place has to do with what is computed in the steps. If not, all threads do the same: made for one.
bool has_to_do_with_threads(const Steps& found, const RowValues& values) {
  for (const llvm::BasicBlock* block : found.steps->blocks()) {
    for (const llvm::Instruction& instruction : *block) {
      const llvm::Value* address = llvm::getLoadStorePointerOperand(&instruction);
      if (address && values.step_of(address, RowValues::As::kGuess) != 0) return true;
      for (const llvm::Value* operand : instruction.operands()) {
        const auto* from = llvm::dyn_cast<llvm::Instruction>(operand);
        if (from && found.threads->contains(from) && !found.steps->contains(from) && values.step_of(from, RowValues::As::kGuess) != 0) return true;
      }
    }
  }
  return false;
}

/// True if all threads of the row get to the loop, or none: only then may its steps be counted in front of the row.
bool read_guards(Steps& found, const llvm::DominatorTree& dominators, const RowValues& values) {
  llvm::BasicBlock *block = found.threads->getHeader(), *const steps = found.steps->getHeader();
  for (int blocks = 0; blocks < 100; ++blocks) {
    auto* branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
    if (!branch) return false;
    unsigned side = 0;
    if (branch->isConditional()) {
      while (side < 2 && !dominators.dominates(llvm::BasicBlockEdge(block, branch->getSuccessor(side)), steps)) ++side;
      if (side == 2) return false;
      if (block != found.threads->getHeader()) {
        if (!values.is_invariant(branch->getCondition())) return false;
        found.guards.push_back(branch);
        found.answers.push_back(side == 0);
      }
    }
    block = branch->getSuccessor(side);
    if (block == steps) return true;
  }
  return false;
}

bool read_shared(Steps& found, const llvm::DominatorTree& dominators, RowValues& values) {
  if (!found.steps->getSubLoops().empty() || has_few_steps(found) || !read_guards(found, dominators, values)) return false;
  read_phis(found, values);
  return !found.counted.empty() && values.is_invariant(found.test->getCondition()) && values.are_neighbours(found.steps->getBlocks()) && has_to_do_with_threads(found, values);
}

/// True if phi begins at the thread's index, goes on by the threads of the grid or block, and is what the test compares.
bool read_index(Steps& found, llvm::PHINode& phi) {
  const auto read = read_strided_index(*found.steps, *found.test, phi);
  if (!read) return false;
  const llvm::Value *const begin = without_extension(read->begin), *const distance = without_extension(read->distance);
  found.of_block = marker_slot(begin) == kThread * 3 && marker_slot(distance) == kBlockSize * 3;
  if (!found.of_block && (global_index_axis(begin) != 0 || block_product_axis(distance, kGridSize) != 0)) return false;
  found.stride = *read;
  return true;
}

bool read_strided(Steps& found, RowValues& values) {
  for (llvm::PHINode& phi : found.steps->getHeader()->phis()) {
    if (found.stride.phi || !read_index(found, phi)) found.own.push_back(&phi);
  }
  if (!found.stride.phi) return false;
  llvm::IRBuilder<> builder(found.threads->getLoopPredecessor()->getTerminator());
  found.stride.bound = values.in_front(found.stride.bound, builder);
  values.follow(found.stride.phi);
  return found.stride.bound != nullptr;
}

/// Whether any thread of the row gets to the loop, asked in front of it.
llvm::Value* is_reached(const Steps& found, llvm::Value* first, RowValues& values, llvm::IRBuilder<>& builder) {
  const auto* inside = llvm::cast<llvm::ICmpInst>(llvm::cast<llvm::BranchInst>(found.threads->getHeader()->getTerminator())->getCondition());
  llvm::Value* reached = builder.CreateICmpULT(first, inside->getOperand(1));
  for (size_t i = 0; i < found.guards.size(); ++i) {
    llvm::Value* answer = values.in_front(found.guards[i]->getCondition(), builder);
    if (!found.answers[i]) answer = builder.CreateNot(answer);
    reached = builder.CreateLogicalAnd(reached, answer);
  }
  return reached;
}

/// The loop over steps, around the loop over threads that found.threads has become.
struct Rounds {
  llvm::BasicBlock *before, *again, *next, *after;
  llvm::BasicBlock *threads, *latch;  ///< the header of the loop over threads; where a step ends
};

Rounds wrap_threads(const Steps& found, llvm::BasicBlock* leave) {
  llvm::BasicBlock* const header = found.threads->getHeader();
  const llvm::Instruction& inside = *header->getTerminator();
  llvm::BasicBlock* const after = inside.getSuccessor(found.threads->contains(inside.getSuccessor(0)) ? 1 : 0);
  Rounds rounds{found.threads->getLoopPredecessor(), nullptr, nullptr, after, header, found.steps->getLoopLatch()};
  rounds.again = llvm::BasicBlock::Create(header->getContext(), "step", header->getParent(), header);
  rounds.next = llvm::BasicBlock::Create(header->getContext(), "step.end", header->getParent(), rounds.after);
  header->replacePhiUsesWith(rounds.before, rounds.again);
  header->getTerminator()->replaceSuccessorWith(rounds.after, rounds.next);
  llvm::BranchInst::Create(rounds.again, rounds.next);
  rounds.latch->getTerminator()->replaceSuccessorWith(found.steps->getHeader(), leave);
  rounds.latch->getTerminator()->setMetadata(llvm::LLVMContext::MD_loop, nullptr);
  return rounds;
}

void count_shared(const Steps& found, const Rounds& rounds, RowValues& values) {
  llvm::IRBuilder<> builder(rounds.before->getTerminator());
  llvm::Value* const reached = is_reached(found, llvm::cast<llvm::PHINode>(rounds.threads->front()).getIncomingValueForBlock(rounds.again), values, builder);
  std::vector<llvm::PHINode*> phis;
  for (llvm::PHINode* phi : found.counted) {
    const unsigned edge = phi->getIncomingBlock(0) == rounds.latch ? 1 : 0;
    llvm::Value* const first = values.in_front(phi->getIncomingValue(edge), builder);
    phis.push_back(llvm::IRBuilder<>(rounds.again).CreatePHI(phi->getType(), 2));
    phis.back()->addIncoming(first, rounds.before);
  }
  rounds.before->getTerminator()->eraseFromParent();
  llvm::BranchInst::Create(rounds.again, rounds.after, reached, rounds.before);
  for (size_t i = 0; i < phis.size(); ++i) values.assume(found.counted[i], phis[i]);
  builder.SetInsertPoint(rounds.again);
  llvm::Value* const test = values.in_front(found.test->getCondition(), builder);
  const bool goes_on_if_true = found.goes_on_if_true();
  goes_on_if_true ? builder.CreateCondBr(test, rounds.threads, rounds.after) : builder.CreateCondBr(test, rounds.after, rounds.threads);
  builder.SetInsertPoint(rounds.next->getTerminator());
  for (size_t i = 0; i < phis.size(); ++i) phis[i]->addIncoming(values.in_front(found.counted[i]->getIncomingValueForBlock(rounds.latch), builder), rounds.next);
  found.test->setCondition(builder.getInt1(goes_on_if_true));
  for (size_t i = 0; i < phis.size(); ++i) {
    found.counted[i]->replaceAllUsesWith(phis[i]);
    found.counted[i]->eraseFromParent();
  }
}

void count_strided(const Steps& found, const Rounds& rounds) {
  const StridedIndex& stride = found.stride;
  rounds.before->getTerminator()->replaceSuccessorWith(rounds.threads, rounds.again);
  llvm::IRBuilder<> builder(rounds.again);
  llvm::PHINode* const gone = builder.CreatePHI(builder.getInt64Ty(), 2);  // the distance that all threads have gone
  llvm::Value* const begin = const_cast<llvm::Value*>(without_extension(stride.begin));
  // A round in which every lane is masked out is not only useless: where it passes the end of a page it takes a hundred times
  // as long as another one.
  llvm::Value* const rest = builder.CreateTrunc(count_below(builder, stride.bound, stride.is_signed, stride.includes_bound, gone), begin->getType());
  llvm::Value* const first = found.of_block ? builder.getInt64(0) : builder.CreateMul(read_marker(builder, kBlock, 0), read_marker(builder, kBlockSize, 0), "", true, true);
  builder.CreateCondBr(builder.CreateICmpSLT(builder.CreateTrunc(first, rest->getType()), rest), rounds.threads, rounds.after);
  builder.SetInsertPoint(rounds.next->getTerminator());
  llvm::Value* span = read_marker(builder, kBlockSize, 0);
  if (!found.of_block) span = builder.CreateMul(read_marker(builder, kGridSize, 0), span, "", true, true);
  gone->addIncoming(builder.getInt64(0), rounds.before);
  gone->addIncoming(builder.CreateAdd(gone, span, "", true, true), rounds.next);
  llvm::Value* const old = found.test->getCondition();
  builder.SetInsertPoint(found.test);
  if (!found.goes_on_if_true()) found.test->swapSuccessors();
  found.test->setCondition(builder.CreateICmpSLT(begin, rest));
  llvm::RecursivelyDeleteTriviallyDeadInstructions(old);
  llvm::BasicBlock* const header = stride.phi->getParent();
  const bool is_below = stride.in_own_width && stride.is_signed && llvm::none_of(stride.phi->users(), [&](const llvm::User* user) {
    return llvm::cast<llvm::Instruction>(user)->getParent() == header;
  });
  builder.SetInsertPoint(header, header->getFirstInsertionPt());
  const bool cant_wrap = stride.phi->getType()->isIntegerTy(64) || stride.cant_wrap || is_below;
  stride.phi->replaceAllUsesWith(builder.CreateAdd(stride.begin, builder.CreateTrunc(gone, stride.phi->getType()), "", /*HasNUW=*/true, /*HasNSW=*/cant_wrap));
  stride.phi->eraseFromParent();
}

/// One interchange; true if one was made.
bool interchange_once(llvm::Function& entry) {
  const llvm::DominatorTree dominators(entry);
  llvm::LoopInfo loops(dominators);
  for (llvm::CallInst* marker : thread_loop_markers(entry)) {
    llvm::Loop* const threads = loops.getLoopFor(marker->getParent());
    if (!threads || !threads->getLoopPredecessor()) continue;
    for (llvm::Loop* steps : threads->getSubLoops()) {
      auto* const test = llvm::dyn_cast<llvm::BranchInst>(steps->getHeader()->getTerminator());
      if (!test || !test->isConditional() || !steps->getLoopLatch() || !steps->getLoopPredecessor()) continue;
      for (const bool is_strided : {false, true}) {
        Steps found{threads, steps, test};
        RowValues values(*marker, *threads, dominators);
        if (!(is_strided ? read_strided(found, values) : read_shared(found, dominators, values))) continue;
        IsolatedSteps isolated(*threads, *steps, found.own, dominators, values);
        if (!isolated.is_possible()) continue;
        // Values that are kept cost memory, which pays where vectors need no gathers.
        if (is_strided && isolated.needs_arrays() && (!steps->getSubLoops().empty() || !values.are_neighbours(steps->getBlocks()))) continue;
        const Rounds rounds = wrap_threads(found, isolated.cut());
        is_strided ? count_strided(found, rounds) : count_shared(found, rounds, values);
        return true;
      }
    }
  }
  return false;
}

}  // namespace

bool interchange_steps(llvm::Function& entry) {
  const llvm::CallInst* const tie = tie_of(entry);
  if (!tie || has_local_memory(entry, *tie->getArgOperand(0))) return false;
  int made = 0;
  while (made < kMostInterchanges && interchange_once(entry)) ++made;
  return made > 0;
}

}  // namespace damo::clang_plugin
