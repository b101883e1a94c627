// The Op behind every reduction of a graph keeps its axes, with extent 1; a view drops them. The rest is plain ops.
#include <damo/ops/reduce.hpp>

#include <utility>

#include <damo/op.hpp>
#include <damo/ops/cast.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/shape.hpp>
#include "ops/elementwise_thunk.hpp"
#include "ops/reduce_op.hpp"

namespace damo {
namespace {

/// Operands of ops that a user's line asked for.
class At {
 public:
  explicit At(SourceLine line) : line_(line) {}
  Operand operator()(const Variable& x) const { return {x, line_.file, line_.line}; }

 private:
  SourceLine line_;
};

/// How many elements are reduced together: a constant where the extents are known.
Variable count_of(const Variable& x, std::uint32_t axes, SourceLine line) {
  double count = 1;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (!(axes >> axis & 1u)) continue;
    if (x.dims()[axis] == kUnknown) return reduce(ReductionKind::kCount, x, axes, line);
    count *= static_cast<double>(x.dims()[axis]);
  }
  return constant(Scalar(count).cast(result_of(ReductionKind::kCount, x.dtype())), line);
}

/// g, which has the reduced axes with extent 1, in the shape of x.
Variable spread(const Variable& g, const Variable& x, SourceLine line) { return second(At(line)(x), At(line)(g)); }

/// g times the product of all other elements, right where some are 0.
Variable product_gradient(const Variable& x, const Variable& g, std::uint32_t axes, SourceLine line) {
  const At at(line);
  const Variable zero = eq(at(x), 0.0), others = where(at(zero), 1.0, at(x));
  const Variable zeros = reduce(ReductionKind::kSum, zero, axes, line), product = reduce(ReductionKind::kProd, others, axes, line);
  const Variable of_zeros = where(at(eq(at(zeros), 1)), at(product), 0.0), of_others = where(at(eq(at(zeros), 0)), at(product), 0.0);
  const Variable factor = where(at(zero), at(of_zeros), at(true_div(at(of_others), at(others))));
  return mul(at(spread(g, x, line)), at(factor));
}

/// Equals share it evenly.
Variable choice_gradient(const Variable& x, const Variable& chosen, const Variable& g, std::uint32_t axes, SourceLine line) {
  const At at(line);
  const Variable equal = cast(at(eq(at(x), at(chosen))), x.dtype());
  const Variable each = true_div(at(g), at(reduce(ReductionKind::kSum, equal, axes, line)));
  return mul(at(spread(each, x, line)), at(equal));
}

Variable with_axes(const Variable& reduced, std::uint32_t axes, bool keep, SourceLine line) {
  if (keep || axes == 0) return reduced;
  std::vector<int> left;
  for (int axis = 0; axis < reduced.rank(); ++axis) {
    if (!(axes >> axis & 1u)) left.push_back(axis);
  }
  return dimshuffle(At(line)(reduced), left);
}

/// x as a Variable, and which of its axes.
struct Asked {
  Variable x;
  std::uint32_t axes;
  SourceLine line;
  Asked(const char* name, const Operand& given, const Axes& asked) : x(given.as(given.promotable().dtype)), line(given.where()) {
    try {
      axes = asked.mask(x.rank(), name);
    } catch (const ShapeError& error) {
      ErrorParts parts = error.parts();
      parts.operands.push_back(describe(x));
      if (line) parts.where = std::string(name) + " built at " + to_string(line);
      throw ShapeError(std::move(parts));
    }
  }
};

Variable plain(ReductionKind reduction, const Operand& x, const Axes& axes, bool keep) {
  const Asked asked(name_of(reduction).c_str(), x, axes);
  return with_axes(reduce(reduction, asked.x, asked.axes, asked.line), asked.axes, keep, asked.line);
}

}  // namespace

bool ReduceOp::equals(const Op& other) const {
  const auto* that = dynamic_cast<const ReduceOp*>(&other);
  return that && that->reduction_ == reduction_ && that->axes_ == axes_;
}

Props ReduceOp::props() const {
  std::vector<std::int64_t> axes;
  for (int axis = 0; axis < 32; ++axis) {
    if (axes_ >> axis & 1u) axes.push_back(axis);
  }
  return {{"axes", axes}};
}

Shape ReduceOp::reduced(const Shape& from) const {
  Shape to = from;
  for (int axis = 0; axis < to.rank(); ++axis) {
    if (axes_ >> axis & 1u) to[axis] = 1;
  }
  return to;
}

Apply ReduceOp::make_node(Inputs inputs) const {
  inputs.require_count(1);
  const Variable& x = inputs.at(0);
  if (x.rank() < 32 && axes_ >> x.rank()) throw ShapeError(name() + ": x has " + std::to_string(x.rank()) + " axes, fewer than are reduced");
  return {*this, {x}, {{result_of(reduction_, x.dtype()), reduced(x.dims())}}};
}

Shapes ReduceOp::infer_shape(const Apply&, std::span<const Shape> inputs) const {
  const Shape to = reduced(inputs[0]);
  if (chooses(reduction_) && inputs[0].size() == 0 && to.size() > 0) {
    throw ShapeError(name() + ": there is no element to choose in an array of shape " + to_string(inputs[0]), "give it elements, or leave it out for empty arrays");
  }
  return {{to}};
}

