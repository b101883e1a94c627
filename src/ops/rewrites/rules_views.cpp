// Rules for views: chains of them become one, those in the midst of elementwise work move before it, where they part no kernels, and fills
// (`second` with a number) stay numbers as long as they can. All keep every value, bit for bit, but for join_parts' sign of 0.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <damo/kernel_op.hpp>
#include <damo/ops/cast.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/shape.hpp>
#include "ops/attention/attention_op.hpp"
#include "ops/concatenate_op.hpp"
#include "ops/dimshuffle_op.hpp"
#include "ops/given_shape_op.hpp"
#include "ops/reshape_op.hpp"
#include "ops/rewrites/match.hpp"
#include "ops/subtensor_op.hpp"

namespace damo {
namespace {

template <class T>
bool is(const Op& op) { return dynamic_cast<const T*>(&op) != nullptr; }

constexpr int kMostLifts = 16, kCheapToLift = 8;
constexpr int kCheapToRepeat = 32;  // instructions an element that kernels do again rather than write and read what several slices look at

Variable shuffled(const Variable& x, const std::vector<int>& pattern) { return changes_nothing(pattern, x.rank()) ? x : dimshuffle(x, pattern); }

/// One dimshuffle in place of two, none in place of one that changes nothing.
Variable merge_dimshuffles(Site& site) {
  const auto& outer = static_cast<const DimShuffleOp&>(site.op()).pattern();
  const auto* inner = site.made_by<DimShuffleOp>(site.input(0));
  std::vector<int> pattern;
  for (std::int64_t axis : outer) pattern.push_back(axis == kNewAxis || !inner ? static_cast<int>(axis) : static_cast<int>(inner->pattern()[static_cast<std::size_t>(axis)]));
  const Variable made = shuffled(site.operand(inner ? site.input_of(site.input(0)) : site.input(0)), pattern);
  return inner || !made.has_owner() ? if_fits(site, made) : Variable();
}

/// The only reshape that counts is the last; one to the type that was there is none.
Variable merge_reshapes(Site& site) {
  ValueId x = site.input(0);
  if (const Op* contiguous = site.made_by<Op>(x); contiguous && contiguous->passes_through(0) == 0) x = site.input_of(x);
  if (site.type(x) == site.type(site.output()) && site.type(x).dims.is_known()) return site.operand(x);
  if (!is<ReshapeOp>(site.op()) || !site.made_by<ReshapingOp>(x)) return {};
  const ValueId from = site.input_of(x);
  const Variable inputs[] = {site.operand(from)};
  return if_fits(site, static_cast<const ReshapeOp&>(site.op()).apply(inputs, {}).output());
}

/// One is enough. Of what else is contiguous it stays: it costs nothing there, and that node may be dropped later.
Variable drop_contiguous(Site& site) {
  const Op* op = site.made_by<Op>(site.input(0));
  return op && op->passes_through(0) == 0 ? if_fits(site, site.input(0)) : Variable();
}

/// What repeats a value that was repeated before, along another axis: the copy in between, whose axes flatten has put together, is left out, and one copy repeats along both.
Variable join_repeats(Site& site) {
  const ValueId stretched = site.input(0);
  if (!site.made_by<BroadcastToOp>(stretched) || site.readings(stretched) != 1) return {};
  const ValueId turned = site.input_of(stretched);
  const auto* turn = site.made_by<DimShuffleOp>(turned);
  if (!turn || site.readings(turned) != 1) return {};
  const ValueId flat = site.input_of(turned);
  const auto* flatten_op = site.made_by<FlattenOp>(flat);
  if (!flatten_op || site.readings(flat) != 1) return {};
  const ValueId copied = site.input_of(flat);
  const Op* copy = site.made_by<Op>(copied);
  if (!copy || copy->passes_through(0) != 0 || site.readings(copied) != 1 || !site.made_by<BroadcastToOp>(site.input_of(copied))) return {};
  const int first = flatten_op->first(), merged = flatten_op->last() - first;
  const Shape &from = site.type(turned).dims, &to = site.type(stretched).dims;
  // Narrow elements that stand side by side several times are asked for one by one, which along several axes takes a GPU longer than a second copy does: an upsampling of bfloat16 197 us, by two copies 175.
  if (itemsize(site.type(stretched).dtype) < 4 && from.rank() > 0 && from[-1] == 1 && to[-1] != 1) return {};
  std::vector<int> pattern;
  Shape shape;
  int at = -1;  // where the merged axes stand
  for (int axis = 0; axis < from.rank(); ++axis) {
    const int own = static_cast<int>(turn->pattern()[static_cast<std::size_t>(axis)]);
    const bool stretches = from[axis] == 1 && to[axis] != 1;
    if (stretches && (own == first || to[axis] == kUnknown)) return {};
    if (own == first) at = axis;
    for (int part = 0; part <= (own == first ? merged : 0); ++part) {
      pattern.push_back(own == kNewAxis ? own : own > first ? own + merged
                                                            : own + part);
      shape.push_back(stretches ? to[axis] : -1);
    }
  }
  if (at < 0 || from.rank() != to.rank()) return {};
  return if_fits(site, flatten(broadcast_to(dimshuffle(site.operand(site.input_of(copied)), pattern), shape), at, at + merged));
}

/// x[:, :].
Variable drop_whole_subtensor(Site& site) {
  const std::vector<Index>& indices = static_cast<const SubtensorOp&>(site.op()).indices();
  return std::all_of(indices.begin(), indices.end(), takes_all) ? if_fits(site, site.input(0)) : Variable();
}

/// Whether a view of the value can move up to values that no kernel makes, rows apart: else it would part kernels further up, and of other
/// kernels an element may depend on its place. Only nodes that nobody else reads are passed, and no more than `left` of them.
bool may_rise(const Site& site, ValueId value, int& left) {
  if (!site.made_by<KernelOp>(value)) return true;
  if (!site.made_by<ElementwiseOp>(value) || site.readings(value) != 1 || --left < 0) return false;
  const auto inputs = site.graph().inputs(site.graph().owner(value));
  return std::all_of(inputs.begin(), inputs.end(), [&](ValueId input) { return may_rise(site, input, left); });
}

enum class CopiesWait : bool { kNo, kYes };

/// Whether kernels wait behind the view, or what puts values together, where kernels write them or they are copied; or copies that put it in C order.
bool is_waited_for(const Site& site, ValueId view, CopiesWait copies = CopiesWait::kNo) {
  return site.all_readers(view, [&](NodeId reader) {
    const Op& op = site.graph().op(reader);
    return dynamic_cast<const KernelOp*>(&op) || is<ConcatenateOp>(op) || is<WriteSubtensorOp>(op) || (copies == CopiesWait::kYes && op.passes_through(0) == 0);
  });
}

/// Whether a view should move before the row that makes what it looks at.
bool may_lift(const Site& site, ValueId x, CopiesWait copies = CopiesWait::kNo) {
  int left = kMostLifts;
  return site.made_by<ElementwiseOp>(x) && may_rise(site, x, left) && is_waited_for(site, site.output(), copies);
}

/// view(f(x, y)) is f(view(x), view(y)). moved: an operand, of fewer axes perhaps, after the view.
template <class Moved>
Variable lifted(Site& site, ValueId x, Moved moved) {
  const NodeId node = site.graph().owner(x);
  std::vector<Variable> operands;
  for (ValueId input : site.graph().inputs(node)) operands.push_back(site.type(input).rank() == 0 ? site.operand(input) : moved(input));
  return if_fits(site, site.graph().op(node).apply(operands, {}).output());
}

Variable lift_dimshuffle(Site& site) {
  if (!may_lift(site, site.input(0), CopiesWait::kYes)) return {};  // the row then writes what would be copied
  const int rank = site.type(site.input(0)).rank();
  return lifted(site, site.input(0), [&](ValueId input) {
    const int missing = rank - site.type(input).rank();  // axes that the operand has not: they stretch
    std::vector<int> pattern;
    for (std::int64_t axis : static_cast<const DimShuffleOp&>(site.op()).pattern()) {
      pattern.push_back(axis == kNewAxis || axis < missing ? kNewAxis : static_cast<int>(axis) - missing);
    }
    return shuffled(site.operand(input), pattern);
  });
}

/// Whether the view only leaves out axes, of extent 1.
bool only_drops(const DimShuffleOp& view) { return view.pattern().size() > 0 && std::is_sorted(view.pattern().begin(), view.pattern().end()) && view.pattern().front() != kNewAxis; }

/// Whether the value is what rows of elements gave, or elementwise work on such values.
bool follows_rows(const Site& site, ValueId value, int& left) {
  const auto* op = site.made_by<KernelOp>(value);
  if (!op || --left < 0) return false;
  if (op->reduced_axes()) return true;
  const auto inputs = site.graph().inputs(site.graph().owner(value));
  return std::any_of(inputs.begin(), inputs.end(), [&](ValueId input) { return follows_rows(site, input, left); });
}

/// f(view(x), y), where the view leaves out the axes that a reduction left with extent 1, is view(f(x, y')): so f stays in the kernel of the rows. The opposite of lift_dimshuffle, whose
/// views look at nothing that a reduction gave; y has the axes put in, where it is no kernel's or such a view may rise.
Variable sink_dropped_axes(Site& site) {
  const int rank = site.type(site.output()).rank();
  const DimShuffleOp* view = nullptr;
  int whole = 0;  // axes of x
  for (ValueId input : site.inputs()) {
    const auto* drops = site.made_by<DimShuffleOp>(input);
    int left = kMostLifts;
    if (!drops || site.type(input).rank() != rank || !only_drops(*drops) || !follows_rows(site, site.input_of(input), left)) continue;
    view = drops, whole = site.type(site.input_of(input)).rank();
    break;
  }
  if (!view || whole == rank) return {};
  std::vector<int> kept(view->pattern().begin(), view->pattern().end());
  std::vector<Variable> operands;
  for (ValueId input : site.inputs()) {
    const auto* same = site.made_by<DimShuffleOp>(input);
    int left = kMostLifts;
    if (site.type(input).rank() == 0) {
      operands.push_back(site.operand(input));
    } else if (same && same->pattern() == view->pattern() && site.type(site.input_of(input)).rank() == whole) {
      operands.push_back(site.operand(site.input_of(input)));
    } else if (may_rise(site, input, left)) {
      std::vector<int> pattern(static_cast<std::size_t>(whole), kNewAxis);
      const int missing = rank - site.type(input).rank();  // axes that the operand has not: they stretch
      for (int axis = missing; axis < rank; ++axis) pattern[static_cast<std::size_t>(kept[static_cast<std::size_t>(axis)])] = axis - missing;
      operands.push_back(dimshuffle(site.operand(input), pattern));
    } else {
      return {};
    }
  }
  return if_fits(site, dimshuffle(site.op().apply(operands, {}).output(), kept));
}

/// Whether the node that makes the value has one operand beside numbers, or operands whose extents are known to agree: a view of each
/// might hide that they do not.
bool has_sure_operands(const Site& site, ValueId value) {
  const Shape& dims = site.type(value).dims;
  int tensors = 0;
  for (ValueId input : site.graph().inputs(site.graph().owner(value))) {
    if (site.type(input).rank() == 0) continue;
    if (!(site.type(input).dims == dims)) return false;
    ++tensors;
  }
  return tensors == 1 || (tensors > 1 && dims.is_known());
}

/// Whether of each axis that the indices cut the extent is known, and an operand of the node that makes the value has that extent, or 1, there: the other axes are compared again.
bool agree_where_cut(const Site& site, ValueId value, const std::vector<Index>& indices) {
  const Shape& dims = site.type(value).dims;
  const auto inputs = site.graph().inputs(site.graph().owner(value));
  for (int axis = 0; axis < static_cast<int>(indices.size()); ++axis) {
    if (takes_all(indices[static_cast<std::size_t>(axis)])) continue;
    const bool agree = std::all_of(inputs.begin(), inputs.end(), [&](ValueId input) {
      const Shape& own = site.type(input).dims;
      const int at = axis - (dims.rank() - own.rank());
      return at < 0 || own[at] == 1 || own[at] == dims[axis];
    });
    if (dims[axis] == kUnknown || !agree) return false;
  }
  return true;
}

/// The indices for an operand of these extents of what they cut: what stretches along an axis is not cut there.
std::vector<Index> indices_of_operand(const std::vector<Index>& indices, const Shape& cut, const Shape& operand) {
  std::vector<Index> own;
  const int missing = cut.rank() - operand.rank();
  for (int axis = missing; axis < static_cast<int>(indices.size()); ++axis) {
    const Index& index = indices[static_cast<std::size_t>(axis)];
    const bool stretches = operand[axis - missing] == 1 && cut[axis] != 1;
    own.push_back(!stretches ? index : index.is_position() ? Index(0) : Index());
  }
  return own;
}

/// Whether no element of a value of these extents is in both of its parts: there is an axis where slices do not meet, or positions differ.
bool are_apart(const std::vector<Index>& a, const std::vector<Index>& b, const Shape& dims) {
  const auto range_of = [&](const Index& index, std::int64_t extent) {
    const auto from_front = [extent](std::int64_t place) { return std::clamp<std::int64_t>(place < 0 ? place + extent : place, 0, extent); };
    if (index.is_position()) return std::pair(from_front(index.position()), from_front(index.position()) + 1);
    if (index.slice().step < 1) return std::pair<std::int64_t, std::int64_t>(0, extent);
    return std::pair(index.slice().start ? from_front(*index.slice().start) : 0, index.slice().stop ? from_front(*index.slice().stop) : extent);
  };
  for (std::size_t axis = 0; axis < std::min(a.size(), b.size()); ++axis) {
    const std::int64_t extent = dims[static_cast<int>(axis)];
    if (extent == kUnknown) continue;
    const auto first = range_of(a[axis], extent), second = range_of(b[axis], extent);
    if (first.second <= second.first || second.second <= first.first) return true;
  }
  return false;
}

/// Instructions of the elementwise nodes that make an element of the value; above `most` where there are more, or where another kernel is among them.
int cost_of_rows(const Site& site, ValueId value, int most) {
  const auto* op = site.made_by<KernelOp>(value);
  if (!op) return 0;
  int cost = op->cost();
  if (!site.made_by<ElementwiseOp>(value)) return most + 1;
  for (ValueId input : site.graph().inputs(site.graph().owner(value))) {
    if (cost <= most) cost += cost_of_rows(site, input, most - cost);
  }
  return cost;
}

/// The same for a subtensor, where other ones may look at x too: each at elements of its own, so that none is computed twice, or few of what is cheap, as differences of neighbours do: then x need not lie in memory.
bool may_lift_cut(const Site& site, ValueId x, const std::vector<Index>& indices) {
  int left = kMostLifts;
  if (!site.made_by<ElementwiseOp>(x) || !is_waited_for(site, site.output())) return false;
  if (site.readings(x) == 1) return may_rise(site, x, left);
  const auto inputs = site.graph().inputs(site.graph().owner(x));
  if (site.readings(x) > kMostLifts || !std::all_of(inputs.begin(), inputs.end(), [&](ValueId input) { return may_rise(site, input, left); })) return false;
  const int most = kCheapToRepeat / (site.readings(x) - 1);
  const bool is_cheap = cost_of_rows(site, x, most) <= most;
  return site.all_readers(x, [&](NodeId other) {
    const auto* cut = dynamic_cast<const SubtensorOp*>(&site.graph().op(other));
    return other == site.node() || (cut && (is_cheap || are_apart(indices, cut->indices(), site.type(x).dims)) && is_waited_for(site, site.graph().outputs(other)[0]));
  });
}

Variable lift_subtensor(Site& site) {
  const ValueId x = site.input(0);
  const std::vector<Index>& indices = static_cast<const SubtensorOp&>(site.op()).indices();
  if (!may_lift_cut(site, x, indices) || !(has_sure_operands(site, x) || agree_where_cut(site, x, indices))) return {};
  return lifted(site, x, [&](ValueId input) {
    const std::vector<Index> own = indices_of_operand(indices, site.type(x).dims, site.type(input).dims);
    return std::all_of(own.begin(), own.end(), takes_all) ? site.operand(input) : subtensor(site.operand(input), own);
  });
}

Variable lift_reshape(Site& site) {
  ValueId x = site.input(0);
  if (const Op* contiguous = site.made_by<Op>(x); contiguous && contiguous->passes_through(0) == 0 && site.readings(x) == 1) x = site.input_of(x);
  if (!may_lift(site, x) || !has_sure_operands(site, x)) return {};
  return lifted(site, x, [&](ValueId input) {
    const Variable inputs[] = {site.operand(input)};
    return site.op().apply(inputs, {}).output();
  });
}

/// A constant of one element has no axes where another operand has them all: then it is a number of the kernel, not an array.
Variable drop_axes_of_numbers(Site& site) {
  const int rank = site.type(site.output()).rank();
  const auto inputs = site.inputs();
  const auto drops = [&](ValueId input) { return site.graph().constant(input) && site.type(input).rank() > 0 && is_single(site, input); };
  const auto has_all = [&](ValueId input) { return !site.graph().constant(input) && site.type(input).rank() == rank; };
  if (std::none_of(inputs.begin(), inputs.end(), drops) || std::none_of(inputs.begin(), inputs.end(), has_all)) return {};
  std::vector<Variable> operands;
  for (ValueId input : inputs) {
    const ConstantPtr& constant = site.graph().constant(input);
    operands.push_back(drops(input) ? damo::constant(Scalar::load(constant->type.dtype, constant->bytes.data())) : site.operand(input));
  }
  return if_fits(site, site.op().apply(operands, {}).output());
}

/// A fill: a value of one element in the shape of another one. No fill: kNone.
Pair fill_of(const Site& site, ValueId value) {
  const Pair pair = pair_of(site, value, rows().second);
  return pair && is_single(site, pair.second) ? pair : Pair();
}

/// f(fill(x, a), 2) is fill(x, f(a, 2)): computed once. Where a is no number f is a kernel perhaps, unless it is cheap to do again. The fill may
/// be of a wider dtype than a, that of x: f is computed there. A dtype of 8 bits promotes with no other one: f must give it too.
Variable sink_fill(Site& site) {
  Pair only;
  DType dtype = bool_;
  for (ValueId input : site.inputs()) {
    const Pair fill = fill_of(site, input);
    if (fill ? static_cast<bool>(only) : !site.number(input)) return {};
    if (!fill) continue;
    if (!site.number(fill.second) && (site.readings(input) != 1 || static_cast<const ElementwiseOp&>(site.op()).cost() > kCheapToLift)) return {};
    only = fill;
    dtype = site.type(input).dtype;
  }
  if (!only) return {};
  std::vector<Variable> values;
  for (ValueId input : site.inputs()) values.push_back(site.number(input) ? site.operand(input) : cast(site.operand(only.second), dtype));
  const DType shape_dtype = site.type(only.first).dtype, given = site.type(site.output()).dtype;
  if (shape_dtype != given && (is_float8(shape_dtype) || is_float8(given))) return {};
  return if_fits(site, second(site.operand(only.first), site.op().apply(values, {}).output()));
}

/// view(fill(x, a)) is fill(view(x), a), where x is in memory or a view already: nothing is computed for it.
Variable lift_view_of_fill(Site& site) {
  const Pair fill = fill_of(site, site.input(0));
  if (!fill) return {};
  const ValueId x = fill.first;
  if (const Op* op = site.made_by<Op>(x); op && op->view_of(0) < 0) return {};
  const Variable inputs[] = {site.operand(x)};
  return if_fits(site, second(site.op().apply(inputs, {}).output(), dimshuffle(site.operand(fill.second), std::span<const int>())));
}

/// A fill in the shape of a fill, and one that stretches nothing. What forward_shapes has to prove stays until then.
Variable drop_fill(Site& site) {
  const ValueId shape = site.input(0), value = site.input(1);
  if (is_single(site, shape) && site.graph().owner(shape) == NodeId::kNone) return if_fits(site, value);
  const Pair inner = pair_of(site, shape, rows().second);
  return inner && site.number(inner.second) ? if_fits(site, second(site.operand(inner.first), site.operand(value))) : Variable();
}

constexpr std::size_t kMostParts = 32;

/// What set_subtensor(zeros, [.., start:stop, ..], value), or with a position in the slice's place, writes, along one axis.
struct SetPart {
  std::int64_t start = 0, stop = 0;
  int axis = -1;
  ValueId value = ValueId::kNone;
  bool is_position = false;  ///< the value lacks the axis
};

/// Of a value of known extents, in the type of `whole`; nothing if it is no such part.
std::optional<SetPart> set_part(const Site& site, ValueId written, const TensorType& whole) {
  const auto* op = site.made_by<WriteSubtensorOp>(written);
  if (!op || op->write() != WindowWrite::kSet || !(site.type(written) == whole) || !whole.dims.is_known()) return {};
  const Pair zeros = fill_of(site, site.input_of(written, 0));
  if (!zeros || !is_number(site, zeros.second, 0) || std::signbit(number_of(site, zeros.second))) return {};
  SetPart part{.value = site.input_of(written, 1)};
  for (std::size_t i = 0; i < op->indices().size(); ++i) {
    const Index& index = op->indices()[i];
    const std::int64_t extent = whole.dims[static_cast<int>(i)];
    const auto from_front = [extent](std::int64_t place) { return place < 0 ? place + extent : place; };
    SetPart cut{0, extent, static_cast<int>(i), part.value, index.is_position()};
    if (index.is_position()) {
      cut.start = from_front(index.position()), cut.stop = cut.start + 1;
    } else {
      if (index.slice().step != 1) return {};
      if (index.slice().start) cut.start = from_front(*index.slice().start);
      if (index.slice().stop) cut.stop = from_front(*index.slice().stop);
      if (cut.start == 0 && cut.stop == extent) continue;
    }
    if (part.axis >= 0 || cut.start < 0 || cut.stop > extent || cut.stop <= cut.start) return {};
    part = cut;
  }
  if (part.axis < 0) return {};
  Shape dims;
  for (int axis = 0; axis < whole.dims.rank(); ++axis) {
    if (axis != part.axis) dims.push_back(whole.dims[axis]);
    else if (!part.is_position) dims.push_back(part.stop - part.start);
  }
  return site.type(part.value).dims == dims && site.type(part.value).dtype == whole.dtype ? std::optional(part) : std::nullopt;
}

/// A sum of parts set into zeros that together fill an axis is those parts side by side: the gradient of what was split.
Variable join_parts(Site& site) {
  const TensorType& whole = site.type(site.output());
  std::vector<SetPart> parts;
  std::vector<ValueId> waiting{site.output()};
  while (!waiting.empty()) {
    const ValueId value = waiting.back();
    waiting.pop_back();
    if (const Pair terms = pair_of(site, value, rows().add)) {
      if (waiting.size() + parts.size() + 2 > kMostParts) return {};
      waiting.insert(waiting.end(), {terms.first, terms.second});
      continue;
    }
    const auto part = set_part(site, value, whole);
    if (!part || (!parts.empty() && part->axis != parts[0].axis)) return {};
    parts.push_back(*part);
  }
  std::sort(parts.begin(), parts.end(), [](const SetPart& a, const SetPart& b) { return a.start < b.start; });
  std::int64_t end = 0;
  std::vector<Variable> values;
  for (const SetPart& part : parts) {
    if (part.start != std::exchange(end, part.stop)) return {};
    values.push_back(part.is_position ? expand_dims(site.operand(part.value), part.axis) : site.operand(part.value));
  }
  return end == whole.dims[parts[0].axis] ? if_fits(site, concatenate(values, parts[0].axis)) : Variable();
}

/// The node whose gradients by query, key and value, turned to (batch, n, 1, heads, features) for nobody else, are these parts; kNone if they are not.
NodeId attention_gradients(const Site& site, std::span<const ValueId> parts, int axis) {
  NodeId node = NodeId::kNone;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto* turn = site.made_by<DimShuffleOp>(parts[i]);
    const ValueId gradient = turn ? site.input_of(parts[i]) : ValueId::kNone;
    const auto* op = turn ? site.made_by<AttentionGradientOp>(gradient) : nullptr;
    if (!op || op->side_by_side() || site.readings(parts[i]) != 1 || site.readings(gradient) != 1) return NodeId::kNone;
    const int rank = site.type(gradient).rank();
    std::vector<int> pattern;
    for (int from = 0; from < rank; ++from) {
      if (from == rank - 2) pattern.push_back(kNewAxis);
      pattern.push_back(from);
    }
    if (axis != rank - 2 || !std::ranges::equal(turn->pattern(), pattern)) return NodeId::kNone;
    const NodeId owner = site.graph().owner(gradient);
    if (site.graph().outputs(owner)[i] != gradient || (i > 0 && owner != node)) return NodeId::kNone;
    node = owner;
  }
  return node;
}

/// Gradients of attention by what one array was taken apart into are written as parts of one array.
Variable join_attention_gradients(Site& site) {
  const std::span<const ValueId> parts = site.inputs();
  const NodeId node = parts.size() == 3 ? attention_gradients(site, parts, static_cast<const ConcatenateOp&>(site.op()).axis()) : NodeId::kNone;
  if (node == NodeId::kNone) return {};
  const auto operands = site.graph().inputs(node);
  if (!(site.type(operands[0]).dims == site.type(operands[1]).dims) || !site.type(operands[0]).dims.is_known()) return {};
  std::vector<Variable> inputs;
  for (const ValueId operand : operands) inputs.push_back(site.operand(operand));
  const AttentionForm& form = static_cast<const AttentionGradientOp&>(site.graph().op(node)).form();
  return if_fits(site, std::make_shared<const AttentionGradientOp>(form, true)->apply(inputs, site.graph().where(node)).output());
}

}  // namespace

