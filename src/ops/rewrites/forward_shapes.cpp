#include "ops/rewrites/forward_shapes.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ops/dimshuffle_op.hpp"
#include "ops/elementwise_op.hpp"
#include "ops/index_along_op.hpp"
#include "ops/reduce_op.hpp"
#include "ops/reshape_op.hpp"
#include "ops/rewrites/symbolic_shapes.hpp"
#include "ops/size_op.hpp"

namespace damo {
namespace {

constexpr std::size_t kMostSources = 8;  // values of an extent among which one that has all of a count's is looked for

/// The input, if there is one of that number, of which a node of the op reads no element; -1 if it reads of all.
int shape_input(const Op& op) {
  static const Op* const second = op_of("second").get();
  if (&op == second) return 0;
  if (const auto* reduction = dynamic_cast<const ReduceOp*>(&op)) return reduction->kind() == ReductionKind::kCount ? 0 : -1;
  if (dynamic_cast<const SizeOp*>(&op) || dynamic_cast<const IndexAlongOp*>(&op)) return 0;
  return dynamic_cast<const ReshapingOp*>(&op) ? 1 : -1;
}

class ShapeForwarding {
 public:
  explicit ShapeForwarding(FunctionGraph& graph) : graph_(graph), shape_input_(static_cast<std::size_t>(graph.node_limit()), -1), is_needed_(shape_input_.size(), false) {
    std::vector<int> known(static_cast<std::size_t>(graph.op_limit()));  // by op
    for (std::size_t i = 0; i < known.size(); ++i) known[i] = shape_input(graph.op(static_cast<OpId>(i)));
    if (std::all_of(known.begin(), known.end(), [](int input) { return input < 0; })) return;
    for (NodeId node : graph.nodes()) {
      const int input = known[static_cast<std::size_t>(graph.op_id(node))];
      if (input < 0 || static_cast<std::size_t>(input) >= graph.inputs(node).size()) continue;
      shape_input_[static_cast<std::size_t>(node)] = input;
      has_work_ = true;
    }
  }

