#include "ops/rewrites/fuse_takes.hpp"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ops/fused_op.hpp"
#include "ops/indexing/take_op.hpp"
#include "ops/lower.hpp"
#include "ops/rewrites/fusion_build.hpp"
#include "runtime/kernel/taken.hpp"

namespace damo {
namespace {

constexpr std::int64_t kLeastRow = 32, kMostRow = 8192;  // elements

const TakeOp* take_of(const FunctionGraph& graph, ValueId value) {
  const NodeId owner = graph.owner(value);
  return owner == NodeId::kNone ? nullptr : dynamic_cast<const TakeOp*>(&graph.op(owner));
}

/// Whether slices lie along the last axis, and what is known of them to lie side by side is long enough.
bool has_long_slices(const FunctionGraph& graph, NodeId node, const TakeOp& take) {
  const TensorType& from = graph.type(graph.inputs(node)[0]);
  const int first = take.axis() + take.axes();
  if (first >= from.rank() || from.dims[-1] == 1) return false;
  std::int64_t length = 1;
  for (int axis = take.is_strided() ? from.rank() - 1 : first; axis < from.rank(); ++axis) {
    if (from.dims[axis] == kUnknown) return true;
    length *= from.dims[axis];
  }
  return length * static_cast<std::int64_t>(itemsize(from.dtype)) >= kLeastSliceBytes;
}

/// Whether kernels find the slices whatever a call's arrays: rows that are known to be neither so short that several go through registers beside each other, nor so long that each pass is a kernel.
bool has_usual_slices(const FunctionGraph& graph, NodeId node, const TakeOp& take) {
  const std::int64_t length = graph.type(graph.inputs(node)[0]).dims[-1];
  return !take.is_strided() && length != kUnknown && length >= kLeastRow && length <= kMostRow;
}

/// Bit a: axis a of what is taken is one of its positions'.
std::uint32_t position_axes(const FunctionGraph& graph, NodeId node, const TakeOp& take) {
  const int rank = graph.type(graph.inputs(node)[1]).rank();
  return ((std::uint32_t{1} << rank) - 1) << take.axis();
}

class Fuser {
 public:
  Fuser(FunctionGraph& graph, const FusionLimits& limits) : graph_(graph), limits_(limits), builder_(graph) {}

  void run(FusionRecord* record) {
    std::vector<NodeId> readers;
    for (NodeId node : graph_.nodes()) {
      const auto* take = dynamic_cast<const TakeOp*>(&graph_.op(node));
      if (!take || !may_fuse(node, *take)) continue;
      for (const Use& use : graph_.uses(graph_.outputs(node)[0])) {
        std::vector<ValueId>& taken = taken_[use.node];
        if (taken.empty()) readers.push_back(use.node);
        if (std::find(taken.begin(), taken.end(), graph_.outputs(node)[0]) == taken.end()) taken.push_back(graph_.outputs(node)[0]);
      }
    }
    std::unordered_map<NodeId, NodeId> renamed;
    for (NodeId reader : readers) renamed.emplace(reader, fuse(reader, taken_.at(reader)));
    if (record) record->rename(renamed);
  }

 private:
  bool is_temporary(ValueId value) const {
    NodeId owner = graph_.owner(value);
    while (owner != NodeId::kNone && graph_.op(owner).passes_through(0) >= 0) owner = graph_.owner(graph_.inputs(owner)[static_cast<std::size_t>(graph_.op(owner).passes_through(0))]);
    return owner != NodeId::kNone;
  }

  bool may_fuse(NodeId node, const TakeOp& take) const {
    if (!has_long_slices(graph_, node, take)) return false;
    const auto uses = graph_.uses(graph_.outputs(node)[0]);
    const bool may_repeat = !is_temporary(graph_.inputs(node)[0]) && has_usual_slices(graph_, node, take);
    return !uses.empty() && std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
      return use.node != NodeId::kNone && ((may_repeat && !reduces_columns(use.node)) || use.node == uses[0].node) && finds(use, node, take);
    });
  }

