#include <damo/graph.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
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
  throw TypeError("rewrite: a " + to_string(from) + " cannot be replaced by a " + to_string(to), "give a value of the same dtype and rank: cast or dimshuffle it");
}

/// The number of each node's first value; a node's values are numbered consecutively. Nodes that lie side by side have their entries side by side, as neighbours
/// in memory mostly are neighbours in the graph: a hash of each address would wait for memory at each node.
class FirstValues {
 public:
  static constexpr ValueId kUnseen = ValueId::kNone, kEntered{-2};

  ValueId& of(const ApplyData* node) {
    const auto address = reinterpret_cast<std::uintptr_t>(node);
    return page(address / kPage)[address % kPage / kGranule];
  }
  ValueId of(const Variable& variable) { return static_cast<ValueId>(static_cast<int>(of(ApplyData::of(variable))) + variable.index()); }

 private:
  static constexpr std::size_t kGranule = std::bit_floor(sizeof(ApplyData)), kPage = 512 * kGranule;  // bytes; no two nodes begin in one granule
  using Page = std::array<ValueId, kPage / kGranule>;

  Page& page(std::uintptr_t address) {
    if (address == last_address_) return *last_;
    const int next = static_cast<int>(addresses_.size());
    const int found = index_.find_or_add(address, next, [&](int other) { return addresses_[static_cast<std::size_t>(other)] == address; });
    if (found < 0) {
      addresses_.push_back(address);
      pages_.push_back(std::make_unique_for_overwrite<Page>());
      pages_.back()->fill(kUnseen);
    }
    last_address_ = address;
    return *(last_ = pages_[static_cast<std::size_t>(found < 0 ? next : found)].get());
  }

  HashIndex index_{16};
  std::vector<std::uintptr_t> addresses_;  // by page
  std::vector<std::unique_ptr<Page>> pages_;
  std::uintptr_t last_address_ = 0;
  Page* last_ = nullptr;
};

std::size_t hash_of(const TensorType& type) {
  std::size_t hash = static_cast<std::size_t>(type.dtype) * 31 + static_cast<std::size_t>(type.rank());
  for (std::int64_t extent : type.dims) hash = (hash ^ static_cast<std::size_t>(extent)) * 0x9e3779b97f4a7c15u;
  return hash;
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
    if (!input) throw GraphError("function: input " + std::to_string(i) + " is an empty Variable", "assign it before it is used");
    if (input.is_constant()) bad_graph(which(i, input, "input") + " is a constant", input, "leave it out: its value is in the graph");
    if (input.is_shared()) bad_graph(which(i, input, "input") + " is a shared variable", input, "leave it out: a Function finds those of its graph itself");
    if (input.has_owner()) {
      bad_graph(which(i, input, "input") + " is computed by " + input.owner().op().name(), input, "inputs are made by input(), matrix(), ...");
    }
    if (!seen.insert(input.id()).second) bad_graph(which(i, input, "input") + " is given twice", input, "name each input once");
  }
}

/// Walks without recursion: a node is entered, then all that computes its inputs, then it is added.
void FunctionGraph::copy(std::span<const Variable> inputs, std::span<const Variable> results, std::span<const Assignment> updates) {
  FirstValues first_values;
  for (const Variable& input : inputs) {
    const ValueId value = new_value(input.type());
    set_extras(value, {input.name(), {}});
    first_values.of(ApplyData::of(input)) = value;
    inputs_.push_back(value);
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i]) throw GraphError("function: output " + std::to_string(i) + " is an empty Variable", "assign it before it is used");
  }
  std::vector<Variable> outputs(results.begin(), results.end());
  for (const Assignment& update : updates) outputs.push_back(update.value);
  std::vector<Variable> wanted = outputs;
  for (const Assignment& update : updates) wanted.push_back(update.variable);
  const auto add_data = [&](ApplyData* data) {
    const ValueId first = copy(data);
    first_values.of(data) = first;
    if (!data->op) return;
    const NodeId number = at(first).owner;
    for (std::size_t i = 0; i < data->inputs.size(); ++i) {
      const ValueId value = first_values.of(data->inputs[i]);
      at(value).uses.push_back({number, static_cast<int>(i)});
      at(number).inputs.push_back(value);
    }
  };
  struct Visit {
    ApplyData* data;
    std::size_t next = 0;
  };
  std::vector<Visit> stack;
  const auto enter = [&](ApplyData* data) {
    ValueId& first = first_values.of(data);
    if (first != FirstValues::kUnseen) return;
    if (data->inputs.empty()) return add_data(data);
    first = FirstValues::kEntered;
    stack.push_back({data});
  };
  for (const Variable& output : wanted) {
    enter(ApplyData::of(output));
    while (!stack.empty()) {
      Visit& top = stack.back();
      if (top.next < top.data->inputs.size()) {
        enter(ApplyData::of(top.data->inputs[top.next++]));
      } else {
        add_data(top.data);
        stack.pop_back();
      }
    }
  }
  for (const Variable& output : outputs) {
    const ValueId value = first_values.of(output);
    at(value).uses.push_back({NodeId::kNone, static_cast<int>(outputs_.size())});
    outputs_.push_back(value);
  }
  for (const Assignment& update : updates) updated_.push_back(first_values.of(update.variable));
  is_pruned_ = true;  // what no output needs was not copied
}

