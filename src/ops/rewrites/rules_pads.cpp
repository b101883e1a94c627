// Rules of the pass pad_fills, for targets whose kernels read arrays amid a frame (runtime/kernel/framed.hpp): what is set into a fill is padded, as the gradient of a slice is, and elementwise work that keeps the frame's value is
// done behind the pad, in the kernel of those that read it (fuse_pads). Behind `simplify`, whose join_parts looks for what is set into zeros. Exact: a number keeps its bits, and work on the frame is folded as constants are.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <damo/ops/shape.hpp>
#include <damo/ops/subtensor.hpp>
#include "ops/pad_op.hpp"
#include "ops/rewrites/folding.hpp"
#include "ops/rewrites/fuse_pads.hpp"
#include "ops/rewrites/match.hpp"
#include "ops/rewrites/symbolic_shapes.hpp"
#include "ops/subtensor_op.hpp"
#include "runtime/array/view_layout.hpp"

namespace damo {
namespace {

constexpr int kCheapOnFrame = 32;  // instructions: they are done for each place of a frame too
constexpr int kMostAbove = 64;     // nodes above a pad that are looked at

/// The number that all elements of the value are; nothing: it is not known to be one. A small fill of known extents is a constant by now (fold_constants).
std::optional<Scalar> number_everywhere(const Site& site, ValueId value) {
  if (const ConstantPtr& constant = site.graph().constant(value)) {
    const std::size_t bytes = itemsize(constant->type.dtype);
    for (std::size_t at = bytes; at < constant->bytes.size(); at += bytes) {
      if (std::memcmp(constant->bytes.data(), constant->bytes.data() + at, bytes) != 0) return {};
    }
    return constant->bytes.empty() ? std::nullopt : std::optional(Scalar::load(constant->type.dtype, constant->bytes.data()));
  }
  const Op* view = site.made_by<Op>(value);
  const Pair fill = pair_of(site, value, rows().second);
  const ConstantData* number = fill ? site.number(fill.second) : view && view->view_of(0) == 0 ? site.number(site.input_of(value))
                                                                                               : nullptr;
  return number ? std::optional(number->scalar()) : std::nullopt;
}

/// Whether an axis of what is set has the extent that the fill's has, unknown as both are: of a fill in the shape of a leaf, so that nothing which says so was computed for the fill alone.
bool has_extent_of_fill(const Site& site, const SymbolicShapes* shapes, int axis, int own) {
  const ValueId fill = site.input(0), value = site.input(1);
  const Pair like = pair_of(site, fill, rows().second);
  if (!shapes || !like || site.graph().owner(like.first) != NodeId::kNone || !shapes->knows(fill) || !shapes->knows(value)) return false;
  return shapes->of(fill)[static_cast<std::size_t>(axis)] == shapes->of(value)[static_cast<std::size_t>(own)];
}

/// What is set into a fill along slices of neighbours and at positions, amid the fill's number. Extents are known, or of axes that are taken whole are the same, so that no check of shapes is lost.
Variable pad_set_fill(Site& site, const SymbolicShapes* shapes) {
  const auto& op = static_cast<const WriteSubtensorOp&>(site.op());
  const TensorType &whole = site.type(site.output()), &value = site.type(site.input(1));
  const std::optional<Scalar> number = op.write() == WindowWrite::kSet ? number_everywhere(site, site.input(0)) : std::nullopt;
  if (!number || number->dtype() != whole.dtype || value.dtype != whole.dtype || value.rank() == 0) return {};
  std::vector<PadWidth> widths;
  Shape part;
  std::vector<int> positions;
  for (int axis = 0; axis < whole.rank(); ++axis) {
    const Index index = static_cast<std::size_t>(axis) < op.indices().size() ? op.indices()[static_cast<std::size_t>(axis)] : Index();
    const std::int64_t extent = whole.dims[axis];
    if (extent == kUnknown) {
      const int own = part.rank();
      if (!takes_all(index) || own >= value.rank() || value.dims[own] != kUnknown || !has_extent_of_fill(site, shapes, axis, own)) return {};
      widths.push_back({0, 0});
      part.push_back(kUnknown);
      continue;
    }
    if (index.is_position()) {
      const std::int64_t at = index.position() < 0 ? index.position() + extent : index.position();
      if (at < 0 || at >= extent) return {};
      widths.push_back({at, extent - at - 1});
      positions.push_back(axis);
      continue;
    }
    const SlicedAxis sliced = sliced_axis(index.slice(), extent, axis);
    if (index.slice().step != 1 || sliced.count == 0) return {};
    widths.push_back({sliced.first, extent - sliced.first - sliced.count});
    part.push_back(sliced.count);
  }
  if (!(value.dims == part) && (!part.is_known() || !value.dims.is_known())) return {};
  Variable x = site.operand(site.input(1));
  if (!(value.dims == part)) x = broadcast_to(x, part);
  for (int axis : positions) x = expand_dims(x, axis);
  return if_fits(site, pad(x, widths, constant(*number)));
}

std::uint64_t bits_of(const Scalar& number) {
  std::uint64_t bits = 0;
  number.store(&bits);
  return bits;
}

/// The greater of two numbers, or the lesser one, computed in that dtype. The sign of 0 that the greater of two zeros has is the device's: of such the result is no number, which no frame has.
Scalar greater(DType dtype, const Scalar& first, const Scalar& second, bool wants_lesser) {
  const Scalar x = first.cast(dtype), y = second.cast(dtype);
  if (bits_of(x) == bits_of(y)) return x;
  if (!is_floating(dtype)) {  // of 64 bits several are one double
    const bool is_greater = dtype == uint64 ? bits_of(x) > bits_of(y) : x.as_int() > y.as_int();
    return is_greater != wants_lesser ? x : y;
  }
  const double a = x.as_double(), b = y.as_double();
  return a == b ? Scalar(std::nan("")) : (a > b) != wants_lesser ? x
                                                                 : y;
}

/// The op's result of numbers, as constants are folded, and of a few ops that choose one. Null for others.
const Evaluate* evaluation_on_frame(const Op& op) {
  // Not destroyed: another thread may be in function() as the process ends.
  static const auto& chosen = *new std::unordered_map<const Op*, Evaluate>{
      {rows().maximum.get(), [](DType dtype, std::span<const Scalar> in) { return greater(dtype, in[0], in[1], false); }},
      {rows().minimum.get(), [](DType dtype, std::span<const Scalar> in) { return greater(dtype, in[0], in[1], true); }},
      {rows().relu.get(), [](DType, std::span<const Scalar> in) { return in[0].as_double() < 0 ? Scalar(0).cast(in[0].dtype()) : in[0]; }},
      {rows().where.get(), [](DType, std::span<const Scalar> in) { return in[in[0].as_double() != 0 ? 1 : 2]; }},
  };
  if (&op == rows().second.get()) return nullptr;  // its first operand is there for its shape
  const auto found = chosen.find(&op);
  return found == chosen.end() ? evaluation_of(op) : &found->second;
}

/// The number that a frame of the operands has where theirs, of the operands' dtypes, becomes `wanted`: that number, or, of 0, the one of the other sign. Nothing: none does.
std::optional<Scalar> number_before(Site& site, NodeId node, const Evaluate& evaluate, Scalar wanted) {
  const FunctionGraph& graph = site.graph();
  std::vector<DType> dtypes;
  for (ValueId input : graph.inputs(node)) dtypes.push_back(graph.type(input).dtype);
  const DType result = graph.type(graph.outputs(node)[0]).dtype, compute = static_cast<const ElementwiseOp&>(graph.op(node)).step(dtypes, {}).compute;
  if (std::isnan(wanted.as_double())) return {};
  const bool is_zero = is_floating(wanted.dtype()) && wanted.as_double() == 0;
  for (const Scalar& number : is_zero ? std::vector<Scalar>{wanted, Scalar(-wanted.as_double()).cast(wanted.dtype())} : std::vector<Scalar>{wanted}) {
    std::vector<Scalar> in;
    for (std::size_t i = 0; i < dtypes.size(); ++i) {
      const ValueId input = graph.inputs(node)[i];
      in.push_back(graph.is_literal(input) ? graph.number(input) : number.cast(dtypes[i]));
    }
    if (bits_of(evaluate(compute, in).cast(result)) == bits_of(wanted)) return number;
  }
  return {};
}

/// The number that frames of the operands have where f, which makes the value, is to be done behind the pad; nothing: it cannot be, or others read it. Operands stretch along no axis.
std::optional<Scalar> number_of_operands(Site& site, ValueId made, const Scalar& number) {
  const FunctionGraph& graph = site.graph();
  const NodeId node = graph.owner(made);
  const Evaluate* evaluate = node == NodeId::kNone ? nullptr : evaluation_on_frame(graph.op(node));
  if (!evaluate || site.readings(made) != 1 || static_cast<const KernelOp&>(graph.op(node)).cost() > kCheapOnFrame) return {};
  const TensorType& type = site.type(made);
  for (ValueId operand : graph.inputs(node)) {
    if (site.number(operand)) continue;
    const TensorType& own = site.type(operand);
    if (own.rank() != type.rank()) return {};
    for (int axis = 0; axis < type.rank(); ++axis) {
      if (own.dims[axis] == 1 && type.dims[axis] != 1) return {};
    }
  }
  return number_before(site, node, *evaluate, number);
}

/// How many values that kernels make are to be in memory for what pads the value, once all that can be is done behind the pad.
int stored_for(Site& site, ValueId value, const Scalar& number, int& left) {
  const FunctionGraph& graph = site.graph();
  const NodeId owner = graph.owner(value);
  if (owner == NodeId::kNone || !dynamic_cast<const KernelOp*>(&graph.op(owner))) return 0;
  const std::optional<Scalar> before = --left < 0 ? std::nullopt : number_of_operands(site, value, number);
  if (!before) return 1;
  int stored = 0;
  for (ValueId operand : graph.inputs(owner)) {
    if (!site.number(operand)) stored += stored_for(site, operand, before->cast(site.type(operand).dtype), left);
  }
  return stored;
}

/// pad(f(x, y), 0) is f(pad(x, 0), pad(y, 0)) where f(0, 0) is 0, nobody else reads f, and no more is written to memory for it.
Variable lift_pad(Site& site) {
  const ValueId made = site.input(0);
  const ConstantData* number = site.number(site.input(1));
  const std::optional<Scalar> before = number ? number_of_operands(site, made, number->scalar()) : std::nullopt;
  int left = kMostAbove;
  if (!before || stored_for(site, made, number->scalar(), left) > 1) return {};
  const NodeId node = site.graph().owner(made);
  std::vector<Variable> operands;
  for (ValueId operand : site.graph().inputs(node)) {
    const Variable x = site.operand(operand);
    operands.push_back(site.number(operand) ? x : pad(x, static_cast<const PadOp&>(site.op()).widths(), constant(before->cast(x.dtype()))));
  }
  return if_fits(site, site.graph().op(node).apply(operands, site.graph().where(node)).output());
}

}  // namespace

std::vector<Rule> pad_rules(std::shared_ptr<const SymbolicShapes> shapes) {
  return {
      {.name = "pad_set_fill", .takes = [](const Op& op) { return dynamic_cast<const WriteSubtensorOp*>(&op) != nullptr; }, .rewrite = [shapes](Site& site) { return pad_set_fill(site, shapes.get()); }},
      {.name = "lift_pad", .takes = [](const Op& op) { return dynamic_cast<const PadOp*>(&op) != nullptr; }, .reads = [](const Op& op) { return evaluation_on_frame(op) != nullptr; }, .rewrite = lift_pad},
  };
}

FunctionGraph pad_fills(FunctionGraph graph, std::span<const std::string> disabled) {
  if (!graph.has_op<WriteSubtensorOp>() && !graph.has_op<PadOp>()) return graph;
  const std::vector<Rule> rules = pad_rules(std::make_shared<const SymbolicShapes>(graph, graph.toposort()));
  return apply_rules(std::move(graph), rules, disabled);
}

}  // namespace damo
