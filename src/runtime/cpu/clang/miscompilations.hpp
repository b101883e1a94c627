// What keeps the known miscompilations of LLVM 19 out of every kernel, whatever its text: docs/dependencies.md lists them
// with their numbers. A bug that a pass has is kept from its input, or the pass isn't run; a bug of instruction selection
// is looked for in what was selected. Tests: tests/runtime/cpu/miscompilations_test.cpp.
#pragma once
#include <llvm/IR/PassManager.h>

#include "ir.hpp"

namespace llvm {
class PassBuilder;
class PassInstrumentationCallbacks;
class TargetPassConfig;
}  // namespace llvm

namespace damo::clang_plugin {

struct Target;

/// Names of functions in which a vpternlog that may have another operation's truth table was selected: they are compiled again
/// without AVX-512.
using Unsound = std::set<std::string>;

/// Says in each function's attributes what is compiled for, without AVX-512 where it has been unsound. A function's own target
/// attribute, or a flag of the user's, could name what the module may not use.
void set_target(llvm::Module& module, const Target& target, const Unsound& without_avx512);

/// Leaves out the pass of which no use is sound, prepares what InstCombine is given, each time that it runs, and undoes what the
/// SLP vectoriser did to a function if integer code is among it. functions outlives the passes.
void guard_passes(llvm::PassInstrumentationCallbacks& callbacks, llvm::FunctionAnalysisManager& functions);

/// Hides from the loop vectoriser addresses whose run-time check it would get wrong, and those that depend on what a branch computes; keeps it from
/// loops that it would make vectors of without the checks that these need.
void guard_vectorizer(llvm::PassBuilder& builder);

/// Looks at what the code generator selects.
void guard_selection(llvm::TargetPassConfig& config, Unsound& found);

}  // namespace damo::clang_plugin
