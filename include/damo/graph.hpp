// FunctionGraph: a snapshot of a graph with dense ids, for rewriting. Values, nodes, ops and uses are numbered; the user's
// Variables are never touched. A pass takes a FunctionGraph and gives one back (rewrite.hpp).
// It models Boost.Graph's VertexListGraph and BidirectionalGraph: include <damo/boost_graph.hpp> and run any of its
// algorithms. Every walk is iterative: a chain of 1,000,000 nodes is fine. What the functions here give (spans, references) stays valid while
// nodes and values are added; what is changed (the inputs of a node, the uses of a value) may move. See tests/graph/function_graph_test.cpp.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <damo/graph_lists.hpp>
#include <damo/op.hpp>

namespace damo {

enum class NodeId : std::int32_t { kNone = -1 };
enum class ValueId : std::int32_t { kNone = -1 };
enum class OpId : std::int32_t { kNone = -1 };

/// Where a value is read: input `position` of `node`; node kNone: output `position` of the graph.
struct Use {
  NodeId node = NodeId::kNone;
  int position = 0;
};

class FunctionGraph {
 public:
  FunctionGraph() = default;
  /// Copies what outputs and the updates' new values need. Throws GraphError for an input given twice, an input that is
  /// computed, constant or shared, an input of the graph that is not in inputs, an empty output, an update of what is not a
  /// shared variable or is updated twice, or, unless allow_unused, an input no output needs; TypeError or ShapeError for
  /// a new value of another dtype or shape than its variable's.
  FunctionGraph(std::span<const Variable> inputs, std::span<const Variable> outputs, bool allow_unused = false, std::span<const Assignment> updates = {});

  std::span<const ValueId> inputs() const { return inputs_; }
  /// The results, then the new values of the shared variables in updated(), in their order.
  std::span<const ValueId> outputs() const { return outputs_; }
  std::span<const ValueId> updated() const { return updated_; }
  int result_count() const { return static_cast<int>(outputs_.size() - updated_.size()); }

  /// Nodes that were not removed, in order of number; not sorted topologically.
  std::vector<NodeId> nodes() const;
  int node_count() const { return alive_; }
  /// One more than the greatest number of a node or value ever given, for arrays indexed by them.
  int node_limit() const { return static_cast<int>(nodes_.size()); }
  int value_limit() const { return static_cast<int>(values_.size()); }
  bool is_alive(NodeId node) const { return at(node).alive; }

  const Op& op(NodeId node) const { return op(at(node).op); }
  const OpPtr& op_ptr(NodeId node) const { return op_ptr(at(node).op); }
  /// A graph of many nodes has few ops, which are numbered too, each address once. What a pass wants to know of a node's op it asks each op once, and
  /// looks at no node where no op is of its kind. Ops of removed nodes keep their numbers.
  OpId op_id(NodeId node) const { return at(node).op; }
  const Op& op(OpId op) const { return *op_ptr(op); }
  const OpPtr& op_ptr(OpId op) const { return ops_[static_cast<std::size_t>(op)]; }
  int op_limit() const { return static_cast<int>(ops_.size()); }
  /// Whether some op is a T.
  template <class T>
  bool has_op() const {
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      if (dynamic_cast<const T*>(ops_[i].get())) return true;
    }
    return false;
  }
  std::span<const ValueId> inputs(NodeId node) const { return {at(node).inputs.data(), at(node).inputs.size()}; }
  std::span<const ValueId> outputs(NodeId node) const { return {at(node).outputs.data(), at(node).outputs.size()}; }
  SourceLine where(NodeId node) const { return at(node).where; }

  const TensorType& type(ValueId value) const { return types_[at(value).type]; }
  /// kNone for an input, a constant or a shared variable.
  NodeId owner(ValueId value) const { return at(value).owner; }
  int owner_index(ValueId value) const { return at(value).owner_index; }
  const ConstantPtr& constant(ValueId value) const { return at(value).constant; }
  /// A constant of rank 0. Does not look into the constant, which lies elsewhere in memory.
  bool is_literal(ValueId value) const { return at(value).constant && type(value).rank() == 0; }
  /// Of a literal: its number, and its bytes, of which those beyond its dtype's are 0.
  Scalar number(ValueId value) const { return Scalar::load(type(value).dtype, &at(value).bits); }
  std::uint64_t number_bits(ValueId value) const { return at(value).bits; }
  /// Null if it is no shared variable.
  const SharedPtr& shared(ValueId value) const { return extras_of(value).shared; }
  const std::string& name(ValueId value) const { return extras_of(value).name; }
  std::span<const Use> uses(ValueId value) const { return {at(value).uses.data(), at(value).uses.size()}; }
  bool is_output(ValueId value) const;

