#include "ops/rewrites/refine_spaces.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <damo/ops/shape.hpp>
#include "ops/dimshuffle_op.hpp"
#include "ops/elementwise_op.hpp"
#include "ops/given_shape_op.hpp"
#include "ops/index_along_op.hpp"
#include "ops/random/random_op.hpp"
#include "ops/reduce_op.hpp"
#include "ops/reshape_op.hpp"
#include "ops/size_op.hpp"
#include "ops/take_apart_op.hpp"

namespace damo {
namespace {

constexpr int kMostAxes = 8;  // of a refined space

/// Where a space's axes begin, but for the first one, in elements from the last; of an extent of 1 nowhere. Ascending.
using Cuts = std::vector<std::int64_t>;

/// Nodes over one space, and the reshapes that lead to another one.
struct Space {
  int parent = -1;            // union-find: nodes that read one another
  int family = -1;            // union-find of roots: spaces that reshapes join
  std::optional<Shape> dims;  // at a root; none: the nodes do not fit together
  std::int64_t open = 0;      // at a root: elements behind the first axis, if its extent is not known
  bool reduces = false;       // at a root of a family
  bool is_joined = false;     // at a root of a family: has several spaces, or views
  bool has_views = false;     // at a root of a family: reads views that a reshape would copy
  Cuts cuts;                  // at a root of a family
};

class SpaceRefining {
 public:
  explicit SpaceRefining(FunctionGraph& graph) : graph_(graph), order_(graph.toposort()) {}

  bool run() {
    spaces_.resize(static_cast<std::size_t>(graph_.node_limit()));
    takes_part_.resize(spaces_.size());
    for (NodeId node : order_) takes_part_[index(node)] = may_take_part(node);
    join_nodes();
    leave_what_a_call_compares();
    if (!join_spaces()) return false;
    bool has_changed = false;
    for (NodeId node : order_) {
      if (!takes_part_[index(node)] || !is_refined(node)) continue;
      refine(node);
      has_changed = true;
    }
    for (const auto& [value, refined] : made_) graph_.replace(value, put_together(refined, graph_.type(value), graph_.where(graph_.owner(value))));
    return has_changed;
  }

 private:
  static std::size_t index(NodeId node) { return static_cast<std::size_t>(node); }
  static std::size_t index(int number) { return static_cast<std::size_t>(number); }
  bool is_reshape(NodeId node) const { return dynamic_cast<const ReshapingOp*>(&graph_.op(node)) != nullptr; }
  const Shape& dims(ValueId value) const { return graph_.type(value).dims; }

  bool may_take_part(NodeId node) const {
    const auto outputs = graph_.outputs(node);
    if (outputs.size() != 1 || dims(outputs[0]).rank() == 0) return false;
    if (const auto* reduction = dynamic_cast<const ReduceOp*>(&graph_.op(node))) return !reduction->rows();
    const Op& op = graph_.op(node);
    return dynamic_cast<const ElementwiseOp*>(&op) || dynamic_cast<const DropoutOp*>(&op) || dynamic_cast<const IndexAlongOp*>(&op);
  }

  /// The node that takes part and makes the value, which has that rank; kNone if there is none.
  NodeId maker(ValueId value, int rank) const {
    const NodeId owner = graph_.owner(value);
    return owner != NodeId::kNone && takes_part_[index(owner)] && dims(value).rank() == rank ? owner : NodeId::kNone;
  }

  /// What a reshape looks at; kNone of a node that is none.
  ValueId reshaped(NodeId node) const {
    if (!is_reshape(node)) return ValueId::kNone;
    const ValueId from = graph_.inputs(node)[0];
    const NodeId owner = graph_.owner(from);
    return owner != NodeId::kNone && graph_.op(owner).passes_through(0) == 0 ? graph_.inputs(owner)[0] : from;
  }

  int root(int node) {
    while (spaces_[index(node)].parent >= 0) node = spaces_[index(node)].parent;
    return node;
  }
  int family(int space) {
    while (spaces_[index(space)].family >= 0) space = spaces_[index(space)].family;
    return space;
  }
  int root(NodeId node) { return root(static_cast<int>(node)); }

