#include <damo/ops/softmax.hpp>

#include <damo/ops/cast.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/shape.hpp>
#include "ops/elementwise_op.hpp"
#include "ops/gradient_parts.hpp"
#include "ops/reduce_op.hpp"

namespace damo {
namespace {

/// x less the greatest of its row, which counts as constant: it changes no result, and so no gradient.
class Shifted {
 public:
  Shifted(const char* name, const Operand& operand, int axis) : given(name, operand, axis), at(given.line), wide(cast(at(given.x), given.inner())) {
    values = sub(at(wide), at(without_gradient(reduced(ReductionKind::kMax, wide), given.line)));
    exps = exp(at(values));
    sums = reduced(ReductionKind::kSum, exps);
  }
  Variable reduced(ReductionKind reduction, const Variable& x) const { return reduce(reduction, x, given.axes, given.line); }

  ReducedOperand given;
  At at;
  Variable wide, values, exps, sums;
};

/// The labels as int64, each checked against the number of classes. The row is of the user's line: a kernel with users' code may end with
/// an error, which names it.
Variable checked(const Variable& labels, const Variable& count, SourceLine line) {
  const auto row = std::make_shared<const ElementwiseRow>(ElementwiseRow{.name = "label",
                                                                         .doc = "x, which must be an index below y",
                                                                         .code = "T(checked_index(convert<i64>(x0), convert<i64>(x1)))",
                                                                         .cost = 4,
                                                                         .gradient = [](auto&, auto&, auto&) { return Gradients{Gradient::disconnected(), Gradient::disconnected()}; },
                                                                         .line = line.line,
                                                                         .file = line ? line.file : ""});
  const Variable inputs[] = {labels, count};
  return cast(At(line)(std::make_shared<const ElementwiseOp>(row)->apply(inputs, line).output()), int64);
}

Variable labels_of(const Operand& given, const Variable& logits, SourceLine line) {
  const Variable labels = given.as(given.promotable().dtype);
  ErrorParts parts{"cross_entropy: ", {describe(logits), describe(labels)}, {}, {}};
  if (line) parts.where = "cross_entropy built at " + to_string(line);
  if (!is_integer(labels.dtype())) {
    parts.message += "labels are integers, not " + std::string(name(labels.dtype()));
    parts.remedy = "cast(labels, int32); for probabilities in their place, -sum(p * log_softmax(logits), axis)";
    throw TypeError(std::move(parts));
  }
  if (labels.rank() != logits.rank() - 1) {
    parts.message += "logits have " + std::to_string(logits.rank()) + " axes, so labels have " + std::to_string(logits.rank() - 1) + ", not " + std::to_string(labels.rank());
    parts.remedy = "give a label for each row of logits";
    throw ShapeError(std::move(parts));
  }
  return labels;
}

}  // namespace

Variable softmax(const Operand& x, int axis) {
  const Shifted row("softmax", x, axis);
  return cast(row.at(true_div(row.at(row.exps), row.at(row.sums))), row.given.dtype());
}

Variable log_softmax(const Operand& x, int axis) {
  const Shifted row("log_softmax", x, axis);
  return cast(row.at(sub(row.at(row.values), row.at(log(row.at(row.sums))))), row.given.dtype());
}

Variable cross_entropy(const Operand& logits, const Operand& given, int axis) {
  const Shifted row("cross_entropy", logits, axis);
  const At& at = row.at;
  const Variable labels = labels_of(given, row.given.x, row.given.line);
  const Variable places = row.reduced(ReductionKind::kIndex, row.wide);
  const Variable label = checked(expand_dims(at(labels), axis), count_of(places, row.given.axes, row.given.line), row.given.line);
  const Variable chosen = row.reduced(ReductionKind::kSum, where(at(eq(at(places), at(label))), at(row.values), 0.0));
  return drop_axes(cast(at(sub(at(log(at(row.sums))), at(chosen))), row.given.dtype()), row.given.axes, false, row.given.line);
}

}  // namespace damo