  void run() {
    if (!has_work_) return;
    order_ = graph_.toposort();
    find_needed();
    if (pass_fills_on()) order_ = graph_.toposort(), find_needed();
    const SymbolicShapes::Checks checks{[&](NodeId node) { return is_needed(node); }, [&](NodeId node, int input) { return counts(node, input); }};
    const SymbolicShapes shapes(graph_, order_, &checks);
    for (NodeId node : order_) {
      if (is_needed(node) && graph_.outputs(node).size() == 1) drop_fills(shapes, node);
    }
    for (const auto& [old, made] : replacements_) graph_.replace(old, made);
    count_on_host(shapes);
    replace_readings(shapes);
    count_first(shapes);
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

  /// f(second(x, a)) as second(x, f(a)), f of one operand beside numbers: a fill that drop_fills finds, and fewer elements to compute.
  bool pass_fills_on() {
    bool changes = false;
    for (NodeId node : order_) {
      if (!is_needed(node) || shape_input_[static_cast<std::size_t>(node)] >= 0 || !dynamic_cast<const ElementwiseOp*>(&graph_.op(node)) || graph_.outputs(node).size() != 1) continue;
      std::vector<ValueId> inputs(graph_.inputs(node).begin(), graph_.inputs(node).end());
      const auto is_number = [&](ValueId input) { return graph_.constant(input) && graph_.type(input).rank() == 0; };
      const auto at = std::find_if_not(inputs.begin(), inputs.end(), is_number);
      if (at == inputs.end() || !is_fill(*at) || !std::all_of(at + 1, inputs.end(), is_number)) continue;
      const TensorType type = graph_.type(graph_.outputs(node)[0]), filled = graph_.type(*at);
      const NodeId fill = graph_.owner(*at);
      const ValueId shape = graph_.inputs(fill)[0], value = graph_.inputs(fill)[1];
      if (graph_.type(value).dtype != filled.dtype || type.dtype != filled.dtype || graph_.type(shape).rank() != type.rank()) continue;
      *at = value;
      const ValueId operands[] = {shape, add(graph_.op_ptr(node), inputs, {type.dtype, graph_.type(value).dims}, graph_.where(node), -1)};
      graph_.replace(graph_.outputs(node)[0], add(graph_.op_ptr(fill), operands, type, graph_.where(fill), 0));
      changes = true;
    }
    return changes;
  }

  ValueId add(std::shared_ptr<const Op> op, std::span<const ValueId> inputs, const TensorType& type, SourceLine where, int shape_input) {
    const TensorType types[] = {type};
    const NodeId made = graph_.add(std::move(op), inputs, types, where);
    is_needed_.push_back(true);
    shape_input_.push_back(shape_input);
    return graph_.outputs(made)[0];
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
      while (is_fill(input)) {  // of a fill perhaps
        const NodeId fill = graph_.owner(input);
        const ValueId value = graph_.inputs(fill)[1];
        if (std::max(rank, graph_.type(value).rank()) < graph_.type(input).rank()) break;
        if (graph_.type(value).dtype != graph_.type(input).dtype || !shapes.is_sure(graph_.inputs(fill)[0]) || !covers(others, shapes.of(input))) break;
        input = value;
        changes = true;
      }
    }
    if (!changes) return;
    replacements_.emplace_back(graph_.outputs(node)[0], add(graph_.op_ptr(node), inputs, graph_.type(graph_.outputs(node)[0]), graph_.where(node), -1));
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

  bool is_count(NodeId node) const {
    const auto* reduction = dynamic_cast<const ReduceOp*>(&graph_.op(node));
    return reduction && reduction->kind() == ReductionKind::kCount && is_needed(node);
  }

  /// Where an extent can be read.
  struct Extent {
    std::int64_t known = kUnknown;  // if some type says it
    std::vector<ValueId> sources;   // the first few values that have it and lie in memory in any case, inputs before others
  };
  using Extents = std::unordered_map<int, Extent>;  // by symbol

  /// A count follows from extents, which the host knows: it is the size of something that is there in any case and has these extents, a number without a
  /// kernel (size_op.hpp). One that also says how many rows there are stays where its readers do not tell.
  void count_on_host(const SymbolicShapes& shapes) {
    if (std::none_of(order_.begin(), order_.end(), [&](NodeId node) { return is_count(node); })) return;
    const Extents extents = extents_there(shapes);
    for (NodeId node : order_) {
      if (!is_count(node)) continue;
      const ValueId counted = graph_.outputs(node)[0], size = size_of(shapes, node, extents);
      if (size == ValueId::kNone) continue;
      const Shape& dims = graph_.type(counted).dims;
      if (std::all_of(dims.begin(), dims.end(), [](std::int64_t extent) { return extent == 1; })) graph_.replace(counted, size);
      else divide_by(counted, size);
    }
  }

  Extents extents_there(const SymbolicShapes& shapes) const {
    Extents extents;
    std::vector<char> seen(static_cast<std::size_t>(graph_.value_limit()), false);
    const auto note = [&](ValueId value) {
      if (seen[static_cast<std::size_t>(value)]) return;
      seen[static_cast<std::size_t>(value)] = true;
      const std::vector<int> shape = shapes.of(value);
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        Extent& extent = extents[shape[axis]];
        if (extent.sources.size() < kMostSources && (extent.sources.empty() || extent.sources.back() != value)) extent.sources.push_back(value);
        if (graph_.type(value).dims[static_cast<int>(axis)] != kUnknown) extent.known = graph_.type(value).dims[static_cast<int>(axis)];
      }
    };
    for (ValueId input : graph_.inputs()) note(input);
    for (NodeId node : order_) {
      for (ValueId input : graph_.inputs(node)) {
        if (graph_.owner(input) == NodeId::kNone && !graph_.constant(input)) note(input);
      }
    }
    for (NodeId node : order_) {
      if (!is_needed(node)) continue;
      for (ValueId output : graph_.outputs(node)) {
        if (shapes.is_sure(output) && is_there(output)) note(output);
      }
    }
    return extents;
  }

  /// Whether the value lies in memory whatever becomes of kernels: a view of what one makes may yet change places with that.
  bool is_there(ValueId value) const {
    for (NodeId node = graph_.owner(value); node != NodeId::kNone; node = graph_.owner(value)) {
      const int viewed = graph_.op(node).view_of(0), same = viewed >= 0 ? viewed : graph_.op(node).passes_through(0);
      if (same < 0) return !dynamic_cast<const KernelOp*>(&graph_.op(node));
      value = graph_.inputs(node)[static_cast<std::size_t>(same)];
    }
    return true;
  }

  ValueId size_of(const SymbolicShapes& shapes, NodeId count, const Extents& extents) {
    const ValueId x = graph_.inputs(count)[0], counted = graph_.outputs(count)[0];
    if (!shapes.is_sure(x)) return ValueId::kNone;
    const std::uint32_t axes = *static_cast<const ReduceOp&>(graph_.op(count)).reduced_axes();
    const std::vector<int> shape = shapes.of(x);
    const Shape dims = graph_.type(x).dims;
    SizeOp::Step size{.result = graph_.type(counted).dtype, .axes = {}, .op = {}, .terms = {}};
    std::vector<int> unknown;
    std::vector<ValueId> sources;  // of the first
    for (int axis = 0; axis < dims.rank(); ++axis) {
      if (!(axes >> axis & 1u)) continue;
      const auto found = extents.find(shape[static_cast<std::size_t>(axis)]);
      const std::int64_t known = dims[axis] != kUnknown || found == extents.end() ? dims[axis] : found->second.known;
      if (known == kUnknown) unknown.push_back(shape[static_cast<std::size_t>(axis)]);
      else size.factor *= known;
      if (unknown.size() == 1 && known == kUnknown && found != extents.end()) sources = found->second.sources;
    }
    const TensorType type{size.result, Shape::filled(dims.rank(), 1)};
    if (unknown.empty()) {
      ConstantData number{type, std::vector<std::byte>(itemsize(type.dtype))};
      Scalar(size.factor).cast(type.dtype).store(number.bytes.data());
      return graph_.add_constant(std::make_shared<const ConstantData>(std::move(number)));
    }
    for (ValueId source : sources) {
      const std::vector<int> there = shapes.of(source);
      size.axes.clear();
      for (int extent : unknown) {
        const auto at = std::find(there.begin(), there.end(), extent);
        if (at != there.end()) size.axes.push_back(at - there.begin());
      }
      if (size.axes.size() != unknown.size()) continue;
      const ValueId inputs[] = {source};
      return add(std::make_shared<const SizeOp>(std::vector{std::move(size)}, dims.rank()), inputs, type, graph_.where(count), 0);
    }
    return ValueId::kNone;
  }

