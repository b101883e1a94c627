#include "ops/rewrites/reduce_in_steps.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "ops/elementwise_op.hpp"
#include "ops/random/random_op.hpp"
#include "ops/reduce_op.hpp"
#include "ops/rewrites/fusion_reductions.hpp"
#include "ops/rewrites/symbolic_shapes.hpp"

namespace damo {
namespace {

using AxisMask = std::uint32_t;  // bit a: axis a

/// Of a greatest or least all extents must be known: where there are no elements it is then refused before this pass, with the error of the op as it was written.
bool may_be_divided(const ReduceOp& op, const TensorType& from, DType result) {
  if (op.rows() || op.allows_empty()) return false;
  switch (op.kind()) {
    case ReductionKind::kMax:
    case ReductionKind::kMin: return from.dims.is_known();
    case ReductionKind::kAny:
    case ReductionKind::kAll: return true;
    case ReductionKind::kSum:
    case ReductionKind::kMean: return !is_half(result) && !is_narrow(from.dtype);
    default: return false;
  }
}

class ReductionSteps {
 public:
  ReductionSteps(FunctionGraph& graph, std::vector<NodeId> reductions)
      : graph_(graph), order_(graph.toposort()), shapes_(graph, order_), parent_(static_cast<std::size_t>(graph.value_limit()), -1), rows_(parent_.size()), reductions_(std::move(reductions)) {}

  bool run() {
    connect();
    find_rows();
    bool has_changed = false;
    for (std::size_t i = 0; i < reductions_.size(); ++i) has_changed |= divide(reductions_[i], spaces_.at(space_of_[i]));
    return has_changed;
  }

 private:
  /// Of the values of one shape that elementwise nodes connect.
  struct Space {
    std::vector<AxisMask> all;     // axes of its reductions, each once
    std::optional<AxisMask> rows;  // axes of the rows whose values go back into it
    bool disagrees = false;        // values of rows along other axes do, too
  };
  /// What follows from reductions of a space alone, and is a value of each of its rows.
  struct OfRows {
    int space = -1;
    AxisMask axes = 0;
  };

  static std::size_t index(ValueId value) { return static_cast<std::size_t>(value); }
  int find(ValueId value) {
    int root = static_cast<int>(value);
    const auto parent = [&](int of) -> int& { return parent_[static_cast<std::size_t>(of)]; };
    while (parent(root) >= 0) {
      if (parent(parent(root)) >= 0) parent(root) = parent(parent(root));
      root = parent(root);
    }
    return root;
  }
  const ReduceOp* reduction(NodeId node) const { return dynamic_cast<const ReduceOp*>(&graph_.op(node)); }
  bool is_elementwise(NodeId node) const { return (dynamic_cast<const ElementwiseOp*>(&graph_.op(node)) || dynamic_cast<const DropoutOp*>(&graph_.op(node))) && graph_.outputs(node).size() == 1; }

