// Types for which code generation takes hours: found before it starts.
#pragma once
#include <string>

namespace llvm {
class Module;
}

namespace damo::clang_plugin {

/// False, with an error text: some value of the module is an integer of more than 256 bits or a vector of more than 4096
/// bytes. Clang's language has both; no GPU compiler does.
bool check_types(const llvm::Module& module, std::string& error);

}  // namespace damo::clang_plugin
