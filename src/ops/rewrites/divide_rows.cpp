#include "ops/rewrites/divide_rows.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ops/concatenate_op.hpp"
#include "ops/elementwise_op.hpp"
#include "ops/indexing/take_op.hpp"
#include "ops/pad_op.hpp"
#include "ops/reduce_op.hpp"
#include "ops/rewrites/fusion_reductions.hpp"
#include "ops/rewrites/match.hpp"
#include "ops/subtensor_op.hpp"

namespace damo {
namespace {

constexpr std::int64_t kMostPartsOfRows = 8;
constexpr std::int64_t kLeastRun = 32;         // bytes: a sector of memory
constexpr std::int64_t kMostOfARow = 1 << 14;  // elements
constexpr std::size_t kMostMoved = 128;        // nodes of a space; where the values of all layers are connected it stays whole
constexpr int kMostMadeAnew = 32;              // nodes that make an operand with fewer axes

/// Elements from `first` on along an axis.
struct Stretch {
  std::int64_t first = 0, count = 0;
};

/// What a subtensor looks at along the axis, if that is one stretch and it cuts no other axis.
std::optional<Stretch> stretch_of(const SubtensorOp& op, int axis, std::int64_t extent) {
  const std::vector<Index>& indices = op.indices();
  if (static_cast<int>(indices.size()) <= axis) return {};
  for (int i = 0; i < static_cast<int>(indices.size()); ++i) {
    const Index& index = indices[static_cast<std::size_t>(i)];
    if (i == axis ? index.is_position() || index.slice().step != 1 : !takes_all(index)) return {};
  }
  const auto& slice = indices[static_cast<std::size_t>(axis)].slice();
  const auto place = [extent](std::optional<std::int64_t> at, std::int64_t otherwise) { return std::clamp<std::int64_t>(!at ? otherwise : *at < 0 ? *at + extent
                                                                                                                                                  : *at,
                                                                                                                        0, extent); };
  const std::int64_t first = place(slice.start, 0), end = place(slice.stop, extent);
  return end > first ? std::optional(Stretch{first, end - first}) : std::nullopt;
}

class RowDivision {
 public:
  /// The space of what the reduction reads. left: values of spaces that stay whole along the axis, to which those of this one are added if it does.
  RowDivision(FunctionGraph& graph, NodeId reduction, int axis, std::unordered_set<ValueId>& left) : graph_(graph), left_(left), dims_(graph.type(graph.inputs(reduction)[0]).dims), axis_(axis), whole_(dims_[axis]), where_(graph.where(reduction)) { reach(graph.inputs(reduction)[0]); }

  /// Whether the space was divided.
  bool run() {
    if (!find_space() || !is_worth_it()) {
      left_.insert(seen_.begin(), seen_.end());
      return false;
    }
    leave_others_beside();
    // Everything is made before anything is replaced: parts are made of what the nodes read.
    std::vector<std::pair<ValueId, ValueId>> replacements;
    const auto replace_by = [&](NodeId node, ValueId value) { replacements.emplace_back(graph_.outputs(node)[0], value); };
    for (const auto& [node, stretch] : cuts_) replace_by(node, together(parts_of(graph_.inputs(node)[0]), stretch, graph_.where(node)));
    for (NodeId node : reductions_) replace_by(node, reduced(node));
    for (NodeId node : beside_) replace_by(node, together(reduced_parts(node), {0, whole_}, graph_.where(node)));
    for (NodeId node : moved_) {
      const ValueId value = graph_.outputs(node)[0];
      const auto uses = graph_.uses(value);
      if (std::any_of(uses.begin(), uses.end(), [&](const Use& use) { return use.node == NodeId::kNone || !inside_.contains(use.node); })) replace_by(node, together(parts_of(value), {0, whole_}, graph_.where(node)));
    }
    for (const auto& [value, replacement] : replacements) graph_.replace(value, replacement);
    return true;
  }

  /// Those along the axis of a space that was divided: there is nothing more to find from them.
  const std::vector<NodeId>& reductions() const { return reductions_; }

