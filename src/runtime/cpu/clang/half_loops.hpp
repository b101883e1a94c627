// Loops over float16. Every processor with AVX2 converts eight binary16 to float and back in one instruction, but LLVM 19's
// cost tables know the instructions for four alone and take those for eight, and for four doubles, to be done element by
// element: the vectoriser then uses half, or a quarter, of each register. HalfLoops tells it the width.
// Needs nothing for the values: how many rounds go at once is the vectoriser's own choice, and whether any may is still its to
// find out. It is said only of loops that gain by it: innermost ones that convert, every access of which is done in each round and
// to a place beside the last round's. The rest is left to the tables.
#pragma once
#include <llvm/IR/PassManager.h>

namespace llvm {
class PassBuilder;
}  // namespace llvm

namespace damo::clang_plugin {

class HalfLoops : public llvm::PassInfoMixin<HalfLoops> {
 public:
  /// In front of the vectoriser.
  static void add_to(llvm::PassBuilder& builder);
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace damo::clang_plugin
