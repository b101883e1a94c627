#include <damo/array_softmax.hpp>

#include <limits>
#include <string>

#include <damo/array_create.hpp>
#include <damo/array_indexing.hpp>
#include <damo/array_math.hpp>
#include <damo/array_reduce.hpp>
#include <damo/array_shape.hpp>
#include "graph/base/computed_dtype.hpp"
#include "ops/both_worlds.hpp"
#include "ops/eager/index_kernels.hpp"
#include "ops/indexing/positions.hpp"
#include "ops/label_checks.hpp"
#include "ops/not_empty.hpp"
#include "ops/promotion.hpp"
#include "ops/reductions.hpp"

namespace damo {
namespace {

/// In the dtype that sums of exponentials are computed in.
Array summed_wide(const char* name, const Array& x) {
  if (!x) throw TypeError(std::string(name) + ": x is an empty Array", "check the Array with if (array)");
  return is_half(x.dtype()) ? astype(x, float32) : is_floating(x.dtype()) ? x : astype(x, float64);
}
Array as_given(const Array& y, const Array& x) { return is_half(x.dtype()) ? astype(y, x.dtype()) : y; }

Array integers(const char* name, const Array& x, const Array& positions) {
  if (!x || !positions) throw TypeError(std::string(name) + ": an operand is an empty Array", "check the Array with if (array)");
  if (!is_integer(positions.dtype())) throw TypeError(std::string(name) + ": positions are integers, these are " + describe(positions), "astype(positions, int64)");
  if (!(x.device() == positions.device())) throw DeviceError(std::string(name) + ": " + describe(x) + " with positions " + describe(positions), "move one of them: x.to(device)");
  return positions;
}

/// Checked positions along an axis as places among all of x's elements in C order.
Array places_of(const Array& x, const Array& positions, int axis) {
  const Strides strides = contiguous_strides(x.shape());
  Array at = positions * strides[axis];
  for (int other = 0; other < x.rank(); ++other) {
    if (other == axis) continue;
    Shape line = Shape::filled(x.rank(), 1);
    line[other] = x.shape()[other];
    at = at + (arange(0, x.shape()[other], 1, int64, x.device()) * strides[other]).reshape(line);
  }
  return contiguous(at);
}

/// x's elements at checked positions along an axis, which has their extent in the result.
Array taken_along(const Array& x, const Array& positions, int axis) {
  const Array out = Array::empty(positions.shape(), x.dtype(), x.device());
  if (out.size() > 0) gather(contiguous(x), places_of(x, positions, axis), out, 0, x.rank());
  return out;
}

/// The sum of probabilities times -log_softmax; 0 times infinity is 0 there.
Array expected_entropy(const Array& logits, const Array& probabilities, int axis) {
  const Array logarithms = log_softmax(summed_wide("cross_entropy", logits), axis), p = astype(probabilities, logarithms.dtype()).broadcast_to(logits.shape());
  const Array impossible = eq(p, 0.0) & eq(logarithms, -std::numeric_limits<double>::infinity());
  return as_given(sum(-(p * where(impossible, 0.0, logarithms)), axis), logits);
}

}  // namespace

Array logsumexp(const Array& x, const Axes& axes, bool keepdims) { return logsumexp(x, axes, ReduceOptions{.keepdims = keepdims}); }

Array logsumexp(const Array& x, const Axes& axes, const ReduceOptions& options) {
  if (!x) throw TypeError("logsumexp: x is an empty Array", "check the Array with if (array)");
  require_computed("logsumexp", x.dtype());
  static_cast<void>(axes.mask(x.rank(), "logsumexp"));
  const ReducedDTypes dtypes = dtypes_of("logsumexp", ReductionKind::kMean, x.dtype(), options);
  const auto converted = [](const Array& from, DType to) { return from.dtype() == to ? from : astype(from, to); };
  const Array wide = converted(x, dtypes.accumulator);
  if (wide.size() == 0) return converted(log(sum(wide, axes, options.keepdims)), dtypes.result);  // there is no greatest
  const Array greatest = max(wide, axes, true);
  const Array base = where(isinf(greatest), 0, greatest), logarithm = log(sum(exp(wide - base), axes, true)) + base;
  return converted(options.keepdims ? logarithm : squeeze(logarithm, axes), dtypes.result);
}

Array softmax(const Array& x, int axis) {
  return asked_at_once("softmax", [&] {
    const Array wide = summed_wide("softmax", x);
    const int along = normalize_axis("softmax", axis, x.rank());
    const Array e = exp(wide - max(wide, along, true));
    return as_given(e / sum(e, along, true), x);
  }, x);
}

Array log_softmax(const Array& x, int axis) {
  return asked_at_once("log_softmax", [&] {
    const Array wide = summed_wide("log_softmax", x);
    const int along = normalize_axis("log_softmax", axis, x.rank());
    const Array less = wide - max(wide, along, true);
    return as_given(less - log(sum(exp(less), along, true)), x);
  }, x);
}

Array cross_entropy(const Array& logits, const Array& labels, int axis) {
  return asked_at_once("cross_entropy", [&] {
    if (bool(logits) && logits.rank() > 0) {
      const int along = normalize_axis("cross_entropy", axis, logits.rank(), "logits");
      NeededRows{"cross_entropy", "the logits", ~(std::uint32_t{1} << along)}.require(logits.shape());
    }
    if (bool(logits) && bool(labels) && is_floating(labels.dtype()) && labels.rank() == logits.rank()) return expected_entropy(logits, labels, axis);
    if (bool(logits) && bool(labels)) require_labels(labels.dtype(), labels.rank(), logits.rank(), describe(labels), "astype(labels, int32)");
    const Array given = integers("cross_entropy", logits, labels), wide = summed_wide("cross_entropy", logits);
    const int along = normalize_axis("cross_entropy", axis, wide.rank(), "logits");
    const Array positions = expand_dims(given, along);
    positions_in_lines("cross_entropy", wide.shape(), positions.shape(), along);
    const Array checked = checked_positions("cross_entropy", positions, along, wide.shape()[along], 0, CountsFromEnd::kNo);
    return as_given(squeeze(-taken_along(log_softmax(wide, along), checked, along), along), logits);
  }, logits, labels);
}

Array sigmoid_cross_entropy(const Array& logits, const Array& targets) {
  return asked_at_once("sigmoid_cross_entropy", [&] {
    if (!logits || !targets) throw TypeError("sigmoid_cross_entropy: an operand is an empty Array", "check the Array with if (array)");
    NeededRows{"sigmoid_cross_entropy", "the logits", ~std::uint32_t{0}}.require(logits.shape());
    const Array x = is_floating(logits.dtype()) ? logits : astype(logits, floating_of(logits.dtype())), y = astype(targets, x.dtype());
    return softplus(-x) * y + softplus(x) * (1.0 - y);
  }, logits, targets);
}

Array take_along_axis(const Array& x, const Array& positions, int axis) {
  return asked_at_once("take_along_axis", [&] {
    const Array given = integers("take_along_axis", x, positions);
    const int along = normalize_axis("take_along_axis", axis, x.rank());
    positions_in_lines("take_along_axis", x.shape(), given.shape(), along);
    if (given.size() > 0 && x.shape()[along] == 0) refuse_empty_axis("take_along_axis", along);
    return taken_along(x, checked_positions("take_along_axis", given, along, x.shape()[along], 0), along);
  }, x, positions);
}

Array put_along_axis(const Array& x, const Array& positions, const ArrayOperand& values, int axis) {
  return asked_at_once("put_along_axis", [&] {
    const std::string user = "put_along_axis";
    const Array given = integers(user.c_str(), x, positions);
    const int along = normalize_axis(user, axis, x.rank());
    positions_in_lines(user, x.shape(), given.shape(), along);
    if (given.size() > 0 && x.shape()[along] == 0) refuse_empty_axis(user, along);
    require_stays(user, x.dtype(), values);
    const Array value = values.is_number() ? Array::scalar(values.number().cast(x.dtype()), x.device()) : astype(values.array(), x.dtype());
    require_fits_part(user, given.shape(), value.shape(), value.shape());
    const Array result = x.copy();
    if (given.size() > 0) scatter(ScatterKind::kSet, value.broadcast_to(given.shape()), places_of(x, checked_positions(user.c_str(), given, along, x.shape()[along], 0), along), result, 0, x.rank(), true);
    return result;
  }, x, positions, values);
}

Array one_hot(const Array& positions, std::int64_t count, DType dtype) {
  const Array given = integers("one_hot", positions, positions);
  if (count < 0) throw ShapeError("one_hot: the count is " + std::to_string(count), "it is 0 or more");
  return asked_at_once("one_hot", [&] { return astype(eq(expand_dims(astype(given, int64), -1), arange(0, count, 1, int64, positions.device())), dtype); }, positions);
}

}  // namespace damo
