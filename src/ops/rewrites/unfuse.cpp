#include "ops/rewrites/unfuse.hpp"

#include <span>
#include <vector>

#include "ops/fused_op.hpp"
#include "ops/joined_op.hpp"

namespace damo {
namespace {

/// The inner graph's nodes, on these values, in the place of these.
void put(FunctionGraph& graph, const FusedOp& fused, std::span<const ValueId> inputs, std::span<const ValueId> outputs, SourceLine where) {
  const FunctionGraph& inner = *fused.inner_graph();
  std::vector<ValueId> outer(static_cast<std::size_t>(inner.value_limit()), ValueId::kNone);
  const auto at = [&](ValueId value) -> ValueId& { return outer[static_cast<std::size_t>(value)]; };
  for (std::size_t i = 0; i < inner.inputs().size(); ++i) {
    const ValueId input = inner.inputs()[i];
    const SizeOp* size = fused.size(static_cast<int>(i));
    at(input) = size ? graph.outputs(graph.add(size->shared_from_this(), inputs.subspan(i, 1), {&inner.type(input), 1}, where))[0] : inputs[i];
  }
  for (std::size_t i = 0; i < fused.takes().size(); ++i) {
    const TakenInput& taken = fused.takes()[i];
    const ValueId input = inner.inputs()[static_cast<std::size_t>(taken.input)], read[] = {inputs[static_cast<std::size_t>(taken.input)], inputs[inner.inputs().size() + i]};
    at(input) = graph.outputs(graph.add(taken.op, read, {&inner.type(input), 1}, where))[0];
  }
  for (const FramedInput& frame : fused.frames()) {
    const ValueId input = inner.inputs()[static_cast<std::size_t>(frame.input)], read[] = {inputs[static_cast<std::size_t>(frame.input)], graph.add_constant(constant(frame.value, where).constant())};
    at(input) = graph.outputs(graph.add(frame.op, read, {&inner.type(input), 1}, where))[0];
  }
  for (NodeId node : inner.toposort()) {
    std::vector<ValueId> read;
    for (ValueId value : inner.inputs(node)) {
      if (at(value) == ValueId::kNone) at(value) = graph.add_constant(inner.constant(value));
      read.push_back(at(value));
    }
    const TensorType types[] = {inner.type(inner.outputs(node)[0])};
    at(inner.outputs(node)[0]) = graph.outputs(graph.add(inner.op_ptr(node), read, types, inner.where(node)))[0];
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) graph.replace(outputs[i], at(inner.outputs()[i]));
}

}  // namespace

FunctionGraph unfuse(FunctionGraph graph) {
  for (NodeId node : graph.nodes()) {
    const std::vector<ValueId> inputs(graph.inputs(node).begin(), graph.inputs(node).end()), outputs(graph.outputs(node).begin(), graph.outputs(node).end());
    const OpPtr op = graph.op_ptr(node);
    if (const auto* fused = dynamic_cast<const FusedOp*>(op.get())) {
      put(graph, *fused, inputs, outputs, graph.where(node));
    } else if (const auto* joined = dynamic_cast<const JoinedOp*>(op.get())) {
      std::size_t input = 0, output = 0;
      for (const auto& member : joined->members()) {
        const FunctionGraph& inner = *member->inner_graph();
        put(graph, *member, std::span(inputs).subspan(input, inner.inputs().size()), std::span(outputs).subspan(output, inner.outputs().size()), graph.where(node));
        input += inner.inputs().size();
        output += inner.outputs().size();
      }
    }
  }
  graph.prune();
  return graph;
}

}  // namespace damo
