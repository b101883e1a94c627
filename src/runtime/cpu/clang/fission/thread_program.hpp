// A kernel's thread function in the shape that fission works on: what all threads of all blocks compute alike stands in
// a prologue, each wait is the last thing that its block does, and there is one way to return.
#pragma once
#include "../ir.hpp"
#include "../thread_function.hpp"

namespace damo::clang_plugin {

struct Wait {
  llvm::CallInst* call;
  llvm::BasicBlock* after;  ///< where the thread goes on
  llvm::LoadInst* result;   ///< first in .after, of an address that is still to be given; null if nobody asks
  WaitKind kind;            ///< kExited if not known here
  bool is_barrier() const { return kind == WaitKind::kBarrier || counts(); }
  bool only_orders() const { return kind == WaitKind::kBarrier || kind == WaitKind::kWarp || kind == WaitKind::kLockstep; }  ///< gives nothing
  bool counts() const { return kind >= WaitKind::kBarrierCount && kind <= WaitKind::kBarrierOr; }
  bool is_common() const { return kind == WaitKind::kBarrier || is_warp_operation(); }  ///< made by the block as a whole, others by the runtime
  bool is_warp_operation() const { return kind >= WaitKind::kWarp && kind <= WaitKind::kLockstep && kind != WaitKind::kNamedBarrier; }
};

/// Control flow between numbered nodes, and where the ways that leave a node meet again (flow_graph.cpp).
class FlowGraph {
 public:
  FlowGraph() = default;
  /// successors: of each node, in reverse post-order; one without any goes to the end, a node more.
  explicit FlowGraph(std::vector<std::vector<int>> successors);

  int end() const { return static_cast<int>(next_.size()) - 1; }
  /// The first node that all ways from node to the end go through: its immediate post-dominator.
  int meeting(int node) const { return meeting_[node]; }
  /// The nodes that are reached from node's successors before the one that is said; none where there is one way only.
  std::vector<int> between(int node, int until) const;

 private:
  std::vector<std::vector<int>> next_;
  std::vector<int> meeting_;
};

/// Loops get an entering block and exits of their own, so that a region begins before a loop and not at its header.
void simplify_loops(llvm::Function& function);

class ThreadProgram {
 public:
  /// Changes function into that shape.
  explicit ThreadProgram(llvm::Function& function);

  llvm::Function& function;
  llvm::BasicBlock *prologue = nullptr, *begin = nullptr, *finish = nullptr;
  std::vector<Wait> waits;
  std::set<const llvm::AllocaInst*> fixed;  ///< local variables that are written in the prologue alone: arguments
  std::vector<llvm::BasicBlock*> order;     ///< reachable blocks but prologue and finish, in reverse post-order

  /// True once no way from block, itself included, leads to a wait.
  bool is_tail(const llvm::BasicBlock* block) const { return tail_.count(block) != 0; }
  /// Blocks that the branch at the end of block decides about: those before its ways meet. A thread that goes to a tail
  /// is gone. Empty for tail blocks.
  const std::vector<llvm::BasicBlock*>& decided_by(llvm::BasicBlock* block);
  llvm::BasicBlock* meeting_of(llvm::BasicBlock* block);  ///< null: at the end
  const Wait* wait_at(const llvm::BasicBlock* block) const;
  /// Once blocks are gone.
  void survey();

 private:
  void unite_returns();
  void skip_empty_ends();
  void add_prologue();
  void hoist_into_prologue();
  bool hoist_argument(llvm::Instruction& instruction);
  void split_waits();
  void find_tails();
  void find_meetings();

  std::set<const llvm::BasicBlock*> tail_;
  std::map<const llvm::BasicBlock*, int> number_;
  FlowGraph graph_;
  std::map<const llvm::BasicBlock*, std::vector<llvm::BasicBlock*>> decided_;
};

}  // namespace damo::clang_plugin
