// The Op behind every reduction of a graph (reduce_op.hpp) keeps its axes; a view drops them. The rest is plain ops.
#include <damo/ops/reduce.hpp>

#include <cmath>
#include <memory>

#include <damo/custom_gradient.hpp>
#include <damo/gradient.hpp>
#include <damo/ops/cast.hpp>
#include <damo/ops/math.hpp>
#include "graph/user_line.hpp"
#include "ops/gradient_parts.hpp"
#include "ops/reduce_op.hpp"

namespace damo {
namespace {

Variable plain(ReductionKind reduction, const Operand& x, const Axes& axes, bool keep) {
  const ReducedOperand asked(name_of(reduction).c_str(), x, axes);
  return drop_axes(reduce(reduction, asked.x, asked.axes, asked.line), asked.axes, keep, asked.line);
}

/// Throws TypeError in that name.
template <class WithDTypes>
ReducedDTypes dtypes_asked(const char* name, ReductionKind like, const Operand& x, const ReducedOperand& asked, const WithDTypes& options) {
  return damo::asked(name, [&] { return dtypes_of(name, like, asked.x.dtype(), options); }, x);
}

/// Elements as the accumulator has them, and what it gives as asked: the casts are part of the reduction's kernel.
Variable accumulated(ReductionKind reduction, const Operand& x, const Axes& axes, const ReduceOptions& options) {
  const ReducedOperand asked(name_of(reduction).c_str(), x, axes);
  const ReducedDTypes dtypes = dtypes_asked(name_of(reduction).c_str(), reduction, x, asked, options);
  const At at(asked.line);
  const Variable reduced = reduce(reduction, cast(at(asked.x), dtypes.accumulator), asked.axes, asked.line);
  return drop_axes(cast(at(reduced), dtypes.result), asked.axes, options.keepdims, asked.line);
}

/// root, of a sum that is no less than 0, with slope(sum, root); 0 where the sum is 0, on whatever side of it the sum grows.
template <class Slope>
Variable root_of(const Variable& sum, const Variable& root, SourceLine line, Slope slope) {
  return with_gradient(
      root, {sum}, [slope, line](auto in, auto out, auto gradients) -> Gradients {
        const BuiltAt here(line);
        const Variable is_zero = eq(in[0], 0.0);
        return {where(is_zero, 0.0, gradients[0] * slope(where(is_zero, 1.0, in[0]), where(is_zero, 1.0, out[0])))};
      },
      line);
}
Variable square_root_of(const Variable& sum, const At& at, SourceLine line) {
  return root_of(sum, sqrt(at(sum)), line, [](const Variable&, const Variable& root) { return 0.5 / root; });
}

/// |x|^order with a slope of 0 at 0, where that of an order below 1 is infinite.
Variable powers_of(const Variable& x, double order, const At& at, SourceLine line) {
  const Variable powers = pow(at(abs(at(x))), order);
  if (order >= 1) return powers;
  return with_gradient(
      powers, {x}, [order, line](auto in, auto, auto gradients) -> Gradients {
        const BuiltAt here(line);
        const Variable is_zero = eq(in[0], 0.0), other = where(is_zero, 1.0, in[0]);
        return {where(is_zero, 0.0, gradients[0] * order * pow(abs(other), order - 1) * sign(other))};
      },
      line);
}

/// The greatest along the axes, -inf of none. Where there are some for sure it is max's own node, which others may have too.
Variable greatest_or_none(const Variable& x, std::uint32_t axes, SourceLine line) {
  bool may_be_none = false;
  for (int axis = 0; axis < x.rank(); ++axis) may_be_none |= (axes >> axis & 1u) && (x.dims()[axis] == kUnknown || x.dims()[axis] == 0);
  return std::make_shared<const ReduceOp>(ReductionKind::kMax, axes, may_be_none)->apply(std::span(&x, 1), line).output();
}

Variable variance(const char* name, const Operand& x, const Axes& axes, const VarOptions& options, bool root) {
  const ReducedOperand asked = ReducedOperand::computed(name, x, axes);
  const ReducedDTypes dtypes = dtypes_asked(name, ReductionKind::kMean, x, asked, options);
  const At at(asked.line);
  // 16 bits would spoil the mean, and the squares more, and could not hold the variance of what has a deviation in their range: all stay in the accumulator's dtype until the end.
  const Variable wide = cast(at(asked.x), dtypes.accumulator);
  const Variable square = sqr(at(sub(at(wide), at(reduce(ReductionKind::kMean, wide, asked.axes, asked.line)))));
  Variable result = reduce(options.ddof == 0 ? ReductionKind::kMean : ReductionKind::kSum, square, asked.axes, asked.line);
  if (options.ddof != 0) {
    const Variable count = sub(at(count_of(wide, asked.axes, asked.line)), static_cast<double>(options.ddof));
    result = true_div(at(result), at(maximum(at(count), 0.0)));
  }
  if (root) result = square_root_of(result, at, asked.line);
  return drop_axes(cast(at(result), dtypes.result), asked.axes, options.keepdims, asked.line);
}

}  // namespace

Variable sum(const Operand& x, const Axes& axes, const ReduceOptions& options) { return accumulated(ReductionKind::kSum, x, axes, options); }
Variable prod(const Operand& x, const Axes& axes, const ReduceOptions& options) { return accumulated(ReductionKind::kProd, x, axes, options); }
Variable mean(const Operand& x, const Axes& axes, const ReduceOptions& options) { return accumulated(ReductionKind::kMean, x, axes, options); }

Variable sum(const Operand& x, const Axes& axes, bool keep) { return plain(ReductionKind::kSum, x, axes, keep); }
Variable prod(const Operand& x, const Axes& axes, bool keep) { return plain(ReductionKind::kProd, x, axes, keep); }
Variable mean(const Operand& x, const Axes& axes, bool keep) { return plain(ReductionKind::kMean, x, axes, keep); }
Variable max(const Operand& x, const Axes& axes, bool keep) { return plain(ReductionKind::kMax, x, axes, keep); }
Variable min(const Operand& x, const Axes& axes, bool keep) { return plain(ReductionKind::kMin, x, axes, keep); }
Variable argmax(const Operand& x, const Axes& axes, bool keep) { return plain(ReductionKind::kArgmax, x, axes, keep); }
Variable argmin(const Operand& x, const Axes& axes, bool keep) { return plain(ReductionKind::kArgmin, x, axes, keep); }
MaxAndArgmax max_and_argmax(const Operand& x, const Axes& axes, bool keep) {
  const BuiltAt here(x.where());
  return asked("max_and_argmax", [&] { return MaxAndArgmax{max(x, axes, keep), argmax(x, axes, keep)}; }, x);
}
Variable any(const Operand& x, const Axes& axes, bool keep) { return plain(ReductionKind::kAny, x, axes, keep); }
Variable all(const Operand& x, const Axes& axes, bool keep) { return plain(ReductionKind::kAll, x, axes, keep); }

Variable var(const Operand& x, const Axes& axes, const VarOptions& options) { return variance("var", x, axes, options, false); }
Variable stddev(const Operand& x, const Axes& axes, const VarOptions& options) { return variance("stddev", x, axes, options, true); }
Variable var(const Operand& x, const Axes& axes, bool keep, int ddof) { return var(x, axes, VarOptions{.ddof = ddof, .keepdims = keep}); }
Variable stddev(const Operand& x, const Axes& axes, bool keep, int ddof) { return stddev(x, axes, VarOptions{.ddof = ddof, .keepdims = keep}); }

Variable norm(const Operand& x, const Axes& axes, bool keep) { return norm(x, axes, NormOptions{.keepdims = keep}); }

Variable norm(const Operand& x, const Axes& axes, const NormOptions& options) {
  damo::asked("norm", [&] { check_order(options.ord); }, x);
  const ReducedOperand asked = ReducedOperand::computed("norm", x, axes);
  const ReducedDTypes dtypes = dtypes_asked("norm", ReductionKind::kMean, x, asked, options);
  const At at(asked.line);
  const Variable wide = cast(at(asked.x), dtypes.accumulator);
  const auto over = [&](ReductionKind kind, const Variable& elements) { return reduce(kind, elements, asked.axes, asked.line); };
  Variable result;
  if (options.ord == 2) {
    result = square_root_of(over(ReductionKind::kSum, sqr(at(wide))), at, asked.line);
  } else if (options.ord == 1) {
    result = over(ReductionKind::kSum, abs(at(wide)));
  } else if (options.ord == 0) {
    result = over(ReductionKind::kSum, cast(at(neq(at(wide), 0.0)), wide.dtype()));
  } else if (std::isinf(options.ord)) {
    result = damo::asked("norm", [&] { return over(options.ord > 0 ? ReductionKind::kMax : ReductionKind::kMin, abs(at(wide))); }, x);
  } else {
    const double inverse = 1 / options.ord;
    const Variable sum = over(ReductionKind::kSum, powers_of(wide, options.ord, at, asked.line)), root = pow(at(sum), inverse);
    // Of a negative order a sum of 0 is that of infinities, or of nothing: infinite.
    result = options.ord < 0 ? root : root_of(sum, root, asked.line, [inverse](const Variable& of, const Variable&) { return inverse * pow(of, inverse - 1); });
  }
  return drop_axes(cast(at(result), dtypes.result), asked.axes, options.keepdims, asked.line);
}

Variable logsumexp(const Operand& x, const Axes& axes, bool keep) { return logsumexp(x, axes, ReduceOptions{.keepdims = keep}); }

Variable logsumexp(const Operand& x, const Axes& axes, const ReduceOptions& options) {
  const ReducedOperand asked = ReducedOperand::computed("logsumexp", x, axes);
  const ReducedDTypes dtypes = dtypes_asked("logsumexp", ReductionKind::kMean, x, asked, options);
  const At at(asked.line);
  const Variable wide = cast(at(asked.x), dtypes.accumulator), greatest = greatest_or_none(wide, asked.axes, asked.line);
  // Infinities need no shift; by one of them the difference would be NaN. The result does not depend on the shift, so no gradient passes.
  const Variable shift = disconnected_grad(at(where(at(isinf(at(greatest))), 0.0, at(greatest))));
  const Variable sums = reduce(ReductionKind::kSum, exp(at(sub(at(wide), at(shift)))), asked.axes, asked.line);
  return drop_axes(cast(at(add(at(log(at(sums))), at(shift))), dtypes.result), asked.axes, options.keepdims, asked.line);
}

}  // namespace damo