/// A node with its values but for what it reads, or a leaf's value. Gives the first value.
ValueId FunctionGraph::copy(ApplyData* data) {
  if (!data->op && !data->constant && !data->shared) {
    const Variable unknown = ApplyData::output(data, 0);
    bad_graph(damo::describe(unknown) + " is needed by the outputs and is not among the inputs", unknown, "add it to the inputs");
  }
  const NodeId number = data->op ? new_node(data->op, data->where) : NodeId::kNone;
  ValueId first = ValueId::kNone;
  for (std::size_t i = 0; i < data->types.size(); ++i) {
    const ValueId value = new_value(*data->types[i]);
    if (i == 0) first = value;
    if (data->constant) set_constant(value, data->constant);
    set_extras(value, {data->names.empty() ? std::string() : data->names[i], data->shared});
    if (!data->op) continue;
    Value& record = at(value);
    record.owner = number;
    record.owner_index = static_cast<int>(i);
    at(number).outputs.push_back(value);
  }
  return first;
}

void FunctionGraph::check_unused(std::span<const Variable> inputs) const {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!uses(inputs_[i]).empty()) continue;
    bad_graph(which(i, inputs[i], "input") + " is used by no output", inputs[i],
              "leave it out, or set Options::allow_unused_inputs");
  }
}

ValueId FunctionGraph::new_value(const TensorType& type) {
  note_change();
  values_.push_back({.type = number_of(type), .constant = {}, .uses = {}});
  return static_cast<ValueId>(values_.size() - 1);
}

std::uint32_t FunctionGraph::number_of(const TensorType& type) {
  constexpr std::size_t kCompared = 4;
  for (std::size_t i = 0; i < std::min(types_.size(), kCompared); ++i) {
    if (types_[i] == type) return static_cast<std::uint32_t>(i);
  }
  const auto next = static_cast<std::uint32_t>(types_.size());
  if (next >= kCompared) {
    const auto [first, last] = type_numbers_.equal_range(hash_of(type));
    for (auto entry = first; entry != last; ++entry) {
      if (types_[entry->second] == type) return entry->second;
    }
    type_numbers_.emplace(hash_of(type), next);
  }
  types_.push_back(type);
  return next;
}

OpId FunctionGraph::number_of(const OpPtr& op) {
  constexpr std::size_t kCompared = 8;
  for (std::size_t i = 0; i < std::min(ops_.size(), kCompared); ++i) {
    if (ops_[i] == op) return static_cast<OpId>(i);
  }
  const auto next = static_cast<OpId>(ops_.size());
  if (ops_.size() >= kCompared) {
    if (const auto [found, is_new] = op_numbers_.try_emplace(op.get(), next); !is_new) return found->second;
  }
  ops_.push_back(op);
  return next;
}

void FunctionGraph::set_extras(ValueId value, Extras extras) {
  if (extras.name.empty() && !extras.shared) return;
  at(value).extras = static_cast<int>(extras_.size());
  extras_.push_back(std::move(extras));
}