  void connect() {
    for (NodeId node : order_) {
      if (!is_elementwise(node)) continue;
      const ValueId output = graph_.outputs(node)[0];
      for (ValueId input : graph_.inputs(node)) {
        if (shapes_.of(input) != shapes_.of(output)) continue;
        if (const int a = find(output), b = find(input); a != b) parent_[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
      }
    }
  }

  void find_rows() {
    for (NodeId node : reductions_) {
      space_of_.push_back(find(graph_.inputs(node)[0]));
      std::vector<AxisMask>& all = spaces_[space_of_.back()].all;
      const AxisMask axes = *reduction(node)->reduced_axes();
      if (std::find(all.begin(), all.end(), axes) == all.end()) all.push_back(axes);
      if (!reduction(node)->rows() && !reduction(node)->allows_empty()) made_.try_emplace({reduction(node)->kind(), graph_.inputs(node)[0], axes}, graph_.outputs(node)[0]);
    }
    for (NodeId node : order_) {
      if (const ReduceOp* op = reduction(node)) {
        rows_[index(graph_.outputs(node)[0])] = {find(graph_.inputs(node)[0]), *op->reduced_axes()};
        continue;
      }
      if (!is_elementwise(node)) continue;
      const ValueId output = graph_.outputs(node)[0];
      const int own = find(output);
      for (ValueId input : graph_.inputs(node)) {
        const OfRows& of = rows_[index(input)];
        if (of.space < 0) continue;
        if (of.space != own) {
          rows_[index(output)] = of;
          continue;
        }
        Space& space = spaces_[own];
        space.disagrees |= space.rows && *space.rows != of.axes;
        space.rows = of.axes;
      }
    }
    for (auto& [root, space] : spaces_) {
      if (space.rows) continue;
      const int last = graph_.type(static_cast<ValueId>(root)).dims.rank() - 1;
      for (AxisMask axes : space.all) {
        if ((axes >> last & 1u) && (!space.rows || std::popcount(axes) < std::popcount(*space.rows))) space.rows = axes;
      }
    }
  }

  /// What the node reads may be what another one became, of which nothing is known but its type.
  bool divide(NodeId node, const Space& space) {
    const ValueId from = graph_.inputs(node)[0], to = graph_.outputs(node)[0];
    const ReduceOp& op = *reduction(node);
    if (!may_be_divided(op, graph_.type(from), graph_.type(to).dtype)) return false;
    const AxisMask axes = *op.reduced_axes();
    if (!space.rows || space.disagrees) return divide_by_another(node, space, axes);
    const AxisMask in_rows = axes & *space.rows, across_rows = axes & ~*space.rows;
    if (in_rows == 0 || across_rows == 0) return false;
    const bool has_rows = in_rows == *space.rows;  // the row's own value is the first step; else what is joined across rows
    const AxisMask first = has_rows ? in_rows : across_rows, second = has_rows ? across_rows : in_rows;
    if (!joins_many(graph_.type(from).dims, first)) return false;
    const ReductionKind kind = op.kind();
    const SourceLine where = graph_.where(node);
    graph_.replace(to, reduced(kind, reduced(kind, from, first, where), second, where));
    return true;
  }

  /// Where rows along several axes go back into the space, what another reduction gives is the first step: then the value is not read for this one.
  bool divide_by_another(NodeId node, const Space& space, AxisMask axes) {
    const ValueId from = graph_.inputs(node)[0], to = graph_.outputs(node)[0];
    const ReductionKind kind = reduction(node)->kind();
    for (const AxisMask first : space.all) {
      const auto made = made_.find({kind, from, first});
      if (first == axes || (first & ~axes) != 0 || made == made_.end() || !joins_many(graph_.type(from).dims, first)) continue;
      const ValueId value = reduced(kind, made->second, axes & ~first, graph_.where(node));
      graph_.replace(to, value);
      made_[{kind, from, axes}] = value;
      return true;
    }
    return false;
  }

  ValueId reduced(ReductionKind kind, ValueId from, AxisMask axes, const SourceLine& where) {
    const auto [found, is_new] = made_.try_emplace({kind, from, axes}, from);
    if (!is_new) return found->second;
    const TensorType type{result_of(kind, graph_.type(from).dtype), reduced_shape(graph_.type(from).dims, axes, true)};
    const ValueId inputs[] = {from};
    const TensorType types[] = {type};
    found->second = graph_.outputs(graph_.add(std::make_shared<const ReduceOp>(kind, axes), inputs, types, where))[0];
    return found->second;
  }

  FunctionGraph& graph_;
  const std::vector<NodeId> order_;
  const SymbolicShapes shapes_;
  std::vector<int> parent_;   // by value: union-find
  std::vector<OfRows> rows_;  // by value
  std::vector<NodeId> reductions_;
  std::vector<int> space_of_;    // by reduction: the root of the values that it reads
  std::map<int, Space> spaces_;  // by root
  std::map<std::tuple<ReductionKind, ValueId, AxisMask>, ValueId> made_;
};

}  // namespace

FunctionGraph reduce_in_steps(FunctionGraph graph) {
  if (!graph.has_op<ReduceOp>()) return graph;
  std::vector<NodeId> reductions;
  for (NodeId node : graph.nodes()) {
    if (dynamic_cast<const ReduceOp*>(&graph.op(node)) && graph.type(graph.inputs(node)[0]).dims.rank() > 1) reductions.push_back(node);
  }
  if (reductions.size() > 1 && ReductionSteps(graph, std::move(reductions)).run()) graph.prune();
  return graph;
}

}  // namespace damo