  /// The extents of both, of which one may have 1 where the other stretches it; none where they differ.
  static std::optional<Shape> common(const std::optional<Shape>& a, const std::optional<Shape>& b) {
    if (!a || !b) return {};
    Shape all = *a;
    for (int axis = 0; axis < all.rank(); ++axis) {
      if (all[axis] == 1 || all[axis] == kUnknown) {
        if (all[axis] == 1 || (*b)[axis] != 1) all[axis] = (*b)[axis];
      } else if ((*b)[axis] != 1 && (*b)[axis] != kUnknown && (*b)[axis] != all[axis]) {
        return {};
      }
    }
    return all;
  }

  void join_nodes() {
    for (NodeId node : order_) {
      if (!takes_part_[index(node)]) continue;
      Space& own = spaces_[index(node)];
      const bool reduces = dynamic_cast<const ReduceOp*>(&graph_.op(node)) != nullptr;
      own.dims = dims(reduces ? graph_.inputs(node)[0] : graph_.outputs(node)[0]);
      own.reduces = reduces;
      for (ValueId input : graph_.inputs(node)) {
        const NodeId from = maker(input, own.dims ? dims(graph_.outputs(node)[0]).rank() : 0);
        if (from != NodeId::kNone) unite(root(from), root(node));
      }
    }
    join_reductions_beside();
    for (NodeId node : order_) {  // what may share a kernel with a space's nodes, and has axes that stay
      if (takes_part_[index(node)] || !dynamic_cast<const KernelOp*>(&graph_.op(node))) continue;
      for (ValueId input : graph_.inputs(node)) leave(input);
      for (ValueId output : graph_.outputs(node)) {
        for (const Use& use : graph_.uses(output)) {
          if (use.node != NodeId::kNone && takes_part_[index(use.node)] && dims(output).rank() > 0) spaces_[index(root(use.node))].dims.reset();
        }
      }
    }
  }

  /// A space whose extents are known by some of its values alone stays: a call compares them with those of the others, which views of axes that are taken apart do not.
  void leave_what_a_call_compares() {
    const auto is_open = [&](ValueId value, const Shape& space) {
      const Shape& own = dims(value);
      for (int axis = 1; axis <= std::min(own.rank(), space.rank()); ++axis) {
        if (own[-axis] == kUnknown && space[-axis] != kUnknown) return true;
      }
      return false;
    };
    for (NodeId node : order_) {
      if (!takes_part_[index(node)]) continue;
      std::optional<Shape>& space = spaces_[index(root(node))].dims;
      if (!space) continue;
      const auto inputs = graph_.inputs(node);
      if (std::any_of(inputs.begin(), inputs.end(), [&](ValueId input) { return is_open(input, *space); }) || is_open(graph_.outputs(node)[0], *space)) space.reset();
    }
  }

  /// A reduction of what other nodes read, as the gradient by a bias: over their space, it may be in their kernel.
  void join_reductions_beside() {
    for (NodeId node : order_) {
      if (!takes_part_[index(node)] || !dynamic_cast<const ReduceOp*>(&graph_.op(node))) continue;
      const ValueId from = graph_.inputs(node)[0];
      for (const Use& use : graph_.uses(from)) {
        if (use.node == NodeId::kNone || use.node == node || !takes_part_[index(use.node)]) continue;
        const auto& beside = spaces_[index(root(use.node))].dims;
        if (beside && *beside == dims(from)) unite(root(use.node), root(node));
      }
    }
  }

  /// The space of the node that makes the value stays as it is.
  void leave(ValueId value) {
    const NodeId owner = maker(value, dims(value).rank());
    if (owner != NodeId::kNone) spaces_[index(root(owner))].dims.reset();
  }

  void unite(int into, int from) {
    if (into == from) return;
    Space &a = spaces_[index(into)], &b = spaces_[index(from)];
    a.dims = common(a.dims, b.dims);
    a.reduces |= b.reduces;
    b.parent = into;
  }

