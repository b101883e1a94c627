#include "ops/rewrites/fuse_pads.hpp"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ops/dimshuffle_op.hpp"
#include "ops/fused_op.hpp"
#include "ops/lower.hpp"
#include "ops/pad_op.hpp"
#include "ops/rewrites/fusion_build.hpp"

namespace damo {
namespace {

class PadFuser {
 public:
  PadFuser(FunctionGraph& graph, const FusionLimits& limits) : graph_(graph), limits_(limits), builder_(graph) {}

  void run(FusionRecord* record) {
    std::vector<NodeId> readers;
    for (NodeId node : graph_.nodes()) {
      const ValueId padded = is_pad(node) ? graph_.outputs(node)[0] : ValueId::kNone;
      if (padded == ValueId::kNone || !may_fuse(node)) continue;
      const NodeId reader = graph_.uses(padded)[0].node;
      std::vector<ValueId>& pads = pads_[reader];
      if (pads.empty()) readers.push_back(reader);
      pads.push_back(padded);
    }
    std::unordered_map<NodeId, NodeId> renamed;
    for (NodeId reader : readers) {
      if (reads_few(reader)) renamed.emplace(reader, fuse(reader, pads_.at(reader)));
    }
    if (record) record->rename(renamed);
  }

 private:
  bool is_pad(NodeId node) const { return dynamic_cast<const PadOp*>(&graph_.op(node)) != nullptr; }

  bool is_turned(ValueId value) const {
    NodeId owner = graph_.owner(value);
    while (owner != NodeId::kNone && graph_.op(owner).view_of(0) >= 0) {
      const auto* turn = dynamic_cast<const DimShuffleOp*>(&graph_.op(owner));
      if (turn && !turn->keeps_order()) return true;
      owner = graph_.owner(graph_.inputs(owner)[static_cast<std::size_t>(graph_.op(owner).view_of(0))]);
    }
    return false;
  }

  bool may_fuse(NodeId node) const {
    const auto uses = graph_.uses(graph_.outputs(node)[0]);
    if (!graph_.is_literal(graph_.inputs(node)[1]) || graph_.is_literal(graph_.inputs(node)[0]) || uses.empty() || is_turned(graph_.inputs(node)[0])) return false;
    return std::all_of(uses.begin(), uses.end(), [&](const Use& use) { return use.node != NodeId::kNone && use.node == uses[0].node && reads_elements(use); });
  }

  /// Whether the kernel that makes this use of a value is elementwise, and reads it.
  bool reads_elements(const Use& use) const {
    const Op& op = graph_.op(use.node);
    const auto* fused = dynamic_cast<const FusedOp*>(&op);
    if (fused) return fused->reduced_axes() == 0 && fused->across_axes() == 0 && !has_reductions(*fused->inner_graph()) && !fused->size(use.position) && !fused->take(use.position) && !fused->is_table(use.position) && use.position < fused->array_count();
    const auto* alone = dynamic_cast<const KernelOp*>(&op);
    return alone && !alone->reads_table(use.position) && !alone->reduced_axes() && alone->scans() == KernelOp::Scans::kNo && graph_.outputs(use.node).size() == 1;
  }

  /// Whether a launch has room for what frames take, of which each has places along two lists of axes beside the array's strides, and no input would want tiles.
  bool reads_few(NodeId reader) const {
    const auto inputs = graph_.inputs(reader);
    const auto arrays = std::count_if(inputs.begin(), inputs.end(), [&](ValueId input) { return !graph_.is_literal(input); });
    const auto* fused = dynamic_cast<const FusedOp*>(&graph_.op(reader));
    const std::size_t takes = fused ? fused->takes().size() : 0;
    return static_cast<std::size_t>(arrays) + takes + 2 * pads_.at(reader).size() <= static_cast<std::size_t>(limits_.inputs) && std::none_of(inputs.begin(), inputs.end(), [&](ValueId input) { return is_turned(input); });
  }

  NodeId fuse(NodeId reader, const std::vector<ValueId>& pads) {
    if (!graph_.op(reader).inner_graph()) reader = builder_.replace({reader});
    const auto& fused = static_cast<const FusedOp&>(graph_.op(reader));
    std::vector<ValueId> inputs(graph_.inputs(reader).begin(), graph_.inputs(reader).end());
    std::vector<FramedInput> frames;
    for (std::size_t i = 0; i < static_cast<std::size_t>(fused.array_count()); ++i) {
      if (std::find(pads.begin(), pads.end(), inputs[i]) == pads.end()) continue;
      const NodeId node = graph_.owner(inputs[i]);
      frames.push_back({static_cast<int>(i), std::static_pointer_cast<const PadOp>(graph_.op_ptr(node)), graph_.number(graph_.inputs(node)[1])});
      inputs[i] = graph_.inputs(node)[0];
    }
    return builder_.replace(reader, fused.with_frames(std::move(frames)), inputs);
  }

  FunctionGraph& graph_;
  const FusionLimits& limits_;
  FusionBuilder builder_;
  std::unordered_map<NodeId, std::vector<ValueId>> pads_;  // by reader
};

}  // namespace

FunctionGraph fuse_pads(FunctionGraph graph, const FusionLimits& limits, FusionRecord* record) {
  if (!graph.has_op<PadOp>()) return graph;
  PadFuser(graph, limits).run(record);
  graph.prune();
  return graph;
}

}  // namespace damo
