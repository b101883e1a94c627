#include "ops/reduce_op.hpp"

#include <damo/custom_gradient.hpp>
#include <damo/gradient.hpp>
#include <damo/ops/cast.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/shape.hpp>
#include "graph/base/computed_dtype.hpp"
#include "graph/user_line.hpp"
#include "ops/gradient_parts.hpp"
#include "ops/reductions.hpp"
#include "ops/scan_op.hpp"

namespace damo {
namespace {

/// g, which has the reduced axes with extent 1, in the shape of x.
Variable repeated(const Variable& g, const Variable& x, SourceLine line) { return second(At(line)(x), At(line)(g)); }

/// At each element the product of all others, from products of what stands before and behind it: nothing is divided and nothing asked, so gradients of every order are right.
Variable product_of_others(const Variable& x, std::uint32_t axes, SourceLine line) {
  const At at(line);
  Variable others = second(at(x), 1.0), reduced = x;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (!(axes >> axis & 1u)) continue;
    const auto beside = [&](bool behind) { return scan(ScanKind::kProd, std::span(&reduced, 1), axis, {.reverse = behind, .exclusive = true}, line); };
    others = mul(at(others), at(mul(at(beside(false)), at(beside(true)))));
    reduced = reduce(ReductionKind::kProd, reduced, std::uint32_t{1} << axis, line);
  }
  return others;
}

/// g times the product of all other elements, right where some are 0. A 0 alone in its row is divided out of nothing: what is cheap here would have a slope of 0 there, so the
/// factor's gradient is that of product_of_others.
Variable product_gradient(const Variable& x, const Variable& g, std::uint32_t axes, SourceLine line) {
  const At at(line);
  const Variable zero = eq(at(x), 0.0), others = where(at(zero), 1.0, at(x));
  const Variable zeros = reduce(ReductionKind::kSum, zero, axes, line), product = reduce(ReductionKind::kProd, others, axes, line);
  const Variable of_zeros = where(at(eq(at(zeros), 1)), at(product), 0.0), of_others = where(at(eq(at(zeros), 0)), at(product), 0.0);
  const Variable quotient = where(at(zero), at(of_zeros), at(true_div(at(of_others), at(others))));
  const Variable factor = with_gradient(quotient, {x}, [axes, line](auto inputs, auto, auto gradients) {
    return Gradients(lop(product_of_others(inputs[0], axes, line), gradients[0], inputs[0], Disconnected::kZero, line));
  }, line);
  return mul(at(repeated(g, x, line)), at(factor));
}

/// Equals share it evenly.
Variable choice_gradient(const Variable& x, const Variable& chosen, const Variable& g, std::uint32_t axes, SourceLine line) {
  const At at(line);
  const DType counted = result_of(ReductionKind::kCount, x.dtype());
  const Variable equal = cast(at(eq(at(x), at(chosen))), counted);
  const Variable each = true_div(at(g), at(reduce(ReductionKind::kSum, equal, axes, line)));
  return cast(at(mul(at(repeated(each, x, line)), at(equal))), x.dtype());
}

}  // namespace

bool ReduceOp::equals(const Op& other) const {
  const auto* that = dynamic_cast<const ReduceOp*>(&other);
  return that && that->reduction_ == reduction_ && that->axes_ == axes_ && that->allows_empty_ == allows_empty_ && that->rows_ == rows_;
}

Props ReduceOp::props() const {
  std::vector<std::int64_t> axes;
  for (int axis = 0; axis < 32; ++axis) {
    if (axes_ >> axis & 1u) axes.push_back(axis);
  }
  Props props{{"axes", axes}};
  if (allows_empty_) props.push_back({"allows_empty", true});
  if (rows_) props.push_back({"rows_for", rows_->user});
  return props;
}

Apply ReduceOp::make_node(Inputs inputs) const {
  inputs.require_count(1);
  const Variable& x = inputs.at(0);
  require_reduced_axes(name(), axes_, x.rank());
  if (rows_) rows_->require(x.dims());
  const Shape reduced = reduced_shape(x.dims(), axes_, true);
  if (!allows_empty_) require_choice(name(), reduction_, x.dims(), reduced);
  return {*this, {x}, {{result_of(reduction_, x.dtype()), reduced}}};
}

Shape ReduceOp::output_shape(std::span<const Shape>, std::span<const Shape> shapes) const {
  const Shape &from = shapes[0], to = reduced_shape(from, axes_, true);
  if (rows_) rows_->require(from);
  if (!allows_empty_) require_choice(name(), reduction_, from, to);
  return to;
}

void ReduceOp::lower(KernelBuilder& kernel) const {
  const KernelBuilder::Value x = kernel.input(0);
  const DType result = result_of(reduction_, x.dtype);
  kernel.output({append_reduction(kernel.spec(), reduction_, x.number, x.dtype, result), result});
}

Gradients ReduceOp::gradient(const Apply& node, std::span<const Variable> output_gradients) const {
  const Variable &x = node.input(0), &g = output_gradients[0];
  const SourceLine line = node.where();
  if (!is_floating(x.dtype()) || !is_floating(node.output().dtype())) return Gradients{Gradient::disconnected()};
  switch (reduction_) {
    case ReductionKind::kSum: return repeated(g, x, line);
    case ReductionKind::kMean: return repeated(cast(At(line)(true_div(At(line)(g), At(line)(count_of(x, axes_, line)))), x.dtype()), x, line);
    case ReductionKind::kProd: {
      const DType inner = is_half(x.dtype()) ? float32 : x.dtype();  // the product of all may be beyond 16 bits where that of all others is not
      return cast_at(product_gradient(cast_at(x, inner, line), cast_at(g, inner, line), axes_, line), x.dtype(), line);
    }
    case ReductionKind::kMax:
    case ReductionKind::kMin: return choice_gradient(x, node.output(), g, axes_, line);
    default: return Gradients{Gradient::disconnected()};
  }
}

Variable reduce(ReductionKind reduction, const Variable& x, std::uint32_t axes, SourceLine line, const NeededRows& rows) {
  return std::make_shared<const ReduceOp>(reduction, axes, false, rows.to_look_at(x.dims()))->apply(std::span(&x, 1), line).output();
}

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

ReducedOperand::ReducedOperand(const char* name, const Operand& given, const Axes& asked) : x(given.as(given.promotable().dtype)), line(given.where()) {
  damo::asked(name, [&] {
    axes = asked.mask(x.rank(), name);
  }, given);
}

ReducedOperand ReducedOperand::computed(const char* name, const Operand& x, const Axes& axes) {
  damo::asked(name, [&] { require_computed(name, x.promotable().dtype); }, x);
  return {name, x, axes};
}

Variable drop_axes(const Variable& reduced, std::uint32_t axes, bool keep, SourceLine line) {
  if (keep || axes == 0) return reduced;
  std::vector<int> left;
  for (int axis = 0; axis < reduced.rank(); ++axis) {
    if (!(axes >> axis & 1u)) left.push_back(axis);
  }
  return dimshuffle(At(line)(reduced), left);
}

}  // namespace damo
