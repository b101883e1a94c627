#include "lower_cuda.hpp"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Analysis/CFG.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "locate.hpp"
#include "lowering_steps.hpp"
#include "markers.hpp"
#include "parallel_threads.hpp"
#include "row_loops.hpp"
#include "thread_function.hpp"

namespace damo::clang_plugin {
namespace {

constexpr unsigned kCheckedGap = 64;
constexpr unsigned kUnlimitedRow = 0x7fffffff;

/// What a kernel's threads do with each other.
struct Habits {
  bool waits = false;
  bool may_spin = false;  ///< in a loop that another thread ends
};

/// Deletes those of the kernel's functions that are there and asked for no more.
void drop(llvm::Module& module, std::initializer_list<std::string> functions) {
  llvm::SmallVector<llvm::Function*> there;
  for (const std::string& name : functions) {
    if (llvm::Function* const function = module.getFunction(name)) there.push_back(function);
  }
  for (llvm::Function* function : there) function->dropAllReferences();  // one may call another
  for (llvm::Function* function : there) function->eraseFromParent();
}

/// A kernel that doesn't wait is run by the loops in its entry, or by loops over rounds if it has loops of its own.
bool has_loops(const llvm::Module& module, const std::set<std::string>& entries) {
  return llvm::any_of(module, [&](const llvm::Function& function) {
    llvm::SmallVector<std::pair<const llvm::BasicBlock*, const llvm::BasicBlock*>> back;
    if (!function.isDeclaration() && !entries.count(function.getName().str())) llvm::FindFunctionBackedges(function, back);
    return !back.empty();
  });
}

/// Deletes the functions that the kernel's form does not need. may_split: it may be cut at waits of its own or of its loops.
void choose_form(llvm::Module& module, const KernelInfo& kernel, Form form, bool waits, bool may_split) {
  if (waits || form == Form::kReference) drop(module, {kernel.entry});
  if (form == Form::kReference) drop(module, {kernel.blocks});
  if (form != Form::kReference && !waits && !may_split) drop(module, {kernel.thread, kernel.blocks});
}

/// __activemask tells of the lanes that stand at the same place: each place that inlining has made gets a number, in
/// the operand that is the lanes' mask in other calls.
void number_active_masks(llvm::Module& module) {
  unsigned place = 0;
  for (llvm::Function& function : module) {
    for (llvm::CallInst* call : calls_of(function, kWait)) {
      const auto* const kind = llvm::dyn_cast<llvm::ConstantInt>(call->getArgOperand(0));
      if (!kind || static_cast<WaitKind>(kind->getSExtValue()) != WaitKind::kActiveMask) continue;
      call->setArgOperand(1, llvm::ConstantInt::get(call->getArgOperand(1)->getType(), ++place));
    }
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
  llvm::Function* const wait = module.getFunction(kWait);
  return wait && llvm::any_of(wait->users(), [](const llvm::User* user) {
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(user);
    return !instruction || !is_thread_function(*instruction->getFunction());
  });
}

/// Says how many blocks are run as one.
void join_blocks(llvm::Module& module, const KernelInfo& kernel) {
  llvm::Function *const entry = module.getFunction(kernel.entry), *const blocks = module.getFunction(kernel.blocks);
  const auto size = entry ? size_of_joined_blocks(*entry) : std::nullopt;
  if (entry) answer_by_rows(*entry, true);
  if (entry) limit_rows(*entry, size ? kUnlimitedRow : 0, size.value_or(0));
  if (blocks) limit_rows(*blocks, size ? kMostRowThreads : 0, size.value_or(0));
}

void name_entry(llvm::Module& module, const KernelInfo& kernel) {
  if (llvm::GlobalValue* taken = module.getNamedValue(kernel.name)) taken->setName(kernel.name + ".body");
  llvm::Function* entry = module.getFunction(kernel.entry);
  entry->setName(kernel.name);
  entry->setLinkage(llvm::GlobalValue::ExternalLinkage);
}

void add_text(llvm::Module& module, const char* symbol, const std::string& value) {
  llvm::Constant* text = llvm::ConstantDataArray::getString(module.getContext(), value);
  auto* global = new llvm::GlobalVariable(module, text->getType(), true, llvm::GlobalValue::ExternalLinkage, text, symbol);
  global->setDSOLocal(true);
}

/// One line a kernel: "name: float *, int<TAB>8,4<TAB>1024,256": parameter types, canonical, their sizes; bytes of static shared memory and max_threads.
std::string signatures(const std::vector<KernelInfo>& kernels) {
  std::string text;
  for (const KernelInfo& kernel : kernels) {
    const auto sizes = llvm::map_range(kernel.parameter_bytes, [](unsigned bytes) { return std::to_string(bytes); });
    text += kernel.name + ": " + llvm::join(kernel.parameter_types, ", ") + "\t" + llvm::join(sizes, ",") + "\t" + std::to_string(kernel.shared_bytes) + "," + std::to_string(kernel.max_threads) + "\n";
  }
  return text;
}

/// Behind this the optimiser and the code generator may fault, or worse, at what is no valid function.
bool is_valid(llvm::Module& module, const std::vector<KernelInfo>& kernels, const Progress& progress, std::string& error) {
  llvm::raw_string_ostream problem(error);
  if (!llvm::verifyModule(module, &problem)) return true;
  for (const llvm::Function& function : module) {
    if (!function.isDeclaration() && llvm::verifyFunction(function)) progress.at_function(function.getName(), kernels);
  }
  return false;
}

}  // namespace

Lowered lower_cuda(llvm::Module& module, std::vector<KernelInfo>& kernels, const Lowering& how, const Progress& progress, std::string& error) {
  const bool alone = how.form == Form::kReference;
  std::set<std::string> entries;
  std::map<std::string, Habits> habits;
  const bool in_step = may_go_in_step(module);
  for (const KernelInfo& kernel : kernels) entries.insert({kernel.entry, kernel.thread, kernel.blocks});
  const bool may_split = how.form == Form::kLoops && has_loops(module, entries);
  for (const KernelInfo& kernel : kernels) {
    if (!module.getFunction(kernel.thread)) {
      error += "internal: no entry was made for kernel '" + kernel.name + "'\n";
      return Lowered::kRefused;
    }
    const bool waits = habits[kernel.name].waits = reaches_wait(*module.getFunction(kernel.thread));
    if (waits || alone || !in_step) choose_form(module, kernel, how.form, waits, may_split);
  }
  make_tables_locally(module);
  clamp_shifts(module);
  inline_into(module, entries);
  choose_fused_products(module);
  number_active_masks(module);
  for (const KernelInfo& kernel : kernels) {
    if (!in_step) break;
    Habits& known = habits[kernel.name];
    const InStep step = keep_in_step(*module.getFunction(kernel.thread), known.waits);
    if (!known.waits && !alone) choose_form(module, kernel, how.form, step.waits, may_split);
    known.waits |= step.waits;
    known.may_spin |= step.may_spin;
  }
  if (!check_definitions(module, error)) return Lowered::kRefused;
  publish_device_variables(module);
  if (how.check) check_memory(module);
  if (!place_shared_variables(module, kernels, how.check ? kCheckedGap : 0, error)) return Lowered::kRefused;
  const bool needs_fibers = alone || waits_elsewhere(module);
  std::set<std::string> whole;
  for (const KernelInfo& kernel : kernels) join_blocks(module, kernel);
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    if (!alone) mark_global_indices(function);
    bound_threads(function);
    if (!is_thread_function(function)) lower_markers(function);
  }
  for (const KernelInfo& kernel : kernels) {
    const Habits& known = habits[kernel.name];
    progress.at(kernel);
    const bool splits = how.form == Form::kLoops && !needs_fibers && !known.may_spin && module.getFunction(kernel.thread) && split_at_barriers(module, kernel, known.waits);
    if (splits) whole.insert(kernel.name);
    if (!known.waits && splits) drop(module, {kernel.entry});
    if (!known.waits && !splits && !alone) drop(module, {kernel.thread, kernel.blocks});
  }
  for (llvm::Function& function : module) {
    if (!function.isDeclaration() && is_thread_function(function)) lower_markers(function);
  }
  if (llvm::Function* const wait = needs_fibers ? module.getFunction(kWait) : nullptr) wait->setName("damo_wait_on_fiber");
  for (const KernelInfo& kernel : kernels) {
    const bool waits = habits[kernel.name].waits;
    progress.at(kernel);
    if (whole.count(kernel.name)) {
      llvm::Function& blocks = *module.getFunction(kernel.blocks);
      lower_tie(blocks);
      blocks.setName(kernel.entry);
    } else if (waits || alone) {
      if (llvm::Function* const blocks = module.getFunction(kernel.blocks)) blocks->eraseFromParent();
      // Threads that wait in a function which could not be inlined (recursion, a call through a pointer) get a stack each, and a wait is a
      // call that switches stacks: runtime/cpu/fiber_threads.cpp.
      if (needs_fibers) call_runner(module, kernel, waits ? "damo_run_fibers" : "damo_run_threads", *module.getFunction(kernel.thread));
      else make_coroutine(module, kernel);
    } else {
      lower_tie(*module.getFunction(kernel.entry));
      declare_rows_independent(*module.getFunction(kernel.entry));
    }
    name_entry(module, kernel);
  }
  add_text(module, "damo_signatures", signatures(kernels));
  if (how.check) add_text(module, "damo_check_table", check_table(kernels));
  return is_valid(module, kernels, progress, error) ? Lowered::kYes : Lowered::kBroken;
}

}  // namespace damo::clang_plugin
