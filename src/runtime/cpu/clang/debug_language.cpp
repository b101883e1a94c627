#include "debug_language.hpp"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/Module.h>

namespace damo::clang_plugin {

void call_language_c(llvm::Module& module) {
  llvm::NamedMDNode* const units = module.getNamedMetadata("llvm.dbg.cu");
  if (!units || units->getNumOperands() != 1) return;
  const auto* old = llvm::cast<llvm::DICompileUnit>(units->getOperand(0));
  llvm::DIBuilder builder(module, /*AllowUnresolved=*/false);
  units->eraseFromParent();
  llvm::DICompileUnit* const unit =
      builder.createCompileUnit(llvm::dwarf::DW_LANG_C11, old->getFile(), old->getProducer(), old->isOptimized(), "", 0, "", old->getEmissionKind());
  llvm::DebugInfoFinder finder;
  finder.processModule(module);
  for (llvm::DISubprogram* function : finder.subprograms()) {
    if (function->getUnit()) function->replaceUnit(unit);
  }
}

}  // namespace damo::clang_plugin