  /// Where axes begin; nothing where extents are not known that must be.
  static std::optional<Cuts> cuts_of(const Shape& dims) {
    Cuts cuts;
    std::int64_t elements = 1;
    for (int axis = dims.rank() - 1; axis >= 0; --axis) {
      if (dims[axis] == 0 || (dims[axis] == kUnknown && axis > 0)) return {};
      if (dims[axis] == 1) continue;
      if (elements > 1) cuts.push_back(elements);
      if (dims[axis] != kUnknown && __builtin_mul_overflow(elements, dims[axis], &elements)) return {};
    }
    return cuts;
  }

  static std::optional<Cuts> both(const Cuts& a, const Cuts& b) {
    Cuts all;
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all));
    for (std::size_t i = 1; i < all.size(); ++i) {
      if (all[i] % all[i - 1] != 0) return {};
    }
    return all.size() < index(kMostAxes) ? std::optional(all) : std::nullopt;
  }

  /// Spaces between which a reshape stands are of one family. Whether there are such.
  bool join_spaces() {
    for (std::size_t node = 0; node < spaces_.size(); ++node) {
      Space& space = spaces_[node];
      if (!takes_part_[node] || space.parent >= 0 || !space.dims) continue;
      if (auto cuts = cuts_of(*space.dims)) {
        space.cuts = std::move(*cuts);
        if ((*space.dims)[0] == kUnknown) space.open = space.cuts.empty() ? 1 : space.cuts.back();
      } else {
        space.dims.reset();
      }
    }
    bool has_joined = false;
    for (NodeId node : order_) {
      const ValueId from = reshaped(node), to = graph_.outputs(node)[0];
      const NodeId producer = from == ValueId::kNone ? NodeId::kNone : maker(from, dims(from).rank());
      if (producer == NodeId::kNone || !is_whole(from, root(producer))) continue;
      for (const Use& use : graph_.uses(to)) {
        if (use.node == NodeId::kNone || !takes_part_[index(use.node)] || !is_whole(to, root(use.node)) || !keeps_checks(node, spaces_[index(root(producer))].open, spaces_[index(root(use.node))].open)) continue;
        const int a = family(root(producer)), b = family(root(use.node));
        const auto cuts = a == b ? std::nullopt : both(spaces_[index(a)].cuts, spaces_[index(b)].cuts);
        if (!cuts) continue;
        spaces_[index(b)].family = a;
        spaces_[index(a)].reduces |= spaces_[index(b)].reduces;
        spaces_[index(a)].is_joined = has_joined = true;
        spaces_[index(a)].cuts = *cuts;
      }
    }
    return join_views() || has_joined;
  }

  /// A reshape that would copy what a dimshuffle looks at, or repeat what broadcast_to does, for the nodes of one space alone, lends that space the view's axes: the nodes then read the view. Behind the other joins, as what reduces is known then.
  bool join_views() {
    bool has_joined = false;
    for (NodeId node : order_) {
      const ValueId from = reshaped(node), to = graph_.outputs(node)[0];
      const bool repeats = from != ValueId::kNone && is_stretched(from);
      const int space = from == ValueId::kNone || !(repeats || has_other_order(from)) ? -1 : reading_space(to);
      const auto own = space < 0 ? std::nullopt : cuts_of(dims(from));
      if (!own || !keeps_checks(node, dims(from)[0] == kUnknown ? (own->empty() ? 1 : own->back()) : 0, spaces_[index(space)].open)) continue;
      Space& of = spaces_[index(family(space))];
      if (of.reduces && repeats) continue;
      if (of.reduces && !shuffle(from)->keeps_runs(graph_.type(graph_.inputs(graph_.owner(from))[0]))) continue;
      const auto cuts = both(of.cuts, *own);
      if (!cuts) continue;
      of.cuts = *cuts;
      of.is_joined = of.has_views = has_joined = true;
      views_.emplace(to, from);
    }
    return has_joined;
  }

