#include "ops/rewrites/forward_shapes.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ops/dimshuffle_op.hpp"
#include "ops/elementwise_op.hpp"
#include "ops/reduce_op.hpp"
#include "ops/reshape_op.hpp"
#include "ops/rewrites/symbolic_shapes.hpp"

namespace damo {
namespace {

/// The input, if there is one of that number, of which a node of the op reads no element; -1 if it reads of all.
int shape_input(const Op& op) {
  static const Op* const second = op_of("second").get();
  if (&op == second) return 0;
  if (const auto* reduction = dynamic_cast<const ReduceOp*>(&op)) return reduction->kind() == ReductionKind::kCount || reduction->kind() == ReductionKind::kIndex ? 0 : -1;
  return dynamic_cast<const ReshapingOp*>(&op) ? 1 : -1;
}

class ShapeForwarding {
 public:
  explicit ShapeForwarding(FunctionGraph& graph) : graph_(graph), shape_input_(static_cast<std::size_t>(graph.node_limit()), -1), is_needed_(shape_input_.size(), false) {
    std::unordered_map<const Op*, int> known;  // a graph has few ops
    for (NodeId node : graph.nodes()) {
      const auto [found, is_new] = known.try_emplace(&graph.op(node));
      if (is_new) found->second = shape_input(graph.op(node));
      if (found->second < 0 || static_cast<std::size_t>(found->second) >= graph.inputs(node).size()) continue;
      shape_input_[static_cast<std::size_t>(node)] = found->second;
      has_work_ = true;
    }
  }

  void run() {
    if (!has_work_) return;
    order_ = graph_.toposort();
    find_needed();
    const SymbolicShapes::Checks checks{[&](NodeId node) { return is_needed(node); }, [&](NodeId node, int input) { return counts(node, input); }};
    const SymbolicShapes shapes(graph_, order_, &checks);
    for (NodeId node : order_) {
      if (is_needed(node) && graph_.outputs(node).size() == 1) drop_fills(shapes, node);
    }
    for (const auto& [old, made] : replacements_) graph_.replace(old, made);
    replace_readings(shapes);
  }

 private:
  bool is_needed(NodeId node) const { return node == NodeId::kNone || is_needed_[static_cast<std::size_t>(node)]; }

  /// Nodes of which some element is read.
  void find_needed() {
    std::fill(is_needed_.begin(), is_needed_.end(), false);
    std::vector<NodeId> pending;
    const auto need = [&](ValueId value) {
      const NodeId node = graph_.owner(value);
      if (!is_needed(node)) is_needed_[static_cast<std::size_t>(node)] = true, pending.push_back(node);
    };
    for (ValueId output : graph_.outputs()) need(output);
    while (!pending.empty()) {
      const NodeId node = pending.back();
      pending.pop_back();
      const auto inputs = graph_.inputs(node);
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (static_cast<int>(i) != shape_input_[static_cast<std::size_t>(node)]) need(inputs[i]);
      }
    }
  }

  bool is_fill(ValueId value) const {
    const NodeId owner = graph_.owner(value);
    return owner != NodeId::kNone && shape_input_[static_cast<std::size_t>(owner)] == 0 && dynamic_cast<const ElementwiseOp*>(&graph_.op(owner));
  }

  /// Whether the node's check that the operand has the extents of others is there when this is done.
  bool counts(NodeId node, int input) const { return input != shape_input_[static_cast<std::size_t>(node)] && !is_fill(graph_.inputs(node)[static_cast<std::size_t>(input)]); }

  /// Of the node's operands, fills left out.
  std::vector<int> shape_without_fills(const SymbolicShapes& shapes, NodeId node) const {
    std::vector<int> shape(static_cast<std::size_t>(graph_.type(graph_.outputs(node)[0]).rank()), SymbolicShapes::kOne);
    for (ValueId input : graph_.inputs(node)) {
      if (is_fill(input)) continue;
      const std::vector<int> operand = shapes.of(input);
      const std::size_t missing = shape.size() - operand.size();
      for (std::size_t axis = 0; axis < operand.size(); ++axis) {
        if (operand[axis] != SymbolicShapes::kOne) shape[missing + axis] = operand[axis];
      }
    }
    return shape;
  }

