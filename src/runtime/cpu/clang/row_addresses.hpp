// How the addresses of a kernel's loads and stores go on from thread to thread of a row.
#pragma once
#include <llvm/Analysis/LoopInfo.h>

#include <optional>
#include <set>

#include "row_invariants.hpp"

namespace damo::clang_plugin {

class RowAddresses {
 public:
  /// follows: values that are one more in the next thread, beside the index itself.
  explicit RowAddresses(const RowInvariants& invariants, std::set<const llvm::Value*> follows = {}) : invariants_(invariants), follows_(std::move(follows)) {}

  /// By how much more value is in the next thread, in bytes for addresses; nothing where that depends.
  std::optional<long> step_of(const llvm::Value* value, int depth = 0) const;

  /// The same of an integer, as a proof: exactly so much, modulo its width. (step_of takes it that casts change nothing, and
  /// that memory does not change.)
  std::optional<long> step_of_number(const llvm::Value* value) const;

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