 private:
  const Op& op(NodeId node) const { return graph_.op(node); }
  bool is_row(NodeId node) const { return node != NodeId::kNone && dynamic_cast<const ElementwiseOp*>(&op(node)) && &op(node) != rows().second.get(); }
  bool is_element(ValueId value) const { return graph_.type(value).dims == dims_; }
  int rank() const { return dims_.rank(); }
  /// Along the divided axis; of values with fewer axes too.
  std::int64_t extent(ValueId value) const {
    const Shape& dims = graph_.type(value).dims;
    const int at = axis_ - (rank() - dims.rank());
    return at < 0 ? 1 : dims[at];
  }

  void reach(ValueId value) {
    if (seen_.insert(value).second) pending_.push_back(value);
  }

  /// All that is connected; false where something stands in the way.
  bool find_space() {
    while (!pending_.empty()) {
      const ValueId value = pending_.back();
      pending_.pop_back();
      if (left_.contains(value) || !(is_element(value) ? add_element(value) : add_readers_of_row(value))) return false;
    }
    return true;
  }

  bool add_element(ValueId value) {
    const NodeId owner = graph_.owner(value);
    if (is_row(owner)) {
      if (!inside_.contains(owner) && !move(owner)) return false;
    } else if (!add_array(value)) {
      return false;
    }
    for (const Use& use : graph_.uses(value)) {
      if (use.node == NodeId::kNone || inside_.contains(use.node)) continue;
      if (!is_row(use.node)) {
        if (!add_reader(value, use.node)) return false;
      } else if (is_element(graph_.outputs(use.node)[0]) && !move(use.node)) {
        return false;
      }
    }
    return true;
  }

  /// Elementwise work of the space, and what it reads of it.
  bool move(NodeId node) {
    if (moved_.size() + reductions_.size() >= kMostMoved) return false;
    inside_.insert(node);
    moved_.push_back(node);
    reach(graph_.outputs(node)[0]);
    for (ValueId input : graph_.inputs(node)) {
      int left = kMostMadeAnew;
      if (is_element(input)) reach(input);
      else if (!has_small_parts(input, left)) return false;
    }
    return true;
  }

  /// What no work of the space makes: it can be cut, or is put together of parts.
  bool add_array(ValueId value) {
    const NodeId owner = graph_.owner(value);
    const auto* concatenate = owner == NodeId::kNone ? nullptr : dynamic_cast<const ConcatenateOp*>(&op(owner));
    if (!concatenate || concatenate->axis() != axis_) return may_be_cut(value);
    std::int64_t at = 0;
    for (ValueId input : graph_.inputs(owner)) {
      const std::int64_t count = extent(input);
      if (count == kUnknown) return false;
      note({at, count});
      at += count;
    }
    concatenates_.push_back(owner);
    return true;
  }

  /// Whether the array lies in memory whatever is made of it.
  bool may_be_cut(ValueId value) const {
    const NodeId owner = graph_.owner(value);
    if (owner == NodeId::kNone) return true;
    const Op& of = op(owner);
    return of.view_of(0) >= 0 || !(dynamic_cast<const KernelOp*>(&of) || dynamic_cast<const TakeOp*>(&of) || dynamic_cast<const PadOp*>(&of));
  }

  /// Of an operand that is stretched to the space: whether its parts are itself, views, or elementwise work on those. left: nodes that may be made anew for each part.
  bool has_small_parts(ValueId value, int& left) const {
    if (extent(value) == 1) return true;
    if (extent(value) != whole_) return false;
    const NodeId owner = graph_.owner(value);
    if (!is_row(owner)) return true;
    const auto inputs = graph_.inputs(owner);
    return --left >= 0 && std::all_of(inputs.begin(), inputs.end(), [&](ValueId input) { return has_small_parts(input, left); });
  }

  bool add_reader(ValueId value, NodeId node) {
    if (const auto* reduction = dynamic_cast<const ReduceOp*>(&op(node))) return add_reduction(node, *reduction);
    if (const auto* cut = dynamic_cast<const SubtensorOp*>(&op(node))) {
      const auto stretch = stretch_of(*cut, axis_, whole_);
      if (stretch && is_row(graph_.owner(value))) {
        note(*stretch);
        cuts_.emplace_back(node, *stretch);
        inside_.insert(node);
      } else if (stretch) {
        note(*stretch);
        cuts_of_arrays_.push_back(node);
      }
      return true;
    }
    return !dynamic_cast<const KernelOp*>(&op(node));  // a scan, or what goes by the places of elements
  }

