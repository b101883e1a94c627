#include "ops/rewrites/fusion.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ops/lower.hpp"
#include "ops/rewrites/fusion_build.hpp"
#include "ops/rewrites/fusion_cut.hpp"
#include "ops/rewrites/fusion_groups.hpp"
#include "ops/rewrites/fusion_reductions.hpp"
#include "ops/rewrites/fusion_repeats.hpp"
#include "ops/rewrites/woven_parts.hpp"

namespace damo {
namespace {

/// The limit that one kernel of the members would pass; kNone if it would not.
Apart limit_passed(const FusionLimits& limits, const FunctionGraph& graph, const std::vector<NodeId>& members) {
  const std::unordered_set<NodeId> inside(members.begin(), members.end());
  std::unordered_set<ValueId> read;
  int cost = 0, written = 0;
  for (NodeId node : members) {
    cost += kernel_op(graph, node).cost();
    for (ValueId input : graph.inputs(node)) {
      if (!graph.is_literal(input) && !inside.contains(graph.owner(input))) read.insert(input);
    }
    const auto uses = graph.uses(graph.outputs(node)[0]);
    written += std::any_of(uses.begin(), uses.end(), [&](const Use& use) { return !inside.contains(use.node); });
  }
  if (cost > limits.cost) return Apart::kCost;
  if (static_cast<int>(read.size()) > limits.inputs) return Apart::kInputs;
  return written > limits.outputs ? Apart::kOutputs : Apart::kNone;
}

/// The nodes of each kernel, and why kernels that lie side by side are two.
class KernelPlan {
 public:
  KernelPlan(const FunctionGraph& graph, const FusionLimits& limits) : graph_(graph), elementwise_(graph), kernel_of_(static_cast<std::size_t>(graph.node_limit()), -1) {
    for (int i = 0; i < graph.op_limit(); ++i) {
      const auto* op = dynamic_cast<const KernelOp*>(&graph.op(static_cast<OpId>(i)));
      reduces_.push_back(op && op->reduced_axes());
    }
    const std::vector<NodeId> nodes = graph.nodes();
    const bool has_reductions = std::find(reduces_.begin(), reduces_.end(), 1) != reduces_.end() && std::any_of(nodes.begin(), nodes.end(), [&](NodeId node) { return is_reduction(node); });
    std::vector<std::vector<NodeId>> groups = has_reductions ? with_reductions(limits) : elementwise_.take_groups();
    FusionCut cut(graph, limits);
    for (int group = 0; group < static_cast<int>(groups.size()); ++group) {
      std::vector<NodeId>& members = groups[static_cast<std::size_t>(group)];
      if (has_reductions && std::any_of(members.begin(), members.end(), [&](NodeId node) { return is_reduction(node); })) {
        add({std::move(members), group, Apart::kNone});
        continue;
      }
      std::vector<std::vector<NodeId>> runs = cut(members);
      for (std::size_t run = 0; run < runs.size(); ++run) add({std::move(runs[run]), group, cut.end_of(run)});
    }
  }

  struct Kernel {
    std::vector<NodeId> members;
    int group;
    Apart end;  // the limit behind which others of its group begin
  };
  const std::vector<Kernel>& kernels() const { return kernels_; }
  /// By node: its number; -1 of those that no kernel has.
  std::span<const int> kernel_of() const { return kernel_of_; }

  struct Border {
    int producer, reader;  // kernels
    Apart why;
  };
  std::vector<Border> borders() {
    std::vector<Border> all;
    for (int reader = 0; reader < static_cast<int>(kernels_.size()); ++reader) {
      for (NodeId node : kernels_[static_cast<std::size_t>(reader)].members) {
        for (ValueId input : graph_.inputs(node)) {
          const NodeId owner = graph_.owner(input);
          const int producer = owner == NodeId::kNone ? -1 : kernel_of_[static_cast<std::size_t>(owner)];
          if (producer >= 0 && producer != reader) all.push_back({producer, reader, why_apart(owner, node)});
        }
      }
    }
    return all;
  }

 private:
  bool is_reduction(NodeId node) const { return reduces_[static_cast<std::size_t>(graph_.op_id(node))] != 0; }