std::vector<Rule> view_rules() {
  const auto is_contiguous_op = [](const Op& op) { return op.passes_through(0) == 0; };
  const auto is_row = [](const Op& op) { return is<ElementwiseOp>(op) && &op != rows().second.get(); };
  return {
      {.name = "join_parts", .ops = {rows().add}, .reads = [](const Op& op) { return &op == rows().add.get() || is<WriteSubtensorOp>(op); }, .rewrite = join_parts},
      {.name = "join_attention_gradients", .takes = is<ConcatenateOp>, .reads = is<DimShuffleOp>, .rewrite = join_attention_gradients},
      {.name = "merge_dimshuffles", .takes = is<DimShuffleOp>, .rewrite = merge_dimshuffles},
      {.name = "merge_reshapes", .takes = is<ReshapingOp>, .rewrite = merge_reshapes},
      {.name = "drop_contiguous", .takes = is_contiguous_op, .rewrite = drop_contiguous},
      {.name = "join_repeats", .takes = is_contiguous_op, .rewrite = join_repeats},
      {.name = "drop_whole_subtensor", .takes = is<SubtensorOp>, .rewrite = drop_whole_subtensor},
      {.name = "drop_fill", .ops = {rows().second}, .rewrite = drop_fill},
      {.name = "drop_axes_of_numbers", .takes = is<ElementwiseOp>, .rewrite = drop_axes_of_numbers},
      {.name = "sink_fill", .takes = is_row, .reads = is_one_of({rows().second}), .rewrite = sink_fill},
      {.name = "lift_view_of_fill", .takes = is<DimShuffleOp>, .rewrite = lift_view_of_fill},
      {.name = "lift_dimshuffle", .takes = is<DimShuffleOp>, .rewrite = lift_dimshuffle},
      {.name = "sink_dropped_axes", .takes = is<ElementwiseOp>, .reads = is<DimShuffleOp>, .rewrite = sink_dropped_axes},
      {.name = "lift_subtensor", .takes = is<SubtensorOp>, .rewrite = lift_subtensor},
      {.name = "lift_reshape", .takes = is<ReshapeOp>, .rewrite = lift_reshape},
  };
}

}  // namespace damo
