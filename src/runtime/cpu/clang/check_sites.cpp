#include "check_sites.hpp"

#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Instruction.h>

#include "diagnostics.hpp"

namespace damo::clang_plugin {
namespace {

std::string file_of(const llvm::DILocation& place) {
  const std::string directory = place.getDirectory().str(), file = place.getFilename().str();
  return directory.empty() || directory == "." || file.starts_with('/') ? file : directory + (directory.ends_with('/') ? "" : "/") + file;
}

}  // namespace

std::string user_place(const llvm::Instruction& instruction) {
  for (const llvm::DILocation* at = instruction.getDebugLoc(); at; at = at->getInlinedAt()) {
    const std::string file = file_of(*at);
    if (at->getLine() == 0 || !is_user_file(file)) continue;
    return file + ":" + std::to_string(at->getLine()) + ":" + std::to_string(at->getColumn());
  }
  return {};
}

}  // namespace damo::clang_plugin
