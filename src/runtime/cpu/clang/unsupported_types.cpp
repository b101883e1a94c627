#include "unsupported_types.hpp"

#include <llvm/IR/DebugLoc.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>

#include "check_sites.hpp"

namespace damo::clang_plugin {
namespace {

bool is_too_large(llvm::Type* type) {
  if (const auto* integer = llvm::dyn_cast<llvm::IntegerType>(type)) return integer->getBitWidth() > 256;
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  if (!vector) return false;
  return vector->getNumElements() > 4096 || type->getPrimitiveSizeInBits().getFixedValue() > 8 * 4096;
}

}  // namespace

bool check_types(const llvm::Module& module, std::string& error) {
  for (const llvm::Function& function : module) {
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      bool too_large = is_too_large(instruction.getType());
      for (const llvm::Use& operand : instruction.operands()) too_large |= is_too_large(operand->getType());
      if (!too_large) continue;
      const std::string place = user_place(instruction);
      error += (place.empty() ? "" : place + ": ") + "error: a vector of more than 4096 bytes, or an integer of more than 256 bits, is not supported\n";
      return false;
    }
  }
  return true;
}

}  // namespace damo::clang_plugin
