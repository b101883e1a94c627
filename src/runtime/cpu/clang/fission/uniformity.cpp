#include "uniformity.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Analysis/CycleAnalysis.h>
#include <llvm/Analysis/TargetTransformInfoImpl.h>
#include <llvm/Analysis/UniformityAnalysis.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/IR/PassManager.h>

#include "../markers.hpp"
#include "../thread_function.hpp"

namespace damo::clang_plugin {
namespace {

/// The target that LLVM asks in which values threads begin to differ.
class Threads : public llvm::TargetTransformInfoImplCRTPBase<Threads> {
 public:
  Threads(const llvm::DataLayout& data, const std::set<const llvm::Value*>& differ, const std::set<const llvm::Value*>& agree)
      : TargetTransformInfoImplCRTPBase(data), differ_(&differ), agree_(&agree) {}
  bool hasBranchDivergence(const llvm::Function* = nullptr) const { return true; }
  bool isSourceOfDivergence(const llvm::Value* value) const { return differ_->count(value) != 0; }
  bool isAlwaysUniform(const llvm::Value* value) const { return agree_->count(value) != 0; }

 private:
  const std::set<const llvm::Value*>*differ_, *agree_;
};

}  // namespace

Uniformity::Uniformity(ThreadProgram& program) : program_(program) {
  std::set<const llvm::Value*> agree;
  for (const Wait& wait : program.waits) {
    if (wait.counts() && wait.result) agree.insert(wait.result);
  }
  find_ordered_blocks();
  std::set<const llvm::Value*> differ;
  for (llvm::Instruction& instruction : llvm::instructions(program.function)) {
    const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (instruction.getParent() == program.prologue ? variable && !program.fixed.count(variable) : begins_differing(instruction)) differ.insert(&instruction);
  }
  llvm::FunctionAnalysisManager analyses;
  analyses.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
  analyses.registerPass([] { return llvm::DominatorTreeAnalysis(); });
  analyses.registerPass([] { return llvm::CycleAnalysis(); });
  analyses.registerPass([&] {
    return llvm::TargetIRAnalysis([&](const llvm::Function& of) { return llvm::TargetTransformInfo(Threads(of.getDataLayout(), differ, agree)); });
  });
  llvm::UniformityInfo uniformity = llvm::UniformityInfoAnalysis().run(program.function, analyses);
  for (llvm::BasicBlock* block : program.order) {
    if (uniformity.hasDivergentTerminator(*block)) parting_.insert(block);
  }
  // A value that a loop leaves behind in threads which left it at different steps is another one in each of them, too.
  for (llvm::Instruction& instruction : llvm::instructions(program.function)) {
    const bool differs = uniformity.isDivergent(&instruction) || llvm::any_of(instruction.uses(), [&](const llvm::Use& use) { return uniformity.isDivergentUse(use); });
    if (differs) differing_.insert(&instruction);
  }
}

void Uniformity::find_ordered_blocks() {
  std::vector<const llvm::BasicBlock*> open;
  for (const llvm::BasicBlock* block : program_.order) {
    const Wait* const wait = program_.wait_at(block);
    const bool waits_for_some = wait && !wait->is_barrier() && !wait->is_warp_operation();
    if (waits_for_some || llvm::any_of(*block, orders_threads)) open.push_back(block);
  }
  while (!open.empty()) {
    const llvm::BasicBlock* const block = open.back();
    open.pop_back();
    const Wait* const wait = program_.wait_at(block);
    if (!ordered_.insert(block).second || (wait && wait->is_barrier())) continue;
    open.insert(open.end(), llvm::succ_begin(block), llvm::succ_end(block));
  }
}

bool Uniformity::begins_differing(const llvm::Instruction& instruction) const {
  const int slot = marker_slot(&instruction);
  if (slot >= 0) return slot < 3;
  if (llvm::isa<llvm::AllocaInst>(instruction)) return true;
  // Blocks of the tail are not followed: threads may come to them at different times.
  // To LLVM a phi is the same where some threads bring nothing that is defined: here these would write over the others' value.
  if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction)) {
    return program_.is_tail(phi->getParent()) || llvm::any_of(phi->incoming_values(), [](const llvm::Use& value) { return llvm::isa<llvm::UndefValue>(value); });
  }
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
    const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(llvm::getUnderlyingObject(load->getPointerOperand(), 0));
    return !load->isSimple() || ordered_.count(load->getParent()) || llvm::isa<llvm::PoisonValue>(load->getPointerOperand()) || (variable && !program_.fixed.count(variable));
  }
  return instruction.mayReadOrWriteMemory();
}

}  // namespace damo::clang_plugin
