// LLVM module -> optimised machine code, as the bytes of an ELF relocatable object.
#pragma once
#include <string>
#include <vector>

#include "kernels.hpp"
#include "progress.hpp"
#include "target.hpp"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace damo::clang_plugin {

/// How hard the optimiser tries: kLittle is its O1 without vectors, kFull its O3.
enum class Effort { kLittle, kFull };

struct Generated {
  bool ok = false;
  std::string object, error;
  bool is_unsound = false;  ///< has an instruction that LLVM 19 selects wrongly (miscompilations.hpp): compile without AVX-512
};

/// Runs the optimiser's pipeline and the code generator, noting in progress which of the kernels is at work. guarded false: without
/// what keeps LLVM's miscompilations out.
Generated generate_object(llvm::Module& module, const std::vector<KernelInfo>& kernels, const Target& target, Effort effort, bool guarded,
                          const Progress& progress);

}  // namespace damo::clang_plugin
