// The Op behind every reduction of a graph (reduce_op.hpp) keeps its axes; a view drops them. The rest is plain ops.
#include <damo/ops/reduce.hpp>

#include <utility>

#include <damo/ops/cast.hpp>
#include <damo/gradient.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/shape.hpp>
#include "ops/gradient_parts.hpp"
#include "ops/reduce_op.hpp"

namespace damo {
namespace {

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
  // Infinities need no shift; by one of them the difference would be NaN. The result does not depend on the shift, so no gradient passes.
  const Variable shift = disconnected_grad(at(where(at(isinf(at(greatest))), 0.0, at(greatest))));
  const Variable sums = reduce(ReductionKind::kSum, exp(at(sub(at(wide), at(shift)))), asked.axes, asked.line);
  return with_axes(cast(at(add(at(log(at(sums))), at(shift))), dtype), asked.axes, keep, asked.line);
}

}  // namespace damo
