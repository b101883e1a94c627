// The language that the line tables name.
#pragma once

namespace llvm {
class Module;
}

namespace damo::clang_plugin {

/// Makes it C. In C++ LLVM describes the frame of every coroutine for debuggers, and looks for a promise to do so, which
/// ours have not.
void call_language_c(llvm::Module& module);

}  // namespace damo::clang_plugin
