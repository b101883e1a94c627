#include <damo/graph.hpp>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "graph/apply_data.hpp"
#include "graph/assignments.hpp"
#include "graph/base/hash_index.hpp"
#include "graph/op_claims.hpp"
#include "graph/order.hpp"

namespace damo {
namespace {

bool same_use(const Use& a, const Use& b) { return a.node == b.node && a.position == b.position; }

/// "input 1 (y float32 (?,))"
std::string which(std::size_t i, const Variable& variable, const char* role) {
  return std::string(role) + " " + std::to_string(i) + " (" + damo::describe(variable) + ")";
}

void verify_claims(const FunctionGraph& graph, NodeId node) {
  if (!has_claims(graph.op(node), graph.outputs(node).size())) return;
  std::vector<TensorType> from, to;
  for (ValueId value : graph.inputs(node)) from.push_back(graph.type(value));
  for (ValueId value : graph.outputs(node)) to.push_back(graph.type(value));
  try {
    check_claims(graph.op(node), from, to);
  } catch (Error& error) {
    error.add_where(graph.describe(node));
    throw;
  }
}

[[noreturn]] void bad_graph(std::string message, const Variable& variable, std::string remedy) {
  ErrorParts parts{"function: " + std::move(message), {}, {}, std::move(remedy)};
  if (variable.where()) parts.where = "built at " + to_string(variable.where());
  throw GraphError(std::move(parts));
}

void check_replacement(const TensorType& from, const TensorType& to) {
  if (from.dtype == to.dtype && from.rank() == to.rank()) return;
  throw TypeError("rewrite: a " + to_string(from) + " cannot be replaced by a " + to_string(to));
}

/// Numbers for nodes, in order of asking.
class NodeNumbering {
 public:
  int number(ApplyData* node) {
    const int next = static_cast<int>(nodes_.size());
    const int found = index_.find_or_add(std::hash<ApplyData*>()(node) >> 4, next, [&](int other) { return nodes_[static_cast<std::size_t>(other)] == node; });
    if (found < 0) nodes_.push_back(node);
    return found < 0 ? next : found;
  }
  int count() const { return static_cast<int>(nodes_.size()); }

 private:
  HashIndex index_{1024};
  std::vector<ApplyData*> nodes_;
};

/// Every node that outputs need, inputs before users, without recursion; but those that have a number already, the graph's inputs.
std::vector<ApplyData*> needed_nodes(std::span<const Variable> outputs, NodeNumbering& numbering) {
  struct Visit {
    ApplyData* node;
    std::size_t next = 0;
  };
  std::vector<ApplyData*> order;
  std::vector<Visit> stack;
  const auto enter = [&](ApplyData* node) {
    const int before = numbering.count(), number = numbering.number(node);
    if (number >= before) stack.push_back({node});
  };
  for (const Variable& output : outputs) {
    enter(ApplyData::of(output));
    while (!stack.empty()) {
      Visit& top = stack.back();
      if (top.next == top.node->inputs.size()) {
        order.push_back(top.node);
        stack.pop_back();
      } else {
        enter(ApplyData::of(top.node->inputs[top.next++]));
      }
    }
  }
  return order;
}

}  // namespace

FunctionGraph::FunctionGraph(std::span<const Variable> inputs, std::span<const Variable> outputs, bool allow_unused, std::span<const Assignment> updates) {
  check_inputs(inputs);
  check_updates(updates);
  copy(inputs, outputs, updates);
  if (!allow_unused) check_unused(inputs);
}

void FunctionGraph::check_inputs(std::span<const Variable> inputs) const {
  std::unordered_set<std::size_t> seen;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Variable& input = inputs[i];
    if (!input) throw GraphError("function: input " + std::to_string(i) + " is an empty Variable");
    if (input.is_constant()) bad_graph(which(i, input, "input") + " is a constant", input, "leave it out: its value is in the graph");
    if (input.is_shared()) bad_graph(which(i, input, "input") + " is a shared variable", input, "leave it out: a Function finds those of its graph itself");
    if (input.has_owner()) {
      bad_graph(which(i, input, "input") + " is computed by " + input.owner().op().name(), input, "inputs are made by input(), matrix(), ...");
    }
    if (!seen.insert(input.id()).second) bad_graph(which(i, input, "input") + " is given twice", input, "name each input once");
  }
}