Thunk ReduceOp::make_thunk(const Apply& node, ThunkContext& context) const {
  KernelSpec spec;
  const DType dtype = node.input(0).dtype();
  spec.name = name();
  const ConstantPtr& constant = node.input(0).constant();
  if (constant && constant->is_scalar()) spec.constants = {constant->scalar()};  // as lower has it
  else spec.inputs = {dtype};
  spec.outputs = {node.output().dtype()};
  spec.stores = {append_reduction(spec, reduction_, 0, dtype, node.output().dtype())};
  return elementwise_thunk(std::move(spec), node, context, axes_);
}

Gradients ReduceOp::gradient(const Apply& node, std::span<const Variable> output_gradients) const {
  const Variable &x = node.input(0), &g = output_gradients[0];
  const SourceLine line = node.where();
  if (!is_floating(x.dtype()) || !is_floating(node.output().dtype())) return Gradients{Gradient::disconnected()};
  switch (reduction_) {
    case ReductionKind::kSum: return spread(g, x, line);
    case ReductionKind::kMean: return spread(true_div(At(line)(g), At(line)(count_of(x, axes_, line))), x, line);
    case ReductionKind::kProd: return product_gradient(x, g, axes_, line);
    case ReductionKind::kMax:
    case ReductionKind::kMin: return choice_gradient(x, node.output(), g, axes_, line);
    default: return Gradients{Gradient::disconnected()};
  }
}

Variable reduce(ReductionKind reduction, const Variable& x, std::uint32_t axes, SourceLine line) {
  return std::make_shared<const ReduceOp>(reduction, axes)->apply(std::span(&x, 1), line).output();
}

Variable sum(const Operand& x, const Axes& axes, bool keep) { return plain(ReductionKind::kSum, x, axes, keep); }
Variable prod(const Operand& x, const Axes& axes, bool keep) { return plain(ReductionKind::kProd, x, axes, keep); }
Variable mean(const Operand& x, const Axes& axes, bool keep) { return plain(ReductionKind::kMean, x, axes, keep); }
Variable max(const Operand& x, const Axes& axes, bool keep) { return plain(ReductionKind::kMax, x, axes, keep); }
Variable min(const Operand& x, const Axes& axes, bool keep) { return plain(ReductionKind::kMin, x, axes, keep); }
Variable argmax(const Operand& x, const Axes& axes, bool keep) { return plain(ReductionKind::kArgmax, x, axes, keep); }
Variable argmin(const Operand& x, const Axes& axes, bool keep) { return plain(ReductionKind::kArgmin, x, axes, keep); }
Variable any(const Operand& x, const Axes& axes, bool keep) { return plain(ReductionKind::kAny, x, axes, keep); }
Variable all(const Operand& x, const Axes& axes, bool keep) { return plain(ReductionKind::kAll, x, axes, keep); }

Variable var(const Operand& x, const Axes& axes, bool keep, int ddof) {
  const Asked asked("var", x, axes);
  const At at(asked.line);
  // 16 bits would spoil the mean, and the squares more: both stay in float32 until the end.
  const DType dtype = is_floating(asked.x.dtype()) ? asked.x.dtype() : float64, inner = is_half(dtype) ? float32 : dtype;
  const Variable wide = cast(at(asked.x), inner);
  const Variable square = sqr(at(sub(at(wide), at(reduce(ReductionKind::kMean, wide, asked.axes, asked.line)))));
  Variable result = reduce(ddof == 0 ? ReductionKind::kMean : ReductionKind::kSum, square, asked.axes, asked.line);
  if (ddof != 0) {
    const Variable count = sub(at(count_of(wide, asked.axes, asked.line)), static_cast<double>(ddof));
    result = true_div(at(result), at(maximum(at(count), 0.0)));
  }
  return with_axes(cast(at(result), dtype), asked.axes, keep, asked.line);
}

Variable stddev(const Operand& x, const Axes& axes, bool keep, int ddof) {
  return sqrt(At(x.where())(var(x, axes, keep, ddof)));
}

Variable norm(const Operand& x, const Axes& axes, bool keep) {
  const Asked asked("norm", x, axes);
  const At at(asked.line);
  const DType dtype = is_floating(asked.x.dtype()) ? asked.x.dtype() : float64, inner = is_half(dtype) ? float32 : dtype;
  const Variable square = sqr(at(cast(at(asked.x), inner)));
  return with_axes(cast(at(sqrt(at(reduce(ReductionKind::kSum, square, asked.axes, asked.line)))), dtype), asked.axes, keep, asked.line);
}

Variable logsumexp(const Operand& x, const Axes& axes, bool keep) {
  const Asked asked("logsumexp", x, axes);
  const At at(asked.line);
  const DType dtype = is_floating(asked.x.dtype()) ? asked.x.dtype() : float64, inner = is_half(dtype) ? float32 : dtype;
  const Variable wide = cast(at(asked.x), inner), greatest = reduce(ReductionKind::kMax, wide, asked.axes, asked.line);
  // Infinities need no shift; by one of them the difference would be NaN.
  const Variable shift = where(at(isinf(at(greatest))), 0.0, at(greatest));
  const Variable sums = reduce(ReductionKind::kSum, exp(at(sub(at(wide), at(shift)))), asked.axes, asked.line);
  return with_axes(cast(at(add(at(log(at(sums))), at(shift))), dtype), asked.axes, keep, asked.line);
}

}  // namespace damo
