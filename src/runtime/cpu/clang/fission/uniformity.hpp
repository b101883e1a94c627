// Which values are the same in all threads of a block that compute them, as long as these threads go the same way.
#pragma once
#include <llvm/IR/Instructions.h>

#include <set>

#include "thread_program.hpp"

namespace damo::clang_plugin {

class Uniformity {
 public:
  explicit Uniformity(ThreadProgram& program);

  /// Of what can't be shown to be the same, true.
  bool differs(const llvm::Value* value) const { return differing_.count(value) != 0; }
  /// True if threads may leave block on different ways.
  bool parts(const llvm::BasicBlock* block) const;

 private:
  bool begins_differing(const llvm::Instruction& instruction) const;
  bool mark(const llvm::Value* value) { return differing_.insert(value).second; }
  bool spread(llvm::BasicBlock* block);
  bool spread_from_branch(llvm::BasicBlock* block);

  ThreadProgram& program_;
  std::set<const llvm::Value*> differing_;
  std::set<const llvm::Value*> same_results_;  ///< of barriers that count
  std::set<const llvm::BasicBlock*> parted_;   ///< whose branch has been spread
};

}  // namespace damo::clang_plugin