void FunctionGraph::copy(std::span<const Variable> inputs, std::span<const Variable> results, std::span<const Assignment> updates) {
  NodeNumbering numbering;
  std::vector<ValueId> first_value;  // by node; a node's values are numbered consecutively
  const auto first_of = [&](const Variable& variable) -> ValueId& { return first_value[static_cast<std::size_t>(numbering.number(ApplyData::of(variable)))]; };
  for (const Variable& input : inputs) {
    const ValueId value = new_value(input.type());
    at(value).name = input.name();
    numbering.number(ApplyData::of(input));
    first_value.push_back(value);
    inputs_.push_back(value);
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i]) throw GraphError("function: output " + std::to_string(i) + " is an empty Variable");
  }
  std::vector<Variable> outputs(results.begin(), results.end());
  for (const Assignment& update : updates) outputs.push_back(update.value);
  std::vector<Variable> wanted = outputs;
  for (const Assignment& update : updates) wanted.push_back(update.variable);
  const std::vector<ApplyData*> needed = needed_nodes(wanted, numbering);
  first_value.resize(static_cast<std::size_t>(numbering.count()));
  nodes_.reserve(needed.size());
  values_.reserve(needed.size() + inputs.size());
  for (ApplyData* data : needed) {
    if (!data->op && !data->constant && !data->shared) {
      const Variable unknown = ApplyData::output(data, 0);
      bad_graph(damo::describe(unknown) + " is needed by the outputs and is not among the inputs", unknown, "add it to the inputs");
    }
    const auto number = static_cast<NodeId>(nodes_.size());
    for (std::size_t i = 0; i < data->types.size(); ++i) {
      const ValueId value = new_value(data->types[i]);
      if (i == 0) first_value[static_cast<std::size_t>(numbering.number(data))] = value;
      Value& record = at(value);
      record.constant = data->constant;
      record.shared = data->shared;
      if (!data->names.empty()) record.name = data->names[i];
      if (data->op) record.owner = number, record.owner_index = static_cast<int>(i);
    }
    if (!data->op) continue;
    Node node{data->op, {}, {}, data->where};
    const auto first = static_cast<int>(first_value[static_cast<std::size_t>(numbering.number(data))]);
    for (int i = 0; i < static_cast<int>(data->types.size()); ++i) node.outputs.push_back(static_cast<ValueId>(first + i));
    for (const Variable& input : data->inputs) {
      const auto value = static_cast<ValueId>(static_cast<int>(first_of(input)) + input.index());
      at(value).uses.push_back({number, static_cast<int>(node.inputs.size())});
      node.inputs.push_back(value);
    }
    nodes_.push_back(std::move(node));
    ++alive_;
  }
  for (const Variable& output : outputs) {
    const auto value = static_cast<ValueId>(static_cast<int>(first_of(output)) + output.index());
    at(value).uses.push_back({NodeId::kNone, static_cast<int>(outputs_.size())});
    outputs_.push_back(value);
  }
  for (const Assignment& update : updates) updated_.push_back(first_of(update.variable));
}

void FunctionGraph::check_unused(std::span<const Variable> inputs) const {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!uses(inputs_[i]).empty()) continue;
    bad_graph(which(i, inputs[i], "input") + " is used by no output", inputs[i],
              "leave it out, or set Options::allow_unused_inputs");
  }
}

ValueId FunctionGraph::new_value(TensorType type) {
  values_.push_back({std::move(type)});
  return static_cast<ValueId>(values_.size() - 1);
}

std::vector<NodeId> FunctionGraph::nodes() const {
  std::vector<NodeId> ids;
  ids.reserve(static_cast<std::size_t>(alive_));
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].alive) ids.push_back(static_cast<NodeId>(i));
  }
  return ids;
}

bool FunctionGraph::is_output(ValueId value) const {
  return std::any_of(uses(value).begin(), uses(value).end(), [](const Use& use) { return use.node == NodeId::kNone; });
}

NodeId FunctionGraph::add(const OpPtr& op, std::span<const ValueId> inputs, SourceLine where) {
  std::vector<Variable> placeholders;
  for (ValueId value : inputs) placeholders.push_back(constant(value) ? damo::constant(*constant(value)) : input(type(value), name(value)));
  const Apply node = op->apply(placeholders, where);
  if (node.op_ptr() != op || node.inputs().size() != inputs.size()) {
    throw GraphError("op " + op->name() + " changes its inputs in make_node; add the ops that it wants yourself");
  }
  std::vector<TensorType> types;
  for (const Variable& output : node.outputs()) types.push_back(output.type());
  return add(op, inputs, types, where);
}

NodeId FunctionGraph::add(const OpPtr& op, std::span<const ValueId> inputs, std::span<const TensorType> types, SourceLine where) {
  const auto number = static_cast<NodeId>(nodes_.size());
  Node node{op, {inputs.begin(), inputs.end()}, {}, where};
  for (std::size_t i = 0; i < inputs.size(); ++i) at(inputs[i]).uses.push_back({number, static_cast<int>(i)});
  for (std::size_t i = 0; i < types.size(); ++i) {
    const ValueId value = new_value(types[i]);
    at(value).owner = number;
    at(value).owner_index = static_cast<int>(i);
    node.outputs.push_back(value);
  }
  nodes_.push_back(std::move(node));
  ++alive_;
  return number;
}

ValueId FunctionGraph::add_constant(ConstantPtr value) {
  const ValueId id = new_value(value->type);
  at(id).constant = std::move(value);
  return id;
}