  bool add_reduction(NodeId node, const ReduceOp& reduction) {
    const std::uint32_t axes = *reduction.reduced_axes();
    const ReductionKind kind = reduction.kind();
    if (reduction.rows() || kind == ReductionKind::kCount) return false;
    if (!(axes >> axis_ & 1u)) {
      inside_.insert(node);
      beside_.push_back(node);
      return true;
    }
    std::int64_t row = 1;  // 0: not known
    for (int axis = 0; axis < rank(); ++axis) {
      if (axes >> axis & 1u) row = dims_[axis] == kUnknown || row == 0 ? 0 : row * dims_[axis];
    }
    const DType dtype = graph_.type(graph_.inputs(node)[0]).dtype;
    const bool is_sum = kind == ReductionKind::kSum || (kind == ReductionKind::kMean && is_floating(dtype)), is_bound = kind == ReductionKind::kMax || kind == ReductionKind::kMin;
    if (!is_sum && !is_bound && kind != ReductionKind::kAny && kind != ReductionKind::kAll) return false;
    if (row == 0 || row > kMostOfARow || is_float8(dtype) || moved_.size() + reductions_.size() >= kMostMoved) return false;
    inside_.insert(node);
    reductions_.push_back(node);
    reach(graph_.outputs(node)[0]);
    row_axes_ |= axes;
    return true;
  }

  /// Of reductions along other axes those are divided that may be in the rows' kernel (fusion_reductions.hpp); others, as kernels of their own, would be as many as there are parts.
  void leave_others_beside() {
    const std::uint32_t all = (1u << rank()) - 1;
    std::erase_if(beside_, [&](NodeId node) {
      const std::uint32_t axes = *static_cast<const ReduceOp&>(op(node)).reduced_axes();
      bool chooses_of_some = true;  // else an error names the shape that it reads
      for (int axis = 0; axis < rank() && chooses(static_cast<const ReduceOp&>(op(node)).kind()); ++axis) chooses_of_some &= !(axes >> axis & 1u) || dims_[axis] > 0;
      const bool may_join = chooses_of_some && (row_axes_ >> (rank() - 1) & 1u) && (axes & row_axes_) == 0 && ((axes | row_axes_) == all || joins_many(dims_, axes));
      if (!may_join) inside_.erase(node);
      return !may_join;
    });
  }

  /// Of a value of rows: work of rows, and work of the space that they are stretched to.
  bool add_readers_of_row(ValueId value) {
    for (const Use& use : graph_.uses(value)) {
      if (!is_row(use.node)) continue;
      const ValueId made = graph_.outputs(use.node)[0];
      if (is_element(made)) {
        if (!inside_.contains(use.node) && !move(use.node)) return false;
      } else if (graph_.type(made).dims.rank() == rank() && extent(made) == 1) {
        reach(made);
      }
    }
    return true;
  }

  void note(const Stretch& stretch) { part_ = std::gcd(part_, std::gcd(stretch.first, stretch.count)); }

  bool is_worth_it() {
    part_ = std::gcd(part_, whole_);
    const std::int64_t parts = part_ == 0 ? 1 : whole_ / part_;
    if (reductions_.empty() || parts < 2 || parts > kMostPartsOfRows) return false;
    std::int64_t neighbours = part_;
    for (int axis = axis_ + 1; axis < rank(); ++axis) neighbours *= dims_[axis] == kUnknown ? 1 : dims_[axis];
    for (ValueId value : seen_) {
      if (is_element(value) && !is_row(graph_.owner(value)) && neighbours * itemsize(graph_.type(value).dtype) < kLeastRun) return false;
    }
    const auto is_read = [&](const auto& cut) { return is_read_by_kernels(graph_.outputs(cut.first)[0]); };
    if (std::any_of(cuts_.begin(), cuts_.end(), [&](const auto& cut) { return cut.second.count > part_ && is_read(cut); })) return false;  // it would be put together for them
    return std::any_of(cuts_.begin(), cuts_.end(), is_read) || meets_rows() ||
           std::any_of(concatenates_.begin(), concatenates_.end(), [&](NodeId node) { return is_read_within(node); });
  }

