#include <damo/ops/statistics.hpp>

#include <memory>

#include <damo/op.hpp>
#include <damo/ops/indexing.hpp>
#include <damo/ops/linalg.hpp>
#include <damo/ops/masks.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/scan.hpp>
#include <damo/ops/shape.hpp>
#include <damo/ops/sort.hpp>
#include <damo/thunk.hpp>
#include "graph/user_line.hpp"
#include "ops/both_worlds.hpp"
#include "ops/checked_shapes_op.hpp"
#include "ops/statistics_of.hpp"
#include "ops/statistics_bins.hpp"

namespace damo {
namespace {

using GraphStatistics = StatisticsOf<OfVariables>;

/// zeros, one for each number from 0 to the greatest of x, whose least and greatest are given, and at least so many.
class BinsOp final : public Op {
 public:
  BinsOp(DType dtype, std::int64_t min_length) : dtype_(dtype), min_length_(min_length) {}
  std::string name() const override { return "bins"; }
  Props props() const override { return {{"dtype", std::string(damo::name(dtype_))}, {"min_length", min_length_}}; }
  bool may_refuse() const override { return true; }
  Apply make_node(Inputs inputs) const override {
    inputs.require_count(2);
    return {*this, {inputs.at(0), inputs.at(1)}, {{dtype_, {kUnknown}}}};
  }
  Shapes infer_shape(const Apply&, std::span<const Shape>) const override { return std::nullopt; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    const Cell &least = context.storage(node.input(0)), &greatest = context.storage(node.input(1));
    Cell& bins = context.storage(node.output());
    return [&least, &greatest, &bins, min_length = min_length_] {
      bins.resize({bin_count(least.array().item().as_int(), greatest.array().item().as_int(), min_length)});
      if (bins.size() > 0) assign(bins.array(), 0);
    };
  }
  Gradients gradient(const Apply&, std::span<const Variable>) const override { return Gradients(2, Gradient::disconnected()); }

 private:
  DType dtype_;
  std::int64_t min_length_;
};

class WeightsOp final : public CheckedShapesOp {
 public:
  std::string name() const override { return "weights"; }
  void require(std::span<const Shape> shapes) const override { check_weights(shapes[1], shapes[0]); }
};

class ActualLabelsOp final : public CheckedShapesOp {
 public:
  std::string name() const override { return "actual_labels"; }
  void require(std::span<const Shape> shapes) const override { require_as_many_labels(shapes[0], shapes[1]); }
};

Variable counted(const Variable& x, const Variable& given_weights, std::int64_t min_length, SourceLine line) {
  check_bins(x.dtype(), x.rank(), min_length);
  const Variable operands[] = {given_weights, x}, weights = given_weights ? checked_shapes(std::make_shared<const WeightsOp>(), operands, line) : Variable();
  const Variable positions = OfVariables::converted(x, int64);
  const Variable range[] = {min(concatenate({positions, OfVariables::numbers({0}, x)})), max(concatenate({positions, OfVariables::numbers({-1}, x)}))};
  const DType dtype = !weights ? int64 : is_floating(weights.dtype()) ? weights.dtype() : float64;
  const Variable bins = std::make_shared<const BinsOp>(dtype, min_length)->apply(range, line).output();
  return weights ? inc_subtensor(bins, {positions}, OfVariables::converted(weights, dtype)) : inc_subtensor(bins, {positions}, 1);
}

}  // namespace

Variable ptp(const Operand& x, const Axes& axes, bool keep) {
  const BuiltAt here(x.where());
  return asked("ptp", [&] { return sub(max(x, axes, keep), min(x, axes, keep)); }, x);
}
Variable median(const Operand& x, std::optional<int> axis, bool keep) {
  const BuiltAt here(x.where());
  return asked("median", [&] { return GraphStatistics::median(given_variable(x), axis, keep); }, x);
}
Variable quantile(const Operand& x, double q, std::optional<int> axis, bool keep) {
  const BuiltAt here(x.where());
  return asked("quantile", [&] { return GraphStatistics::quantile(given_variable(x), q, axis, keep); }, x);
}
Variable bincount(const Operand& x, std::int64_t min_length) {
  const BuiltAt here(x.where());
  return asked("bincount", [&] { return counted(given_variable(x), {}, min_length, x.where()); }, x);
}
Variable bincount(const Operand& x, const Operand& weights, std::int64_t min_length) {
  const BuiltAt here(x.where());
  return asked("bincount", [&] { return counted(given_variable(x), given_variable(weights), min_length, x.where()); }, x, weights);
}
Unique unique(const Operand& x) {
  const BuiltAt here(x.where());
  const auto parts = asked("unique", [&] { return GraphStatistics::unique(given_variable(x)); }, x);
  return {parts.values, parts.positions, parts.inverse, parts.counts};
}
ConfusionMatrix confusion_matrix(const Operand& actual, const Operand& predicted) {
  const BuiltAt here(actual.where());
  const auto [matrix, labels] = asked("confusion_matrix", [&] {
    const Variable operands[] = {given_variable(actual), given_variable(predicted)};
    return GraphStatistics::confusion_matrix(checked_shapes(std::make_shared<const ActualLabelsOp>(), operands, actual.where()), operands[1]);
  }, actual, predicted);
  return {matrix, labels};
}

}  // namespace damo
