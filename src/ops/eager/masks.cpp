#include <damo/array_masks.hpp>

#include <algorithm>
#include <string>

#include <damo/array_create.hpp>
#include <damo/array_math.hpp>
#include <damo/array_scan.hpp>
#include <damo/array_shape.hpp>
#include <damo/array_subtensor.hpp>
#include "ops/both_worlds.hpp"
#include "ops/eager/index_kernels.hpp"
#include "ops/indexing/masked_shape.hpp"
#include "ops/promotion.hpp"

namespace damo {
namespace {

/// How many elements are true up to each, and at all.
struct Counts {
  explicit Counts(const Array& mask) : flat(ravel(mask)), until(cumsum(flat)), all(until.size() == 0 ? 0 : until.slice({{until.size() - 1, until.size()}}).item().as_int()) {}
  /// In C order: each true element stands where as many are before it.
  Array positions() const {
    const Array positions = Array::empty({all}, int64, until.device());
    if (all > 0) scatter(positions, where(flat, until - 1, -1), arange(Scalar(until.size()), int64, until.device()));
    return positions;
  }
  Array flat, until;
  std::int64_t all;
};

/// Throws TypeError for an empty Array.
void require(const std::string& user, const Array& x, const char* what) {
  if (!x) throw TypeError(user + ": " + what + " is an empty Array", "check the Array with if (array)");
}

Array rows_of(const Array& x, const Array& mask) { return mask.rank() == 1 ? x : flatten(x, 0, mask.rank() - 1); }

/// y as x's elements would have it at each place of x, whatever stands where the mask is false.
Array spread(const std::string& user, const Array& x, const Array& mask, const Array& y) {
  if (y.rank() <= x.rank() - mask.rank()) {
    require_fits_behind_mask(user, x.shape(), y.shape());
    return y;
  }
  const Counts counts(mask);
  const Array rows = rows_of(x, mask);
  Shape part = rows.shape();
  part[0] = counts.all;
  require_fits_part(user, part, y.shape(), y.shape());
  if (counts.all == 0) return x;
  return take(y.broadcast_to(part), maximum(counts.until - 1, 0), 0).reshape(x.shape());
}

Array write(const std::string& user, const Array& x, const Array& mask, const ArrayOperand& y, bool adds) {
  require(user, x, "x");
  require(user, mask, "the mask");
  check_mask(user, x.shape(), mask.dtype(), mask.shape());
  if (adds && x.dtype() == bool_) throw TypeError(user + ": x is bool, which nothing is added to", "cast it to an integer");
  require_stays(user, x.dtype(), y);
  const Array condition = mask.reshape([&] {
    Shape shape = mask.shape();
    while (shape.rank() < x.rank()) shape.push_back(1);
    return shape;
  }());
  const Array value = y.is_number() ? Array::scalar(y.number().cast(x.dtype()), x.device()) : spread(user, x, mask, astype(y.array(), x.dtype()));
  const Array changed = adds ? x + value : value;
  return where(condition, changed.broadcast_to(x.shape()), x);
}

}  // namespace

Array flatnonzero(const Array& x) {
  require("flatnonzero", x, "x");
  return asked_at_once("flatnonzero", [&] { return Counts(x.dtype() == bool_ ? x : neq(x, 0)).positions(); }, x);
}

std::vector<Array> nonzero(const Array& x) {
  require("nonzero", x, "x");
  if (x.rank() == 0) throw ShapeError("nonzero: x has no axis: " + describe(x), "give it one: expand_dims(x, 0)");
  const Array positions = asked_at_once("nonzero", [&] { return flatnonzero(x); }, x);
  std::vector<Array> along;
  std::int64_t inner = x.size();
  for (std::int64_t extent : x.shape()) {
    inner = extent == 0 ? 1 : inner / extent;
    along.push_back(x.rank() == 1 ? positions : mod(int_div(positions, inner), std::max<std::int64_t>(extent, 1)));
  }
  return along;
}

Array subtensor(const Array& x, const Array& mask) {
  return asked_at_once("subtensor", [&] {
    require("subtensor", x, "x");
    require("subtensor", mask, "the mask");
    if (is_integer(mask.dtype())) return subtensor(x, {AnyIndex<Array>(mask), ellipsis});
    check_mask("subtensor", x.shape(), mask.dtype(), mask.shape());
    return take(rows_of(x, mask), Counts(mask).positions(), 0);
  }, x, mask);
}

Array set_subtensor(const Array& x, const Array& mask, const ArrayOperand& y) {
  if (mask && is_integer(mask.dtype())) return set_subtensor(x, {AnyIndex<Array>(mask), ellipsis}, y);
  return asked_at_once("set_subtensor", [&] { return write("set_subtensor", x, mask, y, false); }, x, mask, y);
}
Array inc_subtensor(const Array& x, const Array& mask, const ArrayOperand& y) {
  if (mask && is_integer(mask.dtype())) return inc_subtensor(x, {AnyIndex<Array>(mask), ellipsis}, y);
  return asked_at_once("inc_subtensor", [&] { return write("inc_subtensor", x, mask, y, true); }, x, mask, y);
}

}  // namespace damo