  const DimShuffleOp* shuffle(ValueId value) const {
    const NodeId owner = graph_.owner(value);
    return owner == NodeId::kNone ? nullptr : dynamic_cast<const DimShuffleOp*>(&graph_.op(owner));
  }

  /// Whether the value is a view whose axes stand in another order than those of what it looks at.
  bool has_other_order(ValueId value) const {
    const DimShuffleOp* view = shuffle(value);
    return view && !view->keeps_order();
  }

  /// Whether the value is a view that repeats elements of what it looks at.
  bool is_stretched(ValueId value) const {
    const NodeId owner = graph_.owner(value);
    return owner != NodeId::kNone && dynamic_cast<const BroadcastToOp*>(&graph_.op(owner));
  }

  /// The space whose nodes alone read the value, which has an element for each of its; -1: there is none.
  int reading_space(ValueId value) {
    int space = -1;
    for (const Use& use : graph_.uses(value)) {
      if (use.node == NodeId::kNone || !takes_part_[index(use.node)]) return -1;
      const int own = root(use.node);
      if (!is_whole(value, own) || (space >= 0 && own != space)) return -1;
      space = own;
    }
    return space;
  }

  /// Whether a reshape between these spaces finds nothing wrong at a call that is not found without it: extents were compared when the graph was built, or the first axis of both is
  /// what is left of as many elements.
  bool keeps_checks(NodeId reshape, std::int64_t open_from, std::int64_t open_to) const { return open_from == open_to && (open_from == 0 || graph_.inputs(reshape).size() == 1); }

  /// Whether the value has an element for each of the space's.
  bool is_whole(ValueId value, int space) const { return spaces_[index(space)].dims && dims(value) == *spaces_[index(space)].dims; }

  bool is_refined(NodeId node) {
    const int space = root(node);
    const Space& of = spaces_[index(family(space))];
    return spaces_[index(space)].dims && of.is_joined && (of.reduces || of.has_views);
  }

  std::vector<std::vector<std::int64_t>> parts_of(int space) { return parts_of(*spaces_[index(space)].dims, spaces_[index(family(space))].cuts); }
  /// The parts of each axis, the outermost first.
  static std::vector<std::vector<std::int64_t>> parts_of(const Shape& whole, const Cuts& cuts) {
    std::vector<std::vector<std::int64_t>> parts(index(whole.rank()));
    std::int64_t begin = 1;
    for (int axis = whole.rank() - 1; axis >= 0; --axis) {
      if (whole[axis] == 1) continue;
      std::vector<std::int64_t>& own = parts[index(axis)];
      if (whole[axis] == kUnknown) {  // the first: no space of the family cuts it
        own.push_back(kUnknown);
        continue;
      }
      const std::int64_t end = begin * whole[axis];
      std::int64_t from = begin;
      for (std::int64_t cut : cuts) {
        if (cut <= begin || cut >= end) continue;
        own.insert(own.begin(), cut / from);
        from = cut;
      }
      own.insert(own.begin(), end / from);
      begin = end;
    }
    return parts;
  }

  /// A value of the space, or one that is stretched to it, with the axes of its family.
  ValueId refined(ValueId value, int space, SourceLine where) {
    if (dims(value).rank() == 0) return value;
    if (const auto made = made_.find(value); made != made_.end()) return made->second;
    const NodeId owner = graph_.owner(value);
    if (owner != NodeId::kNone) {
      const ValueId from = reshaped(owner);
      const auto made = from == ValueId::kNone ? made_.end() : made_.find(from);
      if (made != made_.end() && is_whole(value, space) && is_whole(from, root(graph_.owner(from))) && family(root(graph_.owner(from))) == family(space)) return made->second;
    }
    const auto [found, is_new] = seen_.try_emplace({value, space});
    if (!is_new) return found->second;
    const auto view = views_.find(value);
    const bool is_view = view != views_.end();
    found->second = taken_apart(is_view ? view->second : value, is_view ? parts_of(dims(view->second), spaces_[index(family(space))].cuts) : parts_of(space), where);
    return found->second;
  }