  bool is_read_by_kernels(ValueId value) const {
    const auto uses = graph_.uses(value);
    return std::any_of(uses.begin(), uses.end(), [&](const Use& use) { return is_row(use.node); });
  }

  /// Whether work on a part of an array reads values of the space's rows.
  bool meets_rows() const {
    for (NodeId cut : cuts_of_arrays_) {
      for (const Use& use : graph_.uses(graph_.outputs(cut)[0])) {
        if (!is_row(use.node)) continue;
        for (ValueId input : graph_.inputs(use.node)) {
          if (!is_element(input) && seen_.contains(input)) return true;
        }
      }
    }
    return false;
  }

  /// Whether the space alone reads what a concatenate puts together of parts that somebody has.
  bool is_read_within(NodeId node) const {
    const ValueId value = graph_.outputs(node)[0];
    const auto uses = graph_.uses(value);
    return !graph_.is_output(value) && std::all_of(uses.begin(), uses.end(), [&](const Use& use) { return inside_.contains(use.node); });
  }

  std::size_t count() const { return static_cast<std::size_t>(whole_ / part_); }

  const std::vector<ValueId>& parts_of(ValueId value) {
    if (const auto found = parts_.find(value); found != parts_.end()) return found->second;
    std::vector<ValueId> parts;
    for (std::size_t part = 0; part < count(); ++part) parts.push_back(make_part(value, part));
    return parts_.emplace(value, std::move(parts)).first->second;
  }

  /// Depth is bounded as the number of nodes is.
  ValueId make_part(ValueId value, std::size_t part) {
    const NodeId owner = graph_.owner(value);
    const std::int64_t first = static_cast<std::int64_t>(part) * part_;
    if (is_row(owner)) {
      std::vector<ValueId> operands(graph_.inputs(owner).begin(), graph_.inputs(owner).end());
      for (ValueId& operand : operands) {
        if (extent(operand) == whole_) operand = parts_of(operand)[part];
      }
      return made(OpPtr(graph_.op_ptr(owner)), operands, graph_.where(owner));
    }
    if (std::find(concatenates_.begin(), concatenates_.end(), owner) != concatenates_.end() && is_element(value)) {
      std::int64_t at = first;
      std::size_t input = 0;
      while (at >= extent(graph_.inputs(owner)[input])) at -= extent(graph_.inputs(owner)[input++]);
      return cut(graph_.inputs(owner)[input], at);
    }
    return cut(value, first);
  }

  /// A part of a value that lies in memory, from a place on.
  ValueId cut(ValueId value, std::int64_t first) {
    if (extent(value) == part_) return value;
    return made(std::make_shared<const SubtensorOp>(indices_of_part(axis_ - (rank() - graph_.type(value).rank()), first, part_)), {value}, where_);
  }

  /// The stretch of what these are the parts of.
  ValueId together(const std::vector<ValueId>& parts, const Stretch& stretch, const SourceLine& where) {
    const auto first = parts.begin() + stretch.first / part_;
    const std::vector<ValueId> some(first, first + stretch.count / part_);
    return some.size() == 1 ? some[0] : made(std::make_shared<const ConcatenateOp>(axis_), some, where);
  }

  ValueId made(const OpPtr& op, const std::vector<ValueId>& inputs, const SourceLine& where) { return graph_.outputs(graph_.add(op, inputs, where))[0]; }
  ValueId cast(ValueId value, DType dtype, const SourceLine& where) { return graph_.type(value).dtype == dtype ? value : made(cast_op(dtype), {value}, where); }

  ValueId reduced_part(NodeId node, ValueId part, DType dtype) {
    const auto& reduction = static_cast<const ReduceOp&>(op(node));
    const std::uint32_t axes = *reduction.reduced_axes();
    const ValueId inputs[] = {part};
    const TensorType types[] = {{dtype, reduced_shape(graph_.type(part).dims, axes, true)}};
    return graph_.outputs(graph_.add(std::make_shared<const ReduceOp>(reduction.kind(), axes, reduction.allows_empty()), inputs, types, graph_.where(node)))[0];
  }

