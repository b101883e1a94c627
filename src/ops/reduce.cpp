// The Op behind every reduction of a graph (reduce_op.hpp) keeps its axes; a view drops them. The rest is plain ops.
#include <damo/ops/reduce.hpp>

#include <damo/ops/cast.hpp>
#include <damo/gradient.hpp>
#include <damo/ops/math.hpp>
#include "ops/gradient_parts.hpp"
#include "ops/reduce_op.hpp"

namespace damo {
namespace {

Variable plain(ReductionKind reduction, const Operand& x, const Axes& axes, bool keep) {
  const ReducedOperand asked(name_of(reduction).c_str(), x, axes);
  return drop_axes(reduce(reduction, asked.x, asked.axes, asked.line), asked.axes, keep, asked.line);
}

}  // namespace

Variable sum(const Operand& x, const Axes& axes, bool keep) { return plain(ReductionKind::kSum, x, axes, keep); }
Variable prod(const Operand& x, const Axes& axes, bool keep) { return plain(ReductionKind::kProd, x, axes, keep); }
Variable mean(const Operand& x, const Axes& axes, bool keep) { return plain(ReductionKind::kMean, x, axes, keep); }
Variable max(const Operand& x, const Axes& axes, bool keep) { return plain(ReductionKind::kMax, x, axes, keep); }
Variable min(const Operand& x, const Axes& axes, bool keep) { return plain(ReductionKind::kMin, x, axes, keep); }
Variable argmax(const Operand& x, const Axes& axes, bool keep) { return plain(ReductionKind::kArgmax, x, axes, keep); }
Variable argmin(const Operand& x, const Axes& axes, bool keep) { return plain(ReductionKind::kArgmin, x, axes, keep); }
Variable index_along(const Operand& x, const Axes& axes) { return plain(ReductionKind::kIndex, x, axes, true); }
Variable any(const Operand& x, const Axes& axes, bool keep) { return plain(ReductionKind::kAny, x, axes, keep); }
Variable all(const Operand& x, const Axes& axes, bool keep) { return plain(ReductionKind::kAll, x, axes, keep); }

Variable var(const Operand& x, const Axes& axes, bool keep, int ddof) {
  const ReducedOperand asked("var", x, axes);
  const At at(asked.line);
  // 16 bits would spoil the mean, and the squares more: both stay in float32 until the end.
  const Variable wide = cast(at(asked.x), asked.inner());
  const Variable square = sqr(at(sub(at(wide), at(reduce(ReductionKind::kMean, wide, asked.axes, asked.line)))));
  Variable result = reduce(ddof == 0 ? ReductionKind::kMean : ReductionKind::kSum, square, asked.axes, asked.line);
  if (ddof != 0) {
    const Variable count = sub(at(count_of(wide, asked.axes, asked.line)), static_cast<double>(ddof));
    result = true_div(at(result), at(maximum(at(count), 0.0)));
  }
  return drop_axes(cast(at(result), asked.dtype()), asked.axes, keep, asked.line);
}

Variable stddev(const Operand& x, const Axes& axes, bool keep, int ddof) {
  return sqrt(At(x.where())(var(x, axes, keep, ddof)));
}

Variable norm(const Operand& x, const Axes& axes, bool keep) {
  const ReducedOperand asked("norm", x, axes);
  const At at(asked.line);
  const Variable square = sqr(at(cast(at(asked.x), asked.inner())));
  return drop_axes(cast(at(sqrt(at(reduce(ReductionKind::kSum, square, asked.axes, asked.line)))), asked.dtype()), asked.axes, keep, asked.line);
}

Variable logsumexp(const Operand& x, const Axes& axes, bool keep) {
  const ReducedOperand asked("logsumexp", x, axes);
  const At at(asked.line);
  const Variable wide = cast(at(asked.x), asked.inner()), greatest = reduce(ReductionKind::kMax, wide, asked.axes, asked.line);
  // Infinities need no shift; by one of them the difference would be NaN. The result does not depend on the shift, so no gradient passes.
  const Variable shift = disconnected_grad(at(where(at(isinf(at(greatest))), 0.0, at(greatest))));
  const Variable sums = reduce(ReductionKind::kSum, exp(at(sub(at(wide), at(shift)))), asked.axes, asked.line);
  return drop_axes(cast(at(add(at(log(at(sums))), at(shift))), asked.dtype()), asked.axes, keep, asked.line);
}

}  // namespace damo
