#include <damo/array_math.hpp>
#include <damo/array_reduce.hpp>
#include "ops/both_worlds.hpp"
#include "ops/close.hpp"

namespace damo {
namespace {

/// Whose dtype could not hold small tolerances. Integers and bools become float64 beside them.
bool is_half_array(const ArrayOperand& operand) { return !operand.is_number() && is_half(operand.array().dtype()); }

}  // namespace

Array isclose(const ArrayOperand& x, const ArrayOperand& y, double rtol, double atol, bool equal_nan) {
  check_tolerances(rtol, atol);
  if (is_half_array(x)) return isclose(astype(x.array(), float32), y, rtol, atol, equal_nan);
  if (is_half_array(y)) return isclose(x, astype(y.array(), float32), rtol, atol, equal_nan);
  return apply_elementwise(close_row(equal_nan), {x, y, rtol, atol});
}

bool allclose(const ArrayOperand& x, const ArrayOperand& y, double rtol, double atol, bool equal_nan) {
  return asked_at_once("allclose", [&] { return all(isclose(x, y, rtol, atol, equal_nan)).item().as_int() != 0; }, x, y);
}

}  // namespace damo
