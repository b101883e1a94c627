// Puts the checks into a kernel's code: before each access to memory that the user's text makes, a call of the runtime
// that says what is accessed, where, and in the text of which line (check_calls.hpp).
#pragma once
#include <string>
#include <vector>

#include "kernels.hpp"

namespace llvm {
class Module;
}

namespace damo::clang_plugin {

/// After inlining, while shared variables are still variables. The module has line tables.
void check_memory(llvm::Module& module);

/// Adds the text of check_table.hpp, as damo_check_table.
void add_check_table(llvm::Module& module, const std::vector<KernelInfo>& kernels);

}  // namespace damo::clang_plugin
