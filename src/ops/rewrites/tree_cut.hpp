// Cutting a large tree to kernels, from its leaves up: a step takes the kernels of its inputs in, as long as the limits allow; else the
// largest of them end, and all that are as large, so that the like subtrees of a balanced tree are kernels of one text, and so are the trees
// over their results. Each value that crosses is written and read once, as many as where runs of the tree's order are cut.
#pragma once
#include <vector>

#include <damo/graph.hpp>
#include <damo/options.hpp>

namespace damo {

class TreeCut {
 public:
  TreeCut(const FunctionGraph& graph, const FusionLimits& limits) : graph_(graph), limits_(limits) {}
  /// members: inputs before users, each value read by at most one of them. Gives the kernels, their members in that order. Linear but for the
  /// arrays that a kernel reads, which are few.
  std::vector<std::vector<NodeId>> operator()(const std::vector<NodeId>& members);

 private:
  /// The kernel that a step ends, so far.
  struct Part {
    int cost = 0, numbers = 0, leaving = 0, words_leaving = 0;
    int needed = 0;               // words of values that are held at once
    SmallList<ValueId, 4> read;   // arrays, each once
  };
  bool fits(const Part& part) const;
  static void read(Part& part, ValueId value);
  using Places = SmallList<int, 4>;
  Part step(NodeId node, const Places& open);

  const FunctionGraph& graph_;
  const FusionLimits& limits_;
  std::vector<int> place_;    // by node: in the list, -1 elsewhere
  std::vector<Part> parts_;   // by place; empty again when another step has taken it in
};

}  // namespace damo
