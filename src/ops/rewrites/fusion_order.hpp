// The order of the steps of a fused kernel. Between its making and its last reading a value takes a register, so that
// sum = x * a + x * b + ... needs three of them where each product is added as soon as it is made, and one a product where
// all products come first, as a topological order may have it.
//
// The order is that of Sethi and Ullman (1970): depth first, of the inputs of a step the one that needs most registers
// comes first. That is the best order of a tree. Of other graphs it need not be, so the order that was given stays where it
// holds fewer values at once. Linear but for sorting each step's inputs.
#pragma once
#include <vector>

#include <damo/graph.hpp>

namespace damo {

class FusionOrder {
 public:
  explicit FusionOrder(const FunctionGraph& graph) : graph_(graph), place_(static_cast<std::size_t>(graph.node_limit()), -1) {}
  /// members: inputs before users.
  std::vector<NodeId> operator()(const std::vector<NodeId>& members);
  /// The most words that are held at once if the members run in this order.
  int words_held(const std::vector<NodeId>& members);

 private:
  /// place_ says where each node stands in the list, -1 for all others.
  void enter(const std::vector<NodeId>& members);
  void leave(const std::vector<NodeId>& members);
  int place(NodeId node) const { return node == NodeId::kNone ? -1 : place_[static_cast<std::size_t>(node)]; }
  using Places = SmallList<int, 4>;
  int needed_by(const Places& inputs, int own) const;
  Places inputs_inside(NodeId node) const;
  std::vector<NodeId> depth_first(const std::vector<NodeId>& members);

  const FunctionGraph& graph_;
  std::vector<int> place_;
  std::vector<int> needed_;  // words, by place
};

}  // namespace damo
