// isclose and allclose: one row of two arrays and the two tolerances.
#include <string>

#include <damo/array_math.hpp>
#include <damo/array_reduce.hpp>
#include <damo/error.hpp>

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

/// Whose dtype could not hold small tolerances. Integers and bools become float64 beside them.
bool is_half_array(const ArrayOperand& operand) { return !operand.is_number() && is_half(operand.array().dtype()); }

}  // namespace

Array isclose(const ArrayOperand& x, const ArrayOperand& y, double rtol, double atol, bool equal_nan) {
  if (!(rtol >= 0) || !(atol >= 0)) throw OptionError("isclose: the tolerances are " + to_string(Scalar(rtol)) + " and " + to_string(Scalar(atol)), "give numbers that are not negative");
  if (is_half_array(x)) return isclose(astype(x.array(), float32), y, rtol, atol, equal_nan);
  if (is_half_array(y)) return isclose(x, astype(y.array(), float32), rtol, atol, equal_nan);
  static const ElementwiseRow strict = row_of(false), with_nan = row_of(true);
  return apply_elementwise(equal_nan ? with_nan : strict, {x, y, rtol, atol});
}

bool allclose(const ArrayOperand& x, const ArrayOperand& y, double rtol, double atol, bool equal_nan) {
  return all(isclose(x, y, rtol, atol, equal_nan)).item().as_int() != 0;
}

}  // namespace damo
