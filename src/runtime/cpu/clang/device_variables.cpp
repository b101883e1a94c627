#include "lowering_steps.hpp"

#include <llvm/IR/ReplaceConstant.h>
#include <llvm/Support/Alignment.h>

#include "thread_function.hpp"

namespace damo::clang_plugin {
namespace {

constexpr unsigned kDynamicAlignment = 64;

using Globals = std::vector<llvm::GlobalVariable*>;

Globals shared_variables(llvm::Module& module) {
  Globals found;
  for (llvm::GlobalVariable& global : module.globals()) {
    if (global.getSection() == kSharedSection) found.push_back(&global);
  }
  return found;
}

/// Offsets of static variables, in the order in which they were declared.
class Layout {
 public:
  explicit Layout(unsigned gap) : gap_(gap) {}
  void add(llvm::GlobalVariable& global, const llvm::DataLayout& data) {
    if (global.isDeclaration() || offsets_.count(&global)) return;
    bytes_ = llvm::alignTo(bytes_, global.getAlign().value_or(data.getABITypeAlign(global.getValueType())).value());
    const unsigned long size = data.getTypeAllocSize(global.getValueType());
    offsets_[&global] = bytes_;
    variables_.push_back({global.getName().str(), bytes_, size});
    bytes_ += size + gap_;
  }
  /// extern __shared__: all begin behind the static ones.
  unsigned long offset(llvm::GlobalVariable& global) const {
    const auto found = offsets_.find(&global);
    return found == offsets_.end() ? llvm::alignTo(bytes_, kDynamicAlignment) : found->second;
  }
  unsigned long bytes() const { return bytes_; }
  const std::vector<SharedVariable>& variables() const { return variables_; }

 private:
  std::map<llvm::GlobalVariable*, unsigned long> offsets_;
  std::vector<SharedVariable> variables_;
  unsigned gap_;
  unsigned long bytes_ = 0;
};

llvm::Function* home_of(llvm::User* user) {
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(user);
  return instruction ? instruction->getFunction() : nullptr;
}

bool holds_shared(const llvm::Constant& constant) {
  if (const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(&constant)) return global->getSection() == kSharedSection;
  return llvm::any_of(constant.operands(), [](const llvm::Use& part) { return llvm::isa<llvm::Constant>(part) && holds_shared(*llvm::cast<llvm::Constant>(part)); });
}

bool uses(llvm::GlobalVariable& global, const llvm::Function& function) {
  return llvm::any_of(global.users(), [&](llvm::User* user) { return home_of(user) == &function; });
}

void replace_in(llvm::Function& function, const Globals& globals, const Layout& layout) {
  llvm::Instruction* base = nullptr;
  for (llvm::GlobalVariable* global : globals) {
    llvm::Value* place = nullptr;
    for (llvm::Use& use : llvm::make_early_inc_range(global->uses())) {
      if (home_of(use.getUser()) != &function) continue;
      if (!base) base = llvm::cast<llvm::Instruction>(shared_memory_of(function));
      llvm::IRBuilder<> builder(base->getNextNode());
      if (!place) place = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), base, layout.offset(*global), global->getName());
      use.set(place);
    }
  }
}

}  // namespace

void make_tables_locally(llvm::Module& module) {
  for (llvm::GlobalVariable& table : llvm::make_early_inc_range(module.globals())) {
    if (!table.isConstant() || !table.hasInitializer() || !holds_shared(*table.getInitializer())) continue;
    llvm::convertUsersOfConstantsToInstructions({&table});
    std::map<llvm::Function*, llvm::AllocaInst*> copies;
    for (llvm::Use& use : llvm::make_early_inc_range(table.uses())) {
      llvm::Function* const home = home_of(use.getUser());
      if (!home) continue;
      llvm::AllocaInst*& copy = copies[home];
      if (!copy) {
        llvm::IRBuilder<> builder(&*home->getEntryBlock().getFirstInsertionPt());
        copy = builder.CreateAlloca(table.getValueType(), nullptr, table.getName());
        builder.CreateStore(table.getInitializer(), copy);
      }
      use.set(copy);
    }
    if (table.use_empty()) table.eraseFromParent();
  }
}

void publish_device_variables(llvm::Module& module) {
  for (llvm::GlobalVariable& global : module.globals()) {
    if (global.getSection() == kSharedSection) continue;
    global.setDSOLocal(true);
    if (!global.isConstant() && global.hasLocalLinkage()) global.setLinkage(llvm::GlobalValue::ExternalLinkage);
    if (global.isExternallyInitialized()) global.setConstant(false);
  }
}

bool place_shared_variables(llvm::Module& module, std::vector<KernelInfo>& kernels, unsigned gap, std::string& error) {
  const Globals globals = shared_variables(module);
  std::set<llvm::Function*> of_kernels;
  for (const KernelInfo& kernel : kernels) {
    for (const std::string& name : {kernel.entry, kernel.thread}) of_kernels.insert(module.getFunction(name));
  }
  llvm::convertUsersOfConstantsToInstructions(llvm::SmallVector<llvm::Constant*>(globals.begin(), globals.end()));
  // A function that could not be inlined serves several kernels: what it uses lies at the same place in all of them.
  Layout common(gap);
  for (llvm::GlobalVariable* global : globals) {
    for (llvm::User* user : global->users()) {
      llvm::Function* const home = home_of(user);
      if (home && !of_kernels.count(home)) common.add(*global, module.getDataLayout());
    }
  }
  for (KernelInfo& kernel : kernels) {
    Layout layout = common;
    for (const std::string& name : {kernel.entry, kernel.thread}) {
      llvm::Function* const function = module.getFunction(name);
      if (!function) continue;
      for (llvm::GlobalVariable* global : globals) {
        if (uses(*global, *function)) layout.add(*global, module.getDataLayout());
      }
      replace_in(*function, globals, layout);
    }
    kernel.shared_bytes = layout.bytes();
    kernel.shared_variables = layout.variables();
  }
  for (llvm::Function& function : module) {
    if (!function.isDeclaration() && !of_kernels.count(&function)) replace_in(function, globals, common);
  }
  for (llvm::GlobalVariable* global : globals) {
    global->removeDeadConstantUsers();
    if (!global->use_empty()) {
      error += "internal: the address of shared variable '" + global->getName().str() + "' is used in a way the CPU back end does not know\n";
      return false;
    }
    global->eraseFromParent();
  }
  return true;
}

}  // namespace damo::clang_plugin
