// From a place in compiled code to the user's line, by the line tables.
#pragma once
#include <llvm/ADT/StringRef.h>

#include <cstdint>
#include <string>

namespace llvm {
class Instruction;
}

namespace damo::clang_plugin {

/// "user.cu:3:7": the innermost place that is not the prelude's; "" if there is none.
std::string user_place(const llvm::Instruction& instruction);

/// "user.cu:3:7"; of a call that was inlined, the innermost place that is not the prelude's. "near user.cu:3:7" where the
/// optimiser made one instruction of several lines' and only a neighbour has a line. Empty if nothing is known.
std::string locate(llvm::StringRef object, size_t section, uint64_t offset);

}  // namespace damo::clang_plugin