  void drop_fills(const SymbolicShapes& shapes, NodeId node) {
    const auto* op = dynamic_cast<const ElementwiseOp*>(&graph_.op(node));
    if (!op || shape_input_[static_cast<std::size_t>(node)] >= 0) return;
    std::vector<ValueId> inputs(graph_.inputs(node).begin(), graph_.inputs(node).end());
    if (std::none_of(inputs.begin(), inputs.end(), [&](ValueId input) { return is_fill(input); })) return;
    const std::vector<int> others = shape_without_fills(shapes, node);
    int rank = 0;  // of the other operands: axes of extent 1 are in no comparison of extents, and yet the result has them
    for (ValueId input : inputs) {
      if (!is_fill(input)) rank = std::max(rank, graph_.type(input).rank());
    }
    bool changes = false;
    for (ValueId& input : inputs) {
      if (!is_fill(input)) continue;
      const NodeId fill = graph_.owner(input);
      const ValueId value = graph_.inputs(fill)[1];
      if (std::max(rank, graph_.type(value).rank()) < graph_.type(input).rank()) continue;
      if (graph_.type(value).dtype != graph_.type(input).dtype || !shapes.is_sure(graph_.inputs(fill)[0]) || !covers(others, shapes.of(input))) continue;
      input = value;
      changes = true;
    }
    if (!changes) return;
    const TensorType types[] = {graph_.type(graph_.outputs(node)[0])};
    const NodeId made = graph_.add(graph_.op_ptr(node), inputs, types, graph_.where(node));
    is_needed_.push_back(true);
    shape_input_.push_back(-1);
    replacements_.emplace_back(graph_.outputs(node)[0], graph_.outputs(made)[0]);
  }

  /// Whether a value of the one shape has the other's extents wherever that is not 1.
  static bool covers(const std::vector<int>& shape, const std::vector<int>& fill) {
    const std::size_t missing = shape.size() - fill.size();
    for (std::size_t axis = 0; axis < fill.size(); ++axis) {
      if (fill[axis] != SymbolicShapes::kOne && fill[axis] != shape[missing + axis]) return false;
    }
    return true;
  }

  /// By the first value of each dtype and shape: it depends on none of the others.
  void replace_readings(const SymbolicShapes& shapes) {
    std::map<std::pair<DType, std::vector<int>>, ValueId> first;
    const auto note = [&](ValueId value) { first.try_emplace({graph_.type(value).dtype, shapes.of(value)}, value); };
    const auto find = [&](ValueId value) {
      const auto found = first.find({graph_.type(value).dtype, shapes.of(value)});
      return found == first.end() ? ValueId::kNone : found->second;
    };
    find_needed();
    const auto reads_in_vain = [&](NodeId node) {
      const int at = shape_input_[static_cast<std::size_t>(node)];
      if (at < 0 || !is_needed(node)) return false;
      const ValueId value = graph_.inputs(node)[static_cast<std::size_t>(at)];
      return !is_needed(graph_.owner(value)) && shapes.is_sure(value);
    };
    if (std::none_of(order_.begin(), order_.end(), reads_in_vain)) return;
    for (NodeId node : order_) {
      for (ValueId input : graph_.inputs(node)) {
        if (graph_.owner(input) == NodeId::kNone && !graph_.constant(input)) note(input);
      }
    }
    for (NodeId node : order_) {
      if (reads_in_vain(node)) {
        const int at = shape_input_[static_cast<std::size_t>(node)];
        const ValueId other = like(graph_.inputs(node)[static_cast<std::size_t>(at)], find);
        if (other != ValueId::kNone) graph_.set_input(node, at, other);
      }
      if (!is_needed(node)) continue;
      for (ValueId output : graph_.outputs(node)) note(output);
    }
  }

  /// What find gives for the value; else, of a view, the view of what it gives for the value beneath.
  template <class Find>
  ValueId like(ValueId value, Find find) {
    const ValueId other = find(value);
    const NodeId view = graph_.owner(value);
    if (other != ValueId::kNone || view == NodeId::kNone || !dynamic_cast<const DimShuffleOp*>(&graph_.op(view))) return other;
    const ValueId beneath = find(graph_.inputs(view)[0]);
    if (beneath == ValueId::kNone) return beneath;
    const ValueId inputs[] = {beneath};
    const TensorType types[] = {graph_.type(value)};
    const NodeId made = graph_.add(graph_.op_ptr(view), inputs, types, graph_.where(view));
    is_needed_.push_back(true);
    shape_input_.push_back(-1);
    return graph_.outputs(made)[0];
  }

  FunctionGraph& graph_;
  std::vector<NodeId> order_;
  std::vector<int> shape_input_;  // by node
  std::vector<char> is_needed_;   // by node
  std::vector<std::pair<ValueId, ValueId>> replacements_;  // made when all are known: shapes are those of the values that were there
  bool has_work_ = false;
};

}  // namespace

FunctionGraph forward_shapes(FunctionGraph graph) {
  ShapeForwarding(graph).run();
  graph.prune();
  return graph;
}

}  // namespace damo