void FunctionGraph::set_constant(ValueId value, ConstantPtr constant) {
  Value& record = at(value);
  if (constant->is_scalar()) std::memcpy(&record.bits, constant->bytes.data(), constant->bytes.size());
  record.constant = std::move(constant);
}

NodeId FunctionGraph::new_node(const OpPtr& op, SourceLine where) {
  note_change();
  nodes_.push_back({.op = number_of(op), .inputs = {}, .outputs = {}, .where = where});
  ++alive_;
  return static_cast<NodeId>(nodes_.size() - 1);
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
    throw GraphError("op " + op->name() + " changes its inputs in make_node", "add the ops that it wants before it");
  }
  std::vector<TensorType> types;
  for (const Variable& output : node.outputs()) types.push_back(output.type());
  return add(op, inputs, types, where);
}

NodeId FunctionGraph::add(const OpPtr& op, std::span<const ValueId> inputs, std::span<const TensorType> types, SourceLine where) {
  const NodeId number = new_node(op, where);
  at(number).inputs.append(inputs.data(), inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) at(inputs[i]).uses.push_back({number, static_cast<int>(i)});
  for (std::size_t i = 0; i < types.size(); ++i) {
    const ValueId value = new_value(types[i]);
    at(value).owner = number;
    at(value).owner_index = static_cast<int>(i);
    at(number).outputs.push_back(value);
  }
  return number;
}

ValueId FunctionGraph::add_constant(ConstantPtr value) {
  const ValueId id = new_value(value->type);
  set_constant(id, std::move(value));
  return id;
}

ValueId FunctionGraph::add_input(TensorType type, std::string name) {
  const ValueId id = new_value(type);
  set_extras(id, {std::move(name), {}});
  inputs_.push_back(id);
  return id;
}

void FunctionGraph::add_output(ValueId value) {
  note_change();
  at(value).uses.push_back({NodeId::kNone, static_cast<int>(outputs_.size())});
  outputs_.push_back(value);
}

void FunctionGraph::replace(ValueId old, ValueId replacement) {
  if (old == replacement) return;
  check_replacement(type(old), type(replacement));
  note_change();
  const SmallList<Use, 2> uses = std::exchange(at(old).uses, {});
  for (const Use& use : uses) {
    const auto position = static_cast<std::size_t>(use.position);
    (use.node == NodeId::kNone ? outputs_[position] : at(use.node).inputs[position]) = replacement;
  }
  at(replacement).uses.append(uses.data(), uses.size());
  if (name(replacement).empty() && !name(old).empty()) set_extras(replacement, {name(old), shared(replacement)});
}

void FunctionGraph::drop_use(ValueId value, Use use) {
  at(value).uses.erase_if([&](const Use& other) { return same_use(other, use); });
}

void FunctionGraph::set_input(NodeId node, int position, ValueId value) {
  ValueId& slot = at(node).inputs[static_cast<std::size_t>(position)];
  check_replacement(type(slot), type(value));
  note_change();
  drop_use(slot, {node, position});
  slot = value;
  at(value).uses.push_back({node, position});
}

void FunctionGraph::set_op(NodeId node, const OpPtr& op) {
  note_change();
  at(node).op = number_of(op);
}

void FunctionGraph::set_shared(ValueId value, SharedPtr storage) {
  if (!shared(value)) throw GraphError("set_shared: the value is no shared variable", "ask shared(value) first");
  if (!storage) throw TypeError("set_shared: the storage is not there", "give that of a Variable made by shared(name, array)");
  set_extras(value, {name(value), std::move(storage)});
}

void FunctionGraph::keep_outputs(std::span<const int> results, bool updates) {
  note_change();
  std::vector<ValueId> kept;
  for (int result : results) {
    if (result < 0 || result >= result_count()) throw GraphError("there is no result " + std::to_string(result) + ": the graph has " + std::to_string(result_count()));
    kept.push_back(outputs_[static_cast<std::size_t>(result)]);
  }
  if (updates) kept.insert(kept.end(), outputs_.begin() + result_count(), outputs_.end());
  else updated_.clear();
  set_outputs(kept);
}