ValueId FunctionGraph::add_input(TensorType type, std::string name) {
  const ValueId id = new_value(std::move(type));
  at(id).name = std::move(name);
  inputs_.push_back(id);
  return id;
}

void FunctionGraph::add_output(ValueId value) {
  at(value).uses.push_back({NodeId::kNone, static_cast<int>(outputs_.size())});
  outputs_.push_back(value);
}

void FunctionGraph::replace(ValueId old, ValueId replacement) {
  if (old == replacement) return;
  check_replacement(type(old), type(replacement));
  std::vector<Use> uses = std::exchange(at(old).uses, {});
  for (const Use& use : uses) {
    (use.node == NodeId::kNone ? outputs_ : at(use.node).inputs)[static_cast<std::size_t>(use.position)] = replacement;
  }
  auto& gained = at(replacement).uses;
  gained.insert(gained.end(), uses.begin(), uses.end());
  if (at(replacement).name.empty()) at(replacement).name = at(old).name;
}

void FunctionGraph::drop_use(ValueId value, Use use) {
  std::erase_if(at(value).uses, [&](const Use& other) { return same_use(other, use); });
}

void FunctionGraph::set_input(NodeId node, int position, ValueId value) {
  ValueId& slot = at(node).inputs[static_cast<std::size_t>(position)];
  check_replacement(type(slot), type(value));
  drop_use(slot, {node, position});
  slot = value;
  at(value).uses.push_back({node, position});
}

void FunctionGraph::set_shared(ValueId value, SharedPtr storage) {
  if (!shared(value)) throw GraphError("set_shared: the value is no shared variable");
  if (!storage) throw TypeError("set_shared: the storage is not there");
  at(value).shared = std::move(storage);
}

void FunctionGraph::keep_outputs(std::span<const int> results, bool updates) {
  std::vector<ValueId> kept;
  for (int result : results) {
    if (result < 0 || result >= result_count()) throw GraphError("there is no result " + std::to_string(result) + ": the graph has " + std::to_string(result_count()));
    kept.push_back(outputs_[static_cast<std::size_t>(result)]);
  }
  if (updates) kept.insert(kept.end(), outputs_.begin() + result_count(), outputs_.end());
  else updated_.clear();
  for (ValueId output : outputs_) std::erase_if(at(output).uses, [](const Use& use) { return use.node == NodeId::kNone; });
  outputs_.clear();
  for (ValueId output : kept) add_output(output);
}

int FunctionGraph::prune() {
  std::vector<char> needed(nodes_.size(), 0);
  std::vector<NodeId> pending;
  const auto need = [&](ValueId value) {
    const NodeId node = owner(value);
    if (node == NodeId::kNone || std::exchange(needed[static_cast<std::size_t>(node)], 1)) return;
    pending.push_back(node);
  };
  for (ValueId output : outputs_) need(output);
  while (!pending.empty()) {
    const NodeId node = pending.back();
    pending.pop_back();
    for (ValueId input : inputs(node)) need(input);
  }
  int removed = 0;
  std::vector<char> is_touched(values_.size(), 0);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i].alive || needed[i]) continue;
    nodes_[i].alive = false;
    for (ValueId input : nodes_[i].inputs) is_touched[static_cast<std::size_t>(input)] = 1;
    ++removed;
  }
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (is_touched[i]) std::erase_if(values_[i].uses, [&](const Use& use) { return use.node != NodeId::kNone && !at(use.node).alive; });
  }
  alive_ -= removed;
  return removed;
}

Apply FunctionGraph::apply(NodeId node) const {
  std::vector<Variable> placeholders;
  for (ValueId value : inputs(node)) {
    placeholders.push_back(constant(value) ? damo::constant(*constant(value), name(value)) : input(type(value), name(value)));
  }
  std::vector<TensorType> types;
  for (ValueId value : outputs(node)) types.push_back(type(value));
  Apply apply(op(node), std::move(placeholders), std::move(types));
  apply.set_where(where(node));
  return apply;
}

std::string FunctionGraph::describe(NodeId node) const {
  const std::string line = to_string(where(node));
  return op(node).name() + (line.empty() ? "" : " at " + line);
}

void FunctionGraph::verify() const {
  if (!is_numbered_in_order(*this)) toposort();
  for (NodeId node : nodes()) verify_claims(*this, node);
  std::size_t readings = outputs_.size(), uses = 0;
  for (const Node& node : nodes_) readings += node.alive ? node.inputs.size() : 0;
  for (const Value& value : values_) {
    for (const Use& use : value.uses) {
      const auto& slots = use.node == NodeId::kNone ? outputs_ : at(use.node).inputs;
      const bool right = static_cast<std::size_t>(use.position) < slots.size() && &at(slots[static_cast<std::size_t>(use.position)]) == &value;
      if (!right) throw InternalError("a value's uses disagree with its readers");
      ++uses;
    }
  }
  if (uses != readings) throw InternalError("values miss some of their uses");
}

}  // namespace damo
