// What keeps the known miscompilations of LLVM 19 out of every kernel, whatever its text: docs/dependencies.md lists them
// with their numbers. A bug that a pass has is kept from its input, or the pass isn't run; a bug of instruction selection
// is looked for in what was selected. Tests: tests/runtime/cpu/miscompilations_test.cpp.
#pragma once

namespace llvm {
class Module;
class PassBuilder;
class PassInstrumentationCallbacks;
class TargetPassConfig;
}  // namespace llvm

namespace damo::clang_plugin {

struct Target;

/// Says in each function's attributes what is compiled for. A function's own target attribute, or a flag of the user's,
/// could name what the module may not use.
void set_target(llvm::Module& module, const Target& target);

/// What was compiled and can't be vouched for: it is compiled again with less.
struct Unsound {
  bool integer_lanes = false;   ///< the SLP vectoriser made integer code
  bool masked_ternary = false;  ///< a vpternlog that may have another operation's truth table was selected
};

/// Leaves out the pass of which no use is sound, prepares what InstCombine is given, each time that it runs, and looks at what the SLP
/// vectoriser made. found outlives the passes.
void guard_passes(llvm::PassInstrumentationCallbacks& callbacks, Unsound& found);

/// Hides from the loop vectoriser addresses whose run-time check it would get wrong, and those that depend on what a branch computes.
void guard_vectorizer(llvm::PassBuilder& builder);

/// Looks at what the code generator selects.
void guard_selection(llvm::TargetPassConfig& config, Unsound& found);

}  // namespace damo::clang_plugin