  /// Of a reduction along other axes: of each part.
  std::vector<ValueId> reduced_parts(NodeId node) {
    std::vector<ValueId> parts;
    for (ValueId part : std::vector<ValueId>(parts_of(graph_.inputs(node)[0]))) parts.push_back(reduced_part(node, part, graph_.type(graph_.outputs(node)[0]).dtype));
    return parts;
  }

  /// Of a reduction along the divided axis: of its parts' elements, joined in pairs.
  ValueId reduced(NodeId node) {
    const ReductionKind kind = static_cast<const ReduceOp&>(op(node)).kind();
    const SourceLine where = graph_.where(node);
    const ValueId from = graph_.inputs(node)[0];
    const DType given = graph_.type(graph_.outputs(node)[0]).dtype;
    const bool adds = kind == ReductionKind::kSum || kind == ReductionKind::kMean;
    const DType joined = adds ? sum_dtype(graph_.type(from).dtype) : given;
    std::vector<ValueId> values = parts_of(from);
    for (ValueId& value : values) value = cast(value, joined, where);
    while (values.size() > 1) {
      std::vector<ValueId> pairs;
      for (std::size_t i = 0; i + 1 < values.size(); i += 2) pairs.push_back(made(joining(kind), {values[i], values[i + 1]}, where));
      if (values.size() % 2 == 1) pairs.push_back(values.back());
      values = std::move(pairs);
    }
    ValueId result = reduced_part(node, values[0], joined);
    if (kind == ReductionKind::kMean) {
      result = made(rows().true_div, {result, graph_.add_constant(number(static_cast<double>(count()), joined).constant())}, where);
    }
    return cast(result, given, where);
  }

  static const OpPtr& joining(ReductionKind kind) {
    switch (kind) {
      case ReductionKind::kMax: return rows().maximum;
      case ReductionKind::kMin: return rows().minimum;
      case ReductionKind::kAny: return rows().or_;
      case ReductionKind::kAll: return rows().and_;
      default: return rows().add;
    }
  }

  FunctionGraph& graph_;
  std::unordered_set<ValueId>& left_;
  const Shape dims_;
  const int axis_;
  const std::int64_t whole_;
  const SourceLine where_;
  std::uint32_t row_axes_ = 0;  // of reductions_; bit a: axis a
  std::int64_t part_ = 0;       // elements along the axis
  std::vector<ValueId> pending_;
  std::unordered_set<ValueId> seen_;                 // elements of the space, and values of its rows
  std::unordered_set<NodeId> inside_;                // what moves, and the reductions and subtensors that are replaced
  std::vector<NodeId> moved_, reductions_, beside_;  // elementwise; along the axis; along others alone
  std::vector<NodeId> concatenates_, cuts_of_arrays_;
  std::vector<std::pair<NodeId, Stretch>> cuts_;  // of what the space computes
  std::unordered_map<ValueId, std::vector<ValueId>> parts_;
};

}  // namespace

FunctionGraph divide_rows(FunctionGraph graph) {
  if (!graph.has_op<ReduceOp>() || !(graph.has_op<SubtensorOp>() || graph.has_op<ConcatenateOp>())) return graph;
  std::set<std::pair<NodeId, int>> divided;         // reductions, by axes
  std::map<int, std::unordered_set<ValueId>> left;  // by axes; a value is looked at once for each
  bool has_changed = false;
  for (NodeId node : graph.toposort()) {
    const auto* reduction = dynamic_cast<const ReduceOp*>(&graph.op(node));
    if (!reduction) continue;
    const Shape dims = graph.type(graph.inputs(node)[0]).dims;
    for (int axis = dims.rank() - 1; axis >= 0; --axis) {
      if (!(*reduction->reduced_axes() >> axis & 1u) || dims[axis] == kUnknown || divided.contains({node, axis}) || left[axis].contains(graph.inputs(node)[0])) continue;
      RowDivision division(graph, node, axis, left[axis]);
      if (!division.run()) continue;
      has_changed = true;
      for (NodeId seen : division.reductions()) divided.emplace(seen, axis);
    }
  }
  if (!has_changed) return graph;
  graph.prune();
  return merge_duplicates(std::move(graph));
}

}  // namespace damo
