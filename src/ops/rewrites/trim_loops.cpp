#include "ops/rewrites/trim_loops.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "ops/loop/loop_op.hpp"
#include "ops/subtensor_op.hpp"

namespace damo {
namespace {

using Kind = LoopOutput::Kind;

const SubtensorOp* subtensor_of(const FunctionGraph& graph, const Use& use) {
  const auto* op = use.node == NodeId::kNone ? nullptr : dynamic_cast<const SubtensorOp*>(&graph.op(use.node));
  return op && !op->indices().empty() ? op : nullptr;
}

/// Of how many rows at the end, or at the front, the index takes some, whatever their number; nothing if that is not so.
std::optional<std::int64_t> reach(const Index& index, bool from_front) {
  if (index.is_position()) {
    if (from_front) return index.position() >= 0 ? std::optional(index.position() + 1) : std::nullopt;
    return index.position() < 0 ? std::optional(-index.position()) : std::nullopt;
  }
  const Slice& slice = index.slice();
  if (slice.step < 1) return {};
  if (from_front) return slice.start.value_or(0) >= 0 && slice.stop && *slice.stop > 0 ? slice.stop : std::nullopt;
  return slice.start && *slice.start < 0 && (!slice.stop || *slice.stop < 0) ? std::optional(-*slice.start) : std::nullopt;
}

/// The same for all that read the value; nothing if one reads all of it.
std::optional<std::int64_t> reach(const FunctionGraph& graph, ValueId value, bool from_front) {
  std::int64_t most = 0;
  for (const Use& use : graph.uses(value)) {
    const SubtensorOp* op = subtensor_of(graph, use);
    const auto rows = op ? reach(op->indices()[0], from_front) : std::nullopt;
    if (!rows) return {};
    most = std::max(most, *rows);
  }
  return most;
}

/// Whether it is value[depth:], the rows that steps wrote.
bool is_computed_part(const FunctionGraph& graph, const Use& use, std::int64_t depth) {
  const SubtensorOp* op = subtensor_of(graph, use);
  if (!op || op->indices().size() != 1 || op->indices()[0].is_position()) return false;
  const Slice& slice = op->indices()[0].slice();
  return slice.start == depth && !slice.stop && slice.step == 1;
}

struct Trimming {
  std::vector<char> wanted;
  std::vector<LoopOutput> outputs;
  std::vector<std::vector<ValueId>> parts;  ///< by output: views of it in whose place it comes
  bool changes = false;
};

Trimming plan(const FunctionGraph& graph, NodeId node, const LoopPlan& loop) {
  Trimming trimming{{}, loop.outputs, std::vector<std::vector<ValueId>>(loop.outputs.size()), false};
  for (std::size_t i = 0; i < loop.outputs.size(); ++i) {
    const ValueId value = graph.outputs(node)[i];
    LoopOutput& output = trimming.outputs[i];
    const auto uses = graph.uses(value);
    trimming.wanted.push_back(!uses.empty());
    trimming.changes |= uses.empty();
    if (uses.empty() || output.kind == Kind::kSum || output.like >= 0 || output.keep >= 0) continue;
    const bool has_parts = !loop.is_backward && output.depth > 0 && std::all_of(uses.begin(), uses.end(), [&](const Use& use) { return is_computed_part(graph, use, output.depth); });
    std::optional<std::int64_t> rows = has_parts ? std::optional<std::int64_t>(0) : reach(graph, value, loop.is_backward);
    for (std::size_t u = 0; has_parts && rows && u < uses.size(); ++u) {
      const ValueId part = graph.outputs(uses[u].node)[0];
      const auto more = reach(graph, part, false);
      rows = more ? std::optional(std::max(*rows, *more)) : std::nullopt;
      trimming.parts[i].push_back(part);
    }
    if (!rows || *rows == 0) {
      trimming.parts[i].clear();
      continue;
    }
    output.keep = *rows;
    output.keeps_initial = !has_parts;
    trimming.changes = true;
  }
  return trimming;
}

bool trim_node(FunctionGraph& graph, NodeId node) {
  const auto& loop = static_cast<const LoopOp&>(graph.op(node));
  const Trimming trimming = plan(graph, node, loop.plan());
  if (!trimming.changes) return false;
  const TrimmedLoop trimmed = trim(loop, static_cast<int>(graph.inputs(node).size()), trimming.wanted, trimming.outputs);
  std::vector<ValueId> inputs;
  for (int input : trimmed.inputs) inputs.push_back(graph.inputs(node)[static_cast<std::size_t>(input)]);
  const std::vector<ValueId> outputs(graph.outputs(node).begin(), graph.outputs(node).end());
  const NodeId made = graph.add(trimmed.op, inputs, graph.where(node));
  for (std::size_t i = 0; i < trimmed.outputs.size(); ++i) {
    const auto old = static_cast<std::size_t>(trimmed.outputs[i]);
    const ValueId value = graph.outputs(made)[i];
    for (ValueId part : trimming.parts[old]) graph.replace(part, value);
    if (trimming.parts[old].empty()) graph.replace(outputs[old], value);
  }
  graph.prune();
  return true;
}

}  // namespace

FunctionGraph trim_loops(FunctionGraph graph) {
  if (!graph.has_op<LoopOp>()) return graph;
  std::vector<NodeId> loops;
  for (NodeId node : graph.nodes()) {
    if (dynamic_cast<const LoopOp*>(&graph.op(node))) loops.push_back(node);
  }
  if (loops.empty()) return graph;
  graph.prune();
  const std::vector<NodeId> order = graph.toposort();
  for (auto node = order.rbegin(); node != order.rend(); ++node) {  // readers first: they may come to read less
    if (graph.is_alive(*node) && dynamic_cast<const LoopOp*>(&graph.op(*node))) trim_node(graph, *node);
  }
  return graph;
}

}  // namespace damo