void FunctionGraph::add_result(ValueId value) {
  note_change();
  std::vector<ValueId> all = outputs_;
  all.insert(all.begin() + result_count(), value);
  set_outputs(all);
}

void FunctionGraph::set_outputs(const std::vector<ValueId>& values) {
  for (ValueId output : outputs_) at(output).uses.erase_if([](const Use& use) { return use.node == NodeId::kNone; });
  outputs_.clear();
  for (ValueId output : values) add_output(output);
}

int FunctionGraph::prune() {
  if (is_pruned_) return 0;
  is_pruned_ = true;
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
  for (std::size_t i = 0; i < nodes_.size(); ++i) removed += nodes_[i].alive && !needed[i];
  if (removed == 0) return 0;
  is_verified_ = false;
  std::vector<char> is_touched(values_.size(), 0);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i].alive || needed[i]) continue;
    nodes_[i].alive = false;
    for (ValueId input : nodes_[i].inputs) is_touched[static_cast<std::size_t>(input)] = 1;
  }
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (is_touched[i]) values_[i].uses.erase_if([&](const Use& use) { return use.node != NodeId::kNone && !at(use.node).alive; });
  }
  alive_ -= removed;
  return removed;
}

FunctionGraph FunctionGraph::compact() const {
  std::vector<char> is_kept(values_.size(), 0);
  const auto keep = [&](ValueId value) { is_kept[static_cast<std::size_t>(value)] = 1; };
  for (const auto* list : {&inputs_, &outputs_, &updated_}) std::for_each(list->begin(), list->end(), keep);
  std::vector<NodeId> node_of(nodes_.size(), NodeId::kNone);
  int kept = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i].alive) continue;
    node_of[i] = static_cast<NodeId>(kept++);
    std::for_each(nodes_[i].inputs.begin(), nodes_[i].inputs.end(), keep);
    std::for_each(nodes_[i].outputs.begin(), nodes_[i].outputs.end(), keep);
  }
  FunctionGraph made;
  std::vector<ValueId> value_of(values_.size(), ValueId::kNone);
  const auto renumbered = [&](auto ids) {
    for (ValueId& id : ids) id = value_of[static_cast<std::size_t>(id)];
    return ids;
  };
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (!is_kept[i]) continue;
    const Value& value = values_[i];
    value_of[i] = made.new_value(types_[value.type]);
    if (value.extras >= 0) made.set_extras(value_of[i], extras_[static_cast<std::size_t>(value.extras)]);
    Value& copy = made.at(value_of[i]);
    copy.constant = value.constant;
    copy.bits = value.bits;
    copy.owner_index = value.owner_index;
    if (value.owner != NodeId::kNone) copy.owner = node_of[static_cast<std::size_t>(value.owner)];
    for (const Use& use : value.uses) copy.uses.push_back({use.node == NodeId::kNone ? use.node : node_of[static_cast<std::size_t>(use.node)], use.position});
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i].alive) continue;
    Node& copy = made.at(made.new_node(op_ptr(nodes_[i].op), nodes_[i].where));
    copy.inputs = renumbered(nodes_[i].inputs);
    copy.outputs = renumbered(nodes_[i].outputs);
  }
  made.inputs_ = renumbered(inputs_);
  made.outputs_ = renumbered(outputs_);
  made.updated_ = renumbered(updated_);
  return made;
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
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].alive) verify_claims(*this, static_cast<NodeId>(i));
  }
  std::size_t readings = outputs_.size(), uses = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) readings += nodes_[i].alive ? nodes_[i].inputs.size() : 0;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    for (const Use& use : values_[i].uses) {
      const std::span<const ValueId> slots = use.node == NodeId::kNone ? std::span<const ValueId>(outputs_) : inputs(use.node);
      const auto position = static_cast<std::size_t>(use.position);
      const bool right = position < slots.size() && slots[position] == static_cast<ValueId>(i);
      if (!right) throw InternalError("a value's uses disagree with its readers");
      ++uses;
    }
  }
  if (uses != readings) throw InternalError("values miss some of their uses");
}

void FunctionGraph::verify_changes() {
  if (is_verified_) return;
  verify();
  is_verified_ = true;
}

}  // namespace damo