  /// The axes that a kernel reduces, of so many of its space; 0 and 0 of what reduces nothing.
  std::pair<std::uint32_t, int> reduction_of(NodeId node) const {
    const Op& op = graph_.op(node);
    std::uint32_t reduced = 0;
    int rank = 0;
    const auto look = [&](const FunctionGraph& graph, NodeId member, const KernelOp& kernel) {
      if (kernel.reduced_axes()) rank = graph.type(graph.inputs(member)[0]).rank();
    };
    if (const auto* fused = dynamic_cast<const FusedOp*>(&op)) {
      const FunctionGraph& inner = *fused->inner_graph();
      for (NodeId member : inner.nodes()) look(inner, member, kernel_op(inner, member));
      reduced = fused->reduced_axes();
    } else if (const auto* alone = dynamic_cast<const KernelOp*>(&op)) {
      look(graph_, node, *alone);
      reduced = alone->reduced_axes().value_or(0);
    }
    return {reduced, rank};
  }

  bool reduces_columns(NodeId node) const {
    const auto [reduced, rank] = reduction_of(node);
    return rank > 0 && !(reduced >> (rank - 1) & 1u);
  }

  /// Whether the kernel that makes this use of it may find the slices itself.
  bool finds(const Use& use, NodeId node, const TakeOp& take) const {
    const Op& op = graph_.op(use.node);
    const auto* fused = dynamic_cast<const FusedOp*>(&op);
    const auto* alone = dynamic_cast<const KernelOp*>(&op);
    if ((!fused && !alone) || graph_.outputs(use.node).empty() || (alone && graph_.outputs(use.node).size() != 1)) return false;
    if (fused ? fused->size(use.position) || fused->is_table(use.position) : alone->reads_table(use.position)) return false;
    const auto inputs = graph_.inputs(use.node);
    const auto takes = std::count_if(inputs.begin(), inputs.end(), [&](ValueId input) { return take_of(graph_, input) != nullptr; });
    const auto arrays = std::count_if(inputs.begin(), inputs.end(), [&](ValueId input) { return !graph_.is_literal(input); });
    if (arrays + takes > limits_.inputs) return false;
    const auto scans = [](const KernelOp& kernel) { return kernel.scans() != KernelOp::Scans::kNo; };
    if (fused) {
      const FunctionGraph& inner = *fused->inner_graph();
      const std::vector<NodeId> members = inner.nodes();
      if (std::any_of(members.begin(), members.end(), [&](NodeId member) { return scans(kernel_op(inner, member)); })) return false;
    } else if (scans(*alone)) {
      return false;
    }
    const auto [reduced, rank] = reduction_of(use.node);
    if (rank == 0) return true;
    const int missing = rank - graph_.type(graph_.outputs(node)[0]).rank();
    if (missing < 0) return false;
    return reduces_columns(use.node) ? !fused || fused->across_axes() == 0 : !(reduced & position_axes(graph_, node, take) << missing);
  }

  NodeId fuse(NodeId reader, const std::vector<ValueId>& taken) {
    if (!graph_.op(reader).inner_graph()) reader = builder_.replace({reader});
    const auto& fused = static_cast<const FusedOp&>(graph_.op(reader));
    std::vector<ValueId> inputs(graph_.inputs(reader).begin(), graph_.inputs(reader).end()), positions;
    std::vector<TakenInput> takes;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (std::find(taken.begin(), taken.end(), inputs[i]) == taken.end()) continue;
      const NodeId node = graph_.owner(inputs[i]);
      takes.push_back({static_cast<int>(i), std::static_pointer_cast<const TakeOp>(graph_.op_ptr(node))});
      positions.push_back(graph_.inputs(node)[1]);
      inputs[i] = graph_.inputs(node)[0];
    }
    inputs.insert(inputs.end(), positions.begin(), positions.end());
    return builder_.replace(reader, fused.with_takes(std::move(takes)), inputs);
  }

  FunctionGraph& graph_;
  const FusionLimits& limits_;
  FusionBuilder builder_;
  std::unordered_map<NodeId, std::vector<ValueId>> taken_;  // by reader
};

}  // namespace

FunctionGraph fuse_takes(FunctionGraph graph, const FusionLimits& limits, FusionRecord* record) {
  if (!graph.has_op<TakeOp>()) return graph;
  Fuser(graph, limits).run(record);
  graph.prune();
  return graph;
}

}  // namespace damo