  /// Reductions whose groups grow beyond the limits stay alone: first those across rows, which a group needs least.
  std::vector<std::vector<NodeId>> with_reductions(const FusionLimits& limits) {
    std::unordered_set<NodeId> alone;
    for (std::size_t before = 1; before != alone.size();) {
      before = alone.size();
      reductions_.emplace(graph_, elementwise_.groups(), alone);
      for (const std::vector<NodeId>& members : reductions_->groups()) {
        const Apart passed = members.size() < 2 ? Apart::kNone : limit_passed(limits, graph_, members);
        if (passed == Apart::kNone) continue;
        std::uint32_t axes = 0;
        for (NodeId node : members) axes |= kernel_op(graph_, node).reduced_axes().value_or(0);
        const bool joins_across = std::any_of(members.begin(), members.end(), [&](NodeId node) { return is_reduction(node) && *kernel_op(graph_, node).reduced_axes() != axes; });
        for (NodeId node : members) {
          if (!is_reduction(node)) continue;
          if (joins_across && *kernel_op(graph_, node).reduced_axes() >> (graph_.type(graph_.inputs(node)[0]).dims.rank() - 1) & 1u) continue;
          alone.insert(node);
          limit_of_.emplace(node, passed);
        }
      }
    }
    return reductions_->groups();
  }

  void add(Kernel kernel) {
    for (NodeId node : kernel.members) kernel_of_[static_cast<std::size_t>(node)] = static_cast<int>(kernels_.size());
    kernels_.push_back(std::move(kernel));
  }

  Apart why_apart(NodeId producer, NodeId reader) {
    const Kernel &from = kernels_[static_cast<std::size_t>(kernel_of_[static_cast<std::size_t>(producer)])], &to = kernels_[static_cast<std::size_t>(kernel_of_[static_cast<std::size_t>(reader)])];
    if (from.group == to.group) return from.end;
    for (NodeId node : {producer, reader}) {
      if (const auto found = limit_of_.find(node); found != limit_of_.end()) return found->second;
    }
    const Apart why = reductions_ ? reductions_->apart(producer, reader) : Apart::kNone;
    if (why != Apart::kNone || is_reduction(producer) || is_reduction(reader)) return std::max(why, Apart::kCycle);
    return elementwise_.apart(producer, reader);
  }

  const FunctionGraph& graph_;
  FusionGroups elementwise_;
  std::vector<char> reduces_;                   // by op
  std::optional<ReductionGroups> reductions_;
  std::unordered_map<NodeId, Apart> limit_of_;  // of reductions that stay alone
  std::vector<int> kernel_of_;                  // by node
  std::vector<Kernel> kernels_;
};

/// Whether it is worth a FusedOp of its own: the number need not lie in memory.
bool reads_size(const FunctionGraph& graph, NodeId node) {
  const auto inputs = graph.inputs(node);
  return std::any_of(inputs.begin(), inputs.end(), [&](ValueId input) { return graph.owner(input) != NodeId::kNone && dynamic_cast<const SizeOp*>(&graph.op(graph.owner(input))); });
}

}  // namespace

FunctionGraph fuse_elementwise(FunctionGraph graph, const FusionLimits& limits, FusionRecord* record) {
  copy_woven_parts(graph);
  std::optional<KernelPlan> plan(std::in_place, graph, limits);
  if (repeat_free_values(graph, plan->kernel_of())) {
    graph.prune();
    plan.emplace(graph, limits);
  }
  const std::vector<KernelPlan::Border> borders = record ? plan->borders() : std::vector<KernelPlan::Border>();
  FusionBuilder builder(graph);
  std::vector<NodeId> made;
  for (const KernelPlan::Kernel& kernel : plan->kernels()) made.push_back(kernel.members.size() > 1 || reads_size(graph, kernel.members[0]) ? builder.replace(kernel.members) : kernel.members[0]);
  for (const KernelPlan::Border& border : borders) record->note(made[static_cast<std::size_t>(border.producer)], made[static_cast<std::size_t>(border.reader)], border.why);
  graph.prune();
  return graph;
}

}  // namespace damo
