// Makes each entry point one function: what follows looks at whole kernels. Functions that can't be inlined stay:
// recursive ones, and those called through pointers.
#pragma once

#include <set>
#include <string>

namespace llvm {
class Function;
class Module;
}  // namespace llvm

namespace damo::clang_plugin {

/// Everything but the functions of these names becomes internal and is inlined into them.
void inline_into(llvm::Module& module, const std::set<std::string>& entries);

/// Whether function, or anything that it may call, waits for other threads (__damo_wait).
bool reaches_wait(llvm::Function& function);

}  // namespace damo::clang_plugin
