#include <damo/ops/softmax.hpp>

#include <limits>

#include <damo/gradient.hpp>
#include <damo/ops/cast.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/shape.hpp>
#include "graph/user_line.hpp"
#include "ops/index_along_op.hpp"
#include "ops/label_checks.hpp"
#include "ops/gradient_parts.hpp"
#include "ops/indexing/positions.hpp"
#include "ops/not_empty.hpp"
#include "ops/reduce_op.hpp"

namespace damo {
namespace {

/// x less the greatest of its row, which counts as constant: it changes no result, and so no gradient.
class Shifted {
 public:
  /// of: what has to have rows, for a loss; null: nothing.
  Shifted(const char* name, const Operand& operand, int axis, const char* of = nullptr) : given(ReducedOperand::computed(name, operand, axis)), at(given.line), wide(cast(at(given.x), given.inner())) {
    const Variable greatest = reduced(ReductionKind::kMax, wide);
    values = sub(at(wide), at(disconnected_grad(at(greatest))));
    exps = exp(at(values));
    sums = reduce(ReductionKind::kSum, exps, given.axes, given.line, of ? NeededRows{name, of, ~given.axes} : NeededRows());
  }
  Variable reduced(ReductionKind reduction, const Variable& x) const { return reduce(reduction, x, given.axes, given.line); }

  ReducedOperand given;
  At at;
  Variable wide, values, exps, sums;
};

/// They stretch to the logits' rows; rows known to be one do not stretch to them.
Variable labels_of(const Operand& given, const Variable& logits, int axis) {
  const Variable labels = given.as(given.promotable().dtype);
  require_labels(labels.dtype(), labels.rank(), logits.rank(), describe(labels), "cast(labels, int32)");
  Shape rows = logits.dims();
  rows.erase(axis);
  return without_stretching(rows, labels, given.where());
}

/// The sum of probabilities times -log_softmax. 0 times infinity is 0 there, also in the gradient.
Variable expected_entropy(const Shifted& row, const Operand& probabilities) {
  const At& at = row.at;
  const Variable p = cast(at(without_stretching(row.given.x.dims(), probabilities.variable(), probabilities.where())), row.wide.dtype());
  const Variable impossible = and_(at(eq(at(p), 0.0)), at(eq(at(row.values), -std::numeric_limits<double>::infinity())));
  const Variable logarithms = sub(at(where(at(impossible), 0.0, at(row.values))), at(log(at(row.sums))));
  return row.reduced(ReductionKind::kSum, neg(at(mul(at(p), at(logarithms)))));
}

}  // namespace

Variable softmax(const Operand& x, int axis) {
  return asked("softmax", [&] {
    const Shifted row("softmax", x, axis);
    return cast(row.at(true_div(row.at(row.exps), row.at(row.sums))), row.given.dtype());
  }, x);
}

Variable log_softmax(const Operand& x, int axis) {
  return asked("log_softmax", [&] {
    const Shifted row("log_softmax", x, axis);
    return cast(row.at(sub(row.at(row.values), row.at(log(row.at(row.sums))))), row.given.dtype());
  }, x);
}

Variable cross_entropy(const Operand& logits, const Operand& given, int axis) {
  return asked("cross_entropy", [&] {
    const Shifted row("cross_entropy", logits, axis, "the logits");
    const At& at = row.at;
    const int along = normalize_axis("cross_entropy", axis, row.given.x.rank());
    if (!given.is_number() && is_floating(given.variable().dtype()) && given.variable().rank() == row.given.x.rank()) {
      return drop_axes(cast(at(expected_entropy(row, given)), row.given.dtype()), row.given.axes, false, row.given.line);
    }
    const Variable labels = labels_of(given, row.given.x, along);
    const Variable places = places_along(row.wide, row.given.axes, row.given.line);
    const Variable label = expand_dims(at(checked_positions("cross_entropy", row.given.x, along, labels, row.given.line, CountsFromEnd::kNo)), axis);
    const Variable chosen = row.reduced(ReductionKind::kSum, where(at(eq(at(places), at(label))), at(row.values), 0.0));
    return drop_axes(cast(at(sub(at(log(at(row.sums))), at(chosen))), row.given.dtype()), row.given.axes, false, row.given.line);
  }, logits, given);
}

Variable sigmoid_cross_entropy(const Operand& logits, const Operand& targets) {
  return asked("sigmoid_cross_entropy", [&] {
    const At at(logits.where());
    const Variable given = logits.as(logits.promotable().dtype), checked = not_empty(given, {"sigmoid_cross_entropy", "the logits", ~std::uint32_t{0}}, logits.where());
    const Variable x = cast(at(checked), floating_of(given.dtype())), y = cast(at(targets.as(targets.promotable().dtype)), x.dtype());
    return add(at(mul(at(softplus(at(neg(at(x))))), at(y))), at(mul(at(softplus(at(x))), at(sub(1.0, at(y))))));
  }, logits, targets);
}

}  // namespace damo
