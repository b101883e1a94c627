// Where in the user's text an instruction comes from.
#pragma once
#include <string>

namespace llvm {
class Instruction;
}

namespace damo::clang_plugin {

/// "user.cu:3:7": the innermost place that is not the prelude's; "" if there is none.
std::string user_place(const llvm::Instruction& instruction);

}  // namespace damo::clang_plugin