  ValueId taken_apart(ValueId value, const std::vector<std::vector<std::int64_t>>& axes, SourceLine where) {
    const Shape& from = dims(value);
    const int missing = static_cast<int>(axes.size()) - from.rank();
    std::vector<TakeApartOp::Part> parts;
    for (int axis = 0; axis < from.rank(); ++axis) {
      for (std::int64_t extent : axes[index(axis + missing)]) parts.push_back(from[axis] == 1 ? TakeApartOp::Part{} : TakeApartOp::Part{axis, extent});
    }
    const NodeId owner = graph_.owner(value);
    if (const auto* size = owner == NodeId::kNone ? nullptr : dynamic_cast<const SizeOp*>(&graph_.op(owner))) {  // a number of the host, of any rank
      const ValueId inputs[] = {graph_.inputs(owner)[0]};
      return graph_.outputs(graph_.add(std::make_shared<const SizeOp>(size->steps(), static_cast<int>(parts.size())), inputs, where))[0];
    }
    bool is_same = index(from.rank()) == parts.size();
    for (int axis = 0; is_same && axis < from.rank(); ++axis) is_same = from[axis] == 1 || (parts[index(axis)].axis == axis && parts[index(axis)].extent == from[axis]);
    if (is_same) return value;
    const ValueId inputs[] = {value};
    return graph_.outputs(graph_.add(std::make_shared<const TakeApartOp>(std::move(parts)), inputs, where))[0];
  }

  /// Bit a: axis a.
  std::uint32_t refined_axes(std::uint32_t axes, int space) {
    std::uint32_t refined = 0, axis = 0;
    const auto parts = parts_of(space);
    for (std::size_t of = 0; of < parts.size(); ++of) {
      for (std::size_t part = 0; part < parts[of].size(); ++part, ++axis) refined |= (axes >> of & 1u) << axis;
    }
    return refined;
  }

  /// The node over the refined space.
  void refine(NodeId node) {
    const int space = root(node);
    const SourceLine where = graph_.where(node);
    std::vector<ValueId> inputs;
    const std::vector<ValueId> given(graph_.inputs(node).begin(), graph_.inputs(node).end());
    for (ValueId input : given) inputs.push_back(refined(input, space, where));
    OpPtr op = graph_.op_ptr(node);
    if (const auto* reduction = dynamic_cast<const ReduceOp*>(op.get())) op = std::make_shared<const ReduceOp>(reduction->kind(), refined_axes(*reduction->reduced_axes(), space), reduction->allows_empty());
    if (const auto* places = dynamic_cast<const IndexAlongOp*>(op.get())) op = std::make_shared<const IndexAlongOp>(refined_axes(places->counted_axes(), space));
    made_.emplace(graph_.outputs(node)[0], graph_.outputs(graph_.add(op, inputs, where))[0]);
  }

  /// The value, with the axes that it had.
  ValueId put_together(ValueId value, const TensorType& type, SourceLine where) {
    if (graph_.type(value) == type) return value;
    static const OpPtr in_order = contiguous(constant(0.0)).owner().op().shared_from_this();
    const ValueId inputs[] = {value};
    const ValueId ordered[] = {graph_.outputs(graph_.add(in_order, inputs, where))[0]};
    const TensorType types[] = {type};
    return graph_.outputs(graph_.add(std::make_shared<const ReshapeOp>(type.dims), ordered, types, where))[0];
  }

  FunctionGraph& graph_;
  const std::vector<NodeId> order_;
  std::vector<Space> spaces_;     // by node
  std::vector<bool> takes_part_;  // by node
  std::map<ValueId, ValueId> made_;                    // what nodes gave, refined
  std::map<std::pair<ValueId, int>, ValueId> seen_;    // other values, by space
  std::map<ValueId, ValueId> views_;                   // by what reshapes make of them
};

}  // namespace

FunctionGraph refine_spaces(FunctionGraph graph) {
  if (graph.has_op<ReshapingOp>() && SpaceRefining(graph).run()) graph.prune();
  return graph;
}

}  // namespace damo
