#include "ops/rewrites/fusion_build.hpp"

#include <algorithm>
#include <utility>

#include "ops/lower.hpp"

namespace damo {

ValueId& FusionBuilder::inner_value(ValueId outer) {
  if (static_cast<std::size_t>(outer) >= value_of_.size()) value_of_.resize(static_cast<std::size_t>(graph_.value_limit()), ValueId::kNone);
  ValueId& value = value_of_[static_cast<std::size_t>(outer)];
  if (value == ValueId::kNone) touched_.push_back(outer);
  return value;
}

std::shared_ptr<const SizeOp> FusionBuilder::size_of_input(ValueId value) const {
  const NodeId owner = graph_.owner(value);
  return owner == NodeId::kNone ? nullptr : std::dynamic_pointer_cast<const SizeOp>(graph_.op_ptr(owner));
}

ValueId& FusionBuilder::inner_input(NodeId node, std::size_t i) {
  const ValueId outer = graph_.inputs(node)[i];
  return reads_table(graph_, node, static_cast<int>(i)) ? table_of_.try_emplace(outer, ValueId::kNone).first->second : inner_value(outer);
}

void FusionBuilder::find_inputs(NodeId node) {
  const std::vector<ValueId> inputs(graph_.inputs(node).begin(), graph_.inputs(node).end());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ValueId input = inputs[i];
    if (is_inside(graph_.owner(input)) || graph_.is_literal(input)) continue;
    ValueId& value = inner_input(node, i);
    if (value != ValueId::kNone) continue;
    if (std::shared_ptr<const SizeOp> size = size_of_input(input)) {
      const ValueId x = graph_.inputs(graph_.owner(input))[0];  // its shape is what the kernel's number follows from
      value = inner_.add_input(graph_.type(input), "size" + (graph_.name(x).empty() ? "" : " of " + graph_.name(x)));
      sizes_.resize(inputs_.size());
      sizes_.push_back(std::move(size));
      inputs_.push_back(x);
      continue;
    }
    value = inner_.add_input(graph_.type(input), graph_.name(input));
    inputs_.push_back(input);
  }
}

void FusionBuilder::add(NodeId node) {
  SmallList<ValueId, 4> values;
  const auto inputs = graph_.inputs(node);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    ValueId& value = inner_input(node, i);
    if (value == ValueId::kNone) value = inner_.add_constant(graph_.constant(inputs[i]));
    values.push_back(value);
  }
  const ValueId output = graph_.outputs(node)[0];
  const NodeId copy = inner_.add(graph_.op_ptr(node), {values.data(), values.size()}, {&graph_.type(output), 1}, graph_.where(node));
  inner_value(output) = inner_.outputs(copy)[0];
  const auto uses = graph_.uses(output);
  if (std::all_of(uses.begin(), uses.end(), [&](const Use& use) { return is_inside(use.node); })) return;
  inner_.add_output(inner_.outputs(copy)[0]);
  outputs_.push_back(output);
}

void FusionBuilder::build(const std::vector<NodeId>& members) {
  ++group_;
  group_of_.resize(static_cast<std::size_t>(graph_.node_limit()), 0);
  for (NodeId node : members) group_of_[static_cast<std::size_t>(node)] = group_;
  for (NodeId node : members) find_inputs(node);
  for (NodeId node : members) add(node);
}

void FusionBuilder::forget() {
  for (ValueId value : touched_) value_of_[static_cast<std::size_t>(value)] = ValueId::kNone;
  for (auto* list : {&touched_, &inputs_, &outputs_}) list->clear();
  table_of_.clear();
  sizes_.clear();
}

FunctionGraph FusionBuilder::inner_graph_of(const std::vector<NodeId>& members) {
  build(members);
  forget();
  return std::exchange(inner_, {});
}

NodeId FusionBuilder::replace(const std::vector<NodeId>& members) {
  build(members);
  std::vector<TensorType> types;
  for (ValueId output : outputs_) types.push_back(graph_.type(output));
  std::vector<bool> values;
  for (const auto& size : sizes_) values.push_back(size != nullptr);
  std::shared_ptr<FusedForm> form = forms_.of(inner_, std::move(values));
  const NodeId fused = graph_.add(std::make_shared<const FusedOp>(std::exchange(inner_, {}), std::move(form), sizes_), inputs_, types, graph_.where(members.back()));
  for (std::size_t i = 0; i < outputs_.size(); ++i) graph_.replace(outputs_[i], graph_.outputs(fused)[i]);
  forget();
  return fused;
}

NodeId FusionBuilder::replace(NodeId node, const OpPtr& op, const std::vector<ValueId>& inputs) {
  const std::vector<ValueId> outputs(graph_.outputs(node).begin(), graph_.outputs(node).end());
  std::vector<TensorType> types;
  for (ValueId output : outputs) types.push_back(graph_.type(output));
  const NodeId made = graph_.add(op, inputs, types, graph_.where(node));
  for (std::size_t i = 0; i < outputs.size(); ++i) graph_.replace(outputs[i], graph_.outputs(made)[i]);
  return made;
}

}  // namespace damo
