#include "lower_cuda.hpp"

#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>

#include <set>
#include <vector>

#include "address_spaces.hpp"
#include "block_rows.hpp"
#include "check_memory.hpp"
#include "check_sites.hpp"
#include "coroutine.hpp"
#include "fibers.hpp"
#include "fission.hpp"
#include "grid_stride.hpp"
#include "guarded_threads.hpp"
#include "inlining.hpp"
#include "isolated_steps.hpp"
#include "known_block_size.hpp"
#include "lockstep.hpp"
#include "parallel_threads.hpp"
#include "row_invariants.hpp"
#include "shared_steps.hpp"
#include "thread_function.hpp"
#include "unguarded_threads.hpp"

namespace damo::clang_plugin {
namespace {

constexpr unsigned kCheckedGap = 64;
constexpr unsigned kUnlimitedRow = 0x7fffffff;

/// Deletes the forms that the kernel does not need.
void choose_form(llvm::Module& module, const KernelInfo& kernel, bool thread_by_thread) {
  if (thread_by_thread) {
    module.getFunction(kernel.entry)->eraseFromParent();
  } else {
    module.getFunction(kernel.blocks)->eraseFromParent();
    module.getFunction(kernel.thread)->eraseFromParent();
  }
}

/// Adds to waiting the kernels that now wait, to spinning those that do so in a loop.
void keep_threads_in_step(llvm::Module& module, const std::vector<KernelInfo>& kernels, bool check, std::set<std::string>& waiting, std::set<std::string>& spinning) {
  for (const KernelInfo& kernel : kernels) {
    const InStep step = keep_in_step(*module.getFunction(kernel.thread));
    if (!waiting.count(kernel.name) && !check) choose_form(module, kernel, step.waits);
    if (step.waits) waiting.insert(kernel.name);
    if (step.may_spin) spinning.insert(kernel.name);
  }
}

/// __activemask tells of the lanes that stand at the same place: each place that inlining has made gets a number, in
/// the operand that is the lanes' mask in other calls.
void number_active_masks(llvm::Module& module) {
  constexpr std::uint64_t kActiveMask = 16;  // Wait::kActiveMask of runtime/cpu/thread_state.hpp
  llvm::Function* const wait = module.getFunction("__damo_wait");
  if (!wait) return;
  unsigned place = 0;
  for (llvm::User* user : wait->users()) {
    auto* const call = llvm::dyn_cast<llvm::CallInst>(user);
    if (!call || call->getCalledFunction() != wait) continue;
    const auto* const kind = llvm::dyn_cast<llvm::ConstantInt>(call->getArgOperand(0));
    if (!kind || kind->getZExtValue() != kActiveMask) continue;
    call->setArgOperand(1, llvm::ConstantInt::get(call->getArgOperand(1)->getType(), ++place));
  }
}

/// What is called must exist.
bool check_definitions(llvm::Module& module, std::string& error) {
  for (llvm::Function& function : module) {
    if (!function.isDeclaration() || function.use_empty() || !function.getName().starts_with("_Z")) continue;
    std::string place;
    for (const llvm::User* user : function.users()) {
      const auto* const instruction = llvm::dyn_cast<llvm::Instruction>(user);
      if (instruction && place.empty()) place = user_place(*instruction);
    }
    error += (place.empty() ? "" : place + ": ") + "error: function '" + llvm::demangle(function.getName().str()) + "' is called but has no definition\n";
    return false;
  }
  return true;
}

/// A wait outside the thread functions: in a function that could not be inlined.
bool waits_elsewhere(llvm::Module& module) {
  llvm::Function* const wait = module.getFunction("__damo_wait");
  if (!wait) return false;
  for (const llvm::User* user : wait->users()) {
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(user);
    if (!instruction || !instruction->getFunction()->getName().starts_with("__damo_thread_")) return true;
  }
  return false;
}

/// The functions that run blocks of kernels that wait for nothing: one a kernel, or two.
std::vector<llvm::Function*> independent_entries(llvm::Module& module, const std::vector<KernelInfo>& kernels, const std::set<std::string>& waiting) {
  std::vector<llvm::Function*> entries;
  for (const KernelInfo& kernel : kernels) {
    if (waiting.count(kernel.name)) continue;
    llvm::Function* const entry = module.getFunction(kernel.entry);
    entries.push_back(entry);
    if (llvm::Function* const known = add_known_block_size(*entry)) entries.push_back(known);
  }
  return entries;
}

/// Loops over threads, where function has some, and the indices of all but thread functions.
void lower_rows(llvm::Function& function, bool check) {
  mark_global_indices(function);
  unsigned threads = 0;
  if (!check && !thread_loop_markers(function).empty()) {
    threads = can_join_blocks(function) ? kUnlimitedRow : 0;
    bound_threads(function);
    interchange_shared_steps(function);
    if (interchange_grid_stride(function)) bound_threads(function);
    part_unguarded_threads(function);
    if (threads > 0 && keeps_values(function)) threads = kKeptThreads;
  }
  limit_rows(function, threads);
  if (!is_thread_function(function)) lower_markers(function);
}

void name_entry(llvm::Module& module, const KernelInfo& kernel) {
  if (llvm::GlobalValue* taken = module.getNamedValue(kernel.name)) taken->setName(kernel.name + ".body");
  llvm::Function* entry = module.getFunction(kernel.entry);
  entry->setName(kernel.name);
  entry->setLinkage(llvm::GlobalValue::ExternalLinkage);
}

void add_signatures(llvm::Module& module, const std::string& signatures) {
  llvm::Constant* text = llvm::ConstantDataArray::getString(module.getContext(), signatures);
  auto* global = new llvm::GlobalVariable(module, text->getType(), true, llvm::GlobalValue::ExternalLinkage, text, "damo_signatures");
  global->setDSOLocal(true);
}

}  // namespace

bool lower_cuda(llvm::Module& module, std::vector<KernelInfo>& kernels, const Lowering& how, std::string& error) {
  std::set<std::string> entries, waiting, spinning, whole;
  const bool in_step = may_go_in_step(module);
  for (const KernelInfo& kernel : kernels) {
    if (!module.getFunction(kernel.thread)) {
      error += "internal: no entry was made for kernel '" + kernel.name + "'\n";
      return false;
    }
    const bool waits = reaches_wait(*module.getFunction(kernel.thread));
    if (waits) waiting.insert(kernel.name);
    if (waits || how.check || !in_step) choose_form(module, kernel, waits || how.check);
    entries.insert({kernel.entry, kernel.thread, kernel.blocks});
  }
  inline_into(module, entries);
  number_active_masks(module);
  if (in_step) keep_threads_in_step(module, kernels, how.check, waiting, spinning);
  if (!check_definitions(module, error) || !flatten_device_variables(module, error)) return false;
  if (how.check) check_memory(module);
  if (!place_shared_variables(module, kernels, how.check ? kCheckedGap : 0, error)) return false;
  const std::vector<llvm::Function*> independent = how.check ? std::vector<llvm::Function*>{} : independent_entries(module, kernels, waiting);
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) lower_rows(function, how.check);
  }
  const bool needs_fibers = waits_elsewhere(module);
  for (const KernelInfo& kernel : kernels) {
    if (how.split && !how.check && !needs_fibers && waiting.count(kernel.name) && !spinning.count(kernel.name) && split_at_barriers(module, kernel)) whole.insert(kernel.name);
  }
  for (llvm::Function& function : module) {
    if (!function.isDeclaration() && is_thread_function(function)) lower_markers(function);
  }
  if (needs_fibers) call_for_waits(module);
  for (llvm::Function* entry : independent) {
    lower_tie(*entry);
    declare_threads_independent(*entry);
  }
  for (const KernelInfo& kernel : kernels) {
    if (whole.count(kernel.name)) {
      llvm::Function& blocks = *module.getFunction(kernel.blocks);
      lower_tie(blocks);
      blocks.setName(kernel.entry);
    } else if (waiting.count(kernel.name)) {
      module.getFunction(kernel.blocks)->eraseFromParent();
      needs_fibers ? make_fibers(module, kernel) : make_coroutine(module, kernel);
    } else if (how.check) {
      module.getFunction(kernel.blocks)->eraseFromParent();
      call_runner(module, kernel, "damo_run_threads", *module.getFunction(kernel.thread));
    }
    name_entry(module, kernel);
  }
  add_signatures(module, signatures(kernels));
  if (how.check) add_check_table(module, kernels);
  return true;
}

}  // namespace damo::clang_plugin