  /// Adds op applied to inputs; types come from op.make_node. Gives the new node.
  NodeId add(const OpPtr& op, std::span<const ValueId> inputs, SourceLine where = {});
  /// The same with known types: for rewrites that build an op over a group of nodes.
  NodeId add(const OpPtr& op, std::span<const ValueId> inputs, std::span<const TensorType> types, SourceLine where);
  ValueId add_constant(ConstantPtr value);
  /// For building a graph from nothing, as a fused op's inner graph is.
  ValueId add_input(TensorType type, std::string name = {});
  void add_output(ValueId value);
  /// One more result, behind the others and before the shared variables' new values.
  void add_result(ValueId value);
  /// Every use of old reads replacement. Throws TypeError if the types differ. Does not look for cycles: verify() does.
  void replace(ValueId old, ValueId replacement);
  /// One reading reads value instead. Throws TypeError if the types differ.
  void set_input(NodeId node, int position, ValueId value);
  /// The node is of another op, one of the same inputs and outputs.
  void set_op(NodeId node, const OpPtr& op);
  /// What was a shared variable's value is another one's. TypeError for storage that is not there, GraphError for a value that is no shared variable.
  void set_shared(ValueId value, SharedPtr storage);
  /// Of the results only these are left, in this order; updates: of the shared variables' new values all or none. Nodes stay: prune() removes them.
  void keep_outputs(std::span<const int> results, bool updates);
  /// Removes nodes that no output needs; gives their number.
  int prune();
  /// The same graph without the records of removed nodes and of values that nobody reads or makes. Numbers change, their order stays.
  FunctionGraph compact() const;

  /// Inputs before users: the order of Boost.Graph's topological_sort. Throws GraphError naming the nodes of a cycle.
  std::vector<NodeId> toposort() const;
  /// Throws GraphError for a cycle, TypeError for an output that overwrites an input of another type, InternalError for
  /// uses that disagree with inputs.
  void verify() const;
  /// verify(), if something has changed since this was last asked for.
  void verify_changes();

  /// The node as an Apply over Variables that carry only types: what Op's methods are given.
  Apply apply(NodeId node) const;
  /// "add", or "tanh at model.cpp:12".
  std::string describe(NodeId node) const;

 private:
  struct alignas(64) Node {  // one line of the cache, as a Value is
    OpId op = OpId::kNone;
    bool alive = true;
    SmallList<ValueId, 4> inputs;
    SmallList<ValueId, 2> outputs;
    SourceLine where;
  };
  /// What few values have.
  struct Extras {
    std::string name;
    SharedPtr shared;
  };
  struct alignas(64) Value {
    std::uint32_t type = 0;  // in types_
    NodeId owner = NodeId::kNone;
    int owner_index = 0;
    int extras = -1;         // in extras_
    ConstantPtr constant;
    std::uint64_t bits = 0;  // of a literal
    SmallList<Use, 2> uses;
  };
  const Node& at(NodeId node) const { return nodes_[static_cast<std::size_t>(node)]; }
  Node& at(NodeId node) { return nodes_[static_cast<std::size_t>(node)]; }
  const Value& at(ValueId value) const { return values_[static_cast<std::size_t>(value)]; }
  Value& at(ValueId value) { return values_[static_cast<std::size_t>(value)]; }
  void set_outputs(const std::vector<ValueId>& values);
  ValueId new_value(const TensorType& type);
  std::uint32_t number_of(const TensorType& type);
  OpId number_of(const OpPtr& op);
  const Extras& extras_of(ValueId value) const {
    static const Extras none;
    return at(value).extras < 0 ? none : extras_[static_cast<std::size_t>(at(value).extras)];
  }
  void set_extras(ValueId value, Extras extras);
  void set_constant(ValueId value, ConstantPtr constant);
  NodeId new_node(const OpPtr& op, SourceLine where);
  void drop_use(ValueId value, Use use);
  void note_change() { is_verified_ = is_pruned_ = false; }
  void check_inputs(std::span<const Variable> inputs) const;
  void copy(std::span<const Variable> inputs, std::span<const Variable> outputs, std::span<const Assignment> updates);
  ValueId copy(ApplyData* data);
  void check_unused(std::span<const Variable> inputs) const;

  PagedList<Node> nodes_;
  PagedList<Value> values_;
  PagedList<TensorType> types_;  // each once: a graph has few
  std::unordered_multimap<std::size_t, std::uint32_t> type_numbers_;  // by hash; of types behind the first few, which are compared
  PagedList<OpPtr> ops_;
  std::unordered_map<const Op*, OpId> op_numbers_;  // of ops behind the first few, which are compared
  PagedList<Extras> extras_;
  std::vector<ValueId> inputs_, outputs_, updated_;
  int alive_ = 0;
  bool is_verified_ = false, is_pruned_ = false;  // verify() held, and prune() finds nothing, since anything has changed
};

}  // namespace damo
