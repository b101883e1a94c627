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

/// Runs the optimiser's pipeline and the code generator, noting in progress which of the kernels is at work. Gives false and an error text where code generation can't go on.
bool generate_object(llvm::Module& module, const std::vector<KernelInfo>& kernels, const Target& target, Effort effort, const Progress& progress,
                     std::string& object, std::string& error);

}  // namespace damo::clang_plugin
