// Cutting a fusion group to size. The members run in an order that holds few values at once (fusion_order.hpp); kernels are
// runs of that order, each as long as the limits allow, and where a group must be cut it is cut where the fewest bytes go
// through memory. A large tree is no list: it is cut from its leaves up (tree_cut.hpp), so that its like subtrees are like kernels. Among cuts that cost
// the same that one is taken behind which the next kernel begins as this one does: then the like parts of a long chain become kernels of one
// text, which is compiled once. Where one array alone crosses, kernels are half as long as they might be, since long ones compile for longer than two of their half. Values are the same wherever the cut is: each step computes what it computed, and runs keep the order.
#pragma once
#include <algorithm>
#include <vector>

#include <damo/graph.hpp>
#include <damo/options.hpp>
#include "ops/rewrites/fusion_order.hpp"
#include "ops/rewrites/fusion_record.hpp"

namespace damo {

class FusionCut {
 public:
  FusionCut(const FunctionGraph& graph, const FusionLimits& limits)
      : graph_(graph), limits_(limits), order_(graph), value_(static_cast<std::size_t>(graph.value_limit())) {}

  /// members: a group, inputs before users -> runs of it within the limits, the steps of each in the order that they run in.
  std::vector<std::vector<NodeId>> operator()(const std::vector<NodeId>& members);
  /// The limit at which a run of the last group ended; of a tree's kernels that which the group passed first.
  Apart end_of(std::size_t run) const { return passed_[std::min(run, passed_.size() - 1)]; }

 private:
  /// How a value stands in the list of members at hand.
  struct Value {
    int last = -1;        // the place of the last member that reads it
    int list = -1;        // the list that this is said of
    int run = -1;         // the last run that reads it as an input
    int made = -1;        // the place of the member that makes it
    int readers = 0;      // members, each reading counted
    ValueId next = ValueId::kNone;  // of those whose last reader stands in the same place
    bool leaves = false;  // some node outside reads it: an output of whatever kernel makes it
  };
  Value& at(ValueId value) { return value_[static_cast<std::size_t>(value)]; }
  void enter(const std::vector<NodeId>& members);
  bool is_bushy(const std::vector<NodeId>& members);
  std::size_t end_of_run(const std::vector<NodeId>& members, std::size_t begin);
  bool begins_alike(NodeId a, NodeId b) const;

  const FunctionGraph& graph_;
  const FusionLimits& limits_;
  FusionOrder order_;
  std::vector<Value> value_;
  std::vector<Apart> passed_;     // by run
  std::vector<ValueId> closing_;  // by place: the first of the values whose last reader in the list stands there
  int lists_ = 0, runs_ = 0;
};

}  // namespace damo
