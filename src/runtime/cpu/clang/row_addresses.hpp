// How the addresses of a kernel's loads and stores go on from thread to thread of a row.
#pragma once
#include <llvm/Analysis/LoopInfo.h>

#include <optional>
#include <set>

#include "row_invariants.hpp"

namespace damo::clang_plugin {

/// By how much more a sum, difference, product or shift is in the next thread, where its operands are more by a and b;
/// nothing where that depends, or for another operation.
std::optional<long> step_of_result(const llvm::Instruction& operation, long a, long b);

class RowAddresses {
 public:
  /// follows: values that are one more in the next thread, beside the index itself.
  RowAddresses(const RowInvariants& invariants, std::set<const llvm::Value*> follows) : invariants_(invariants), follows_(std::move(follows)) {}

  /// By how much more value is in the next thread, in bytes for addresses; nothing where that depends.
  std::optional<long> step_of(const llvm::Value* value, int depth = 0) const;

  /// True if the threads of a row, each doing what stands in loop, read and write neighbours, and read what they share:
  /// vectors of them need no gathers.
  bool are_close(const llvm::Loop& loop) const;

 private:
  std::optional<long> step_of_arithmetic(const llvm::Instruction& instruction, int depth) const;
  std::optional<long> step_of_address(const llvm::Value& address, int depth) const;

  const RowInvariants& invariants_;
  std::set<const llvm::Value*> follows_;
};

}  // namespace damo::clang_plugin