  /// In the place of a count for each of several rows: where another operand has their extents, which are known, too.
  void divide_by(ValueId counted, ValueId size) {
    const Shape dims = graph_.type(counted).dims;
    const std::vector<Use> uses(graph_.uses(counted).begin(), graph_.uses(counted).end());
    for (const Use& use : uses) {
      if (use.node == NodeId::kNone || !dynamic_cast<const ElementwiseOp*>(&graph_.op(use.node)) || shape_input_[static_cast<std::size_t>(use.node)] >= 0) continue;
      std::vector<ValueId> inputs(graph_.inputs(use.node).begin(), graph_.inputs(use.node).end());
      const auto has = [&](ValueId input, int from_last) {
        const Shape& other = graph_.type(input).dims;
        return input != counted && from_last <= other.rank() && other[-from_last] == dims[-from_last];
      };
      bool are_told = true;
      for (int axis = 1; axis <= dims.rank(); ++axis) {
        are_told &= dims[-axis] == 1 || (dims[-axis] != kUnknown && std::any_of(inputs.begin(), inputs.end(), [&](ValueId input) { return has(input, axis); }));
      }
      if (!are_told || std::all_of(inputs.begin(), inputs.end(), [&](ValueId input) { return graph_.type(input).rank() < dims.rank() || input == counted; })) continue;
      std::replace(inputs.begin(), inputs.end(), counted, size);
      const ValueId output = graph_.outputs(use.node)[0];
      const TensorType type = graph_.type(output);
      graph_.replace(output, add(graph_.op_ptr(use.node), inputs, type, graph_.where(use.node), -1));
    }
  }

  /// What a count reads in vain makes it wait for a value that it does not need: the gradient of a mean(loss) by logits would wait for all losses,
  /// and be a kernel of its own. It counts the value of that shape that is there first, of whatever dtype: the one with the fewest ops before it.
  void count_first(const SymbolicShapes& shapes) {
    const auto counts = [&](NodeId node) { return is_count(node); };
    if (std::none_of(order_.begin(), order_.end(), counts)) return;
    struct First {
      int depth;
      ValueId value;
    };
    std::map<std::vector<int>, First> first;
    for (ValueId input : graph_.inputs()) first.try_emplace(shapes.of(input), First{0, input});
    std::vector<int> depths(static_cast<std::size_t>(graph_.node_limit()), 0);
    const auto depth_of = [&](ValueId value) { return graph_.owner(value) == NodeId::kNone ? 0 : depths[static_cast<std::size_t>(graph_.owner(value))]; };
    const std::vector<NodeId> order = graph_.toposort();  // with what the other steps made. A count then follows from less than it did: no cycle
    for (NodeId node : order) {
      int& depth = depths[static_cast<std::size_t>(node)];
      for (ValueId input : graph_.inputs(node)) depth = std::max(depth, depth_of(input) + 1);
      if (!is_needed(node) || graph_.op(node).view_of(0) >= 0) continue;
      for (ValueId output : graph_.outputs(node)) {
        if (!shapes.is_sure(output)) continue;
        const auto [found, is_new] = first.try_emplace(shapes.of(output), First{depth, output});
        if (!is_new && depth < found->second.depth) found->second = {depth, output};
      }
    }
    for (NodeId node : order) {
      if (!counts(node)) continue;
      const ValueId value = graph_.inputs(node)[0];
      if (!shapes.is_sure(value)) continue;
      const auto found = first.find(shapes.of(value));
      if (found == first.end() || found->second.depth >= depth_of(value)) continue;
      graph_.set_input(node, 0, as(graph_.type(value).dtype, found->second.value, graph_.where(node)));
    }
  }

  /// The value, or a cast of it.
  ValueId as(DType dtype, ValueId value, SourceLine where) {
    if (graph_.type(value).dtype == dtype) return value;
    const ValueId inputs[] = {value};
    return add(cast_op(dtype), inputs, {dtype, graph_.type(value).dims}, where, -1);
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
    return add(graph_.op_ptr(view), inputs, graph_.type(value), graph_.where(view), -1);
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
