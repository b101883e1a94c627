#include <damo/array_statistics.hpp>

#include <damo/array_indexing.hpp>
#include <damo/array_linalg.hpp>
#include <damo/array_masks.hpp>
#include <damo/array_reduce.hpp>
#include <damo/array_scan.hpp>
#include <damo/array_shape.hpp>
#include <damo/array_sort.hpp>
#include <damo/array_subtensor.hpp>
#include "graph/base/computed_dtype.hpp"
#include "ops/both_worlds.hpp"
#include "ops/statistics_bins.hpp"
#include "ops/statistics_of.hpp"

namespace damo {
namespace {

using EagerStatistics = StatisticsOf<OfArrays>;

Array bins_of(const Array& positions, DType dtype, std::int64_t min_length) {
  const bool some = positions.size() > 0;
  const std::int64_t least = some ? std::min<std::int64_t>(min(positions).item().as_int(), 0) : 0, greatest = some ? max(positions).item().as_int() : -1;
  return Array::zeros({bin_count(least, std::max<std::int64_t>(greatest, -1), min_length)}, dtype, positions.device());
}

}  // namespace

Array ptp(const Array& x, const Axes& axes, bool keep) {
  return asked_at_once("ptp", [&] { return sub(max(given_array("ptp", x), axes, keep), min(x, axes, keep)); }, x);
}
Array median(const Array& x, std::optional<int> axis, bool keep) {
  return asked_at_once("median", [&] { return EagerStatistics::median(given_array("median", x), axis, keep); }, x);
}
Array quantile(const Array& x, double q, std::optional<int> axis, bool keep) {
  return asked_at_once("quantile", [&] { return EagerStatistics::quantile(given_array("quantile", x), q, axis, keep); }, x);
}

Array bincount(const Array& x, std::int64_t min_length) {
  return asked_at_once("bincount", [&] {
    check_bins(given_array("bincount", x).dtype(), x.rank(), min_length);
    const Array positions = OfArrays::converted(x, int64), bins = bins_of(positions, int64, min_length);
    return positions.size() == 0 ? bins : inc_subtensor(bins, {positions}, 1);
  }, x);
}
Array bincount(const Array& x, const Array& weights, std::int64_t min_length) {
  return asked_at_once("bincount", [&] {
    check_bins(given_array("bincount", x).dtype(), x.rank(), min_length);
    require_computed("bincount", given_array("bincount", weights).dtype());
    const DType dtype = is_floating(weights.dtype()) ? weights.dtype() : float64;
    check_weights(x.shape(), weights.shape());
    const Array positions = OfArrays::converted(x, int64), bins = bins_of(positions, dtype, min_length);
    return positions.size() == 0 ? bins : inc_subtensor(bins, {positions}, OfArrays::converted(weights, dtype));
  }, x, weights);
}

UniqueArrays unique(const Array& x) {
  const auto parts = asked_at_once("unique", [&] { return EagerStatistics::unique(given_array("unique", x)); }, x);
  return {parts.values, parts.positions, parts.inverse, parts.counts};
}
ConfusionMatrixArrays confusion_matrix(const Array& actual, const Array& predicted) {
  const auto [matrix, labels] = asked_at_once("confusion_matrix", [&] {
    return EagerStatistics::confusion_matrix(given_array("confusion_matrix", actual), given_array("confusion_matrix", predicted));
  }, actual, predicted);
  return {matrix, labels};
}

}  // namespace damo
