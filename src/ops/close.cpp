#include "ops/close.hpp"

#include <string>

#include <damo/error.hpp>
#include <damo/ops/cast.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/reduce.hpp>
#include "graph/user_line.hpp"

namespace damo {
namespace {

ElementwiseRow row_of(bool equal_nan) {
  const std::string close = "(x0 == x1) | (isfinite(x1) & (fabs(x0 - x1) <= x3 + x2 * fabs(x1)))";
  return {.name = equal_nan ? "isclose_or_nan" : "isclose",
          .code = equal_nan ? close + " | (isnan(x0) & isnan(x1))" : close,
          .result = ResultRule::kBool,
          .domain = Domain::kFloats,
          .file = "damo/ops/close"};
}

/// 16-bit floats could not hold small tolerances. Integers and bools become float64 beside them.
Operand wide_enough(const Operand& x) {
  if (x.is_number() || !is_half(x.promotable().dtype)) return x;
  return {cast(x, float32), x.where().file, x.where().line};
}

}  // namespace

const ElementwiseRow& close_row(bool equal_nan) {
  static const ElementwiseRow strict = row_of(false), with_nan = row_of(true);
  return equal_nan ? with_nan : strict;
}

void check_tolerances(double rtol, double atol) {
  if (rtol >= 0 && atol >= 0) return;
  throw OptionError("isclose: the tolerances are " + to_string(Scalar(rtol)) + " and " + to_string(Scalar(atol)),
                    "give numbers that are not negative");
}

Variable isclose(const Operand& x, const Operand& y, double rtol, double atol, bool equal_nan) {
  return asked("isclose", [&] {
    check_tolerances(rtol, atol);
    return apply_elementwise(close_row(equal_nan), {wide_enough(x), wide_enough(y), rtol, atol});
  }, x, y);
}

Variable allclose(const Operand& x, const Operand& y, double rtol, double atol, bool equal_nan) {
  const BuiltAt here(x.where());
  return asked("allclose", [&] { return all(isclose(x, y, rtol, atol, equal_nan)); }, x, y);
}

}  // namespace damo
