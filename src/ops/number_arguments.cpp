#include "ops/number_arguments.hpp"

#include <cmath>
#include <cstdint>
#include <string_view>

#include "ops/comparisons.hpp"
#include "ops/rows.hpp"

namespace damo {
namespace {

bool is_power_of_two(double value) {
  int exponent = 0;
  return std::isnormal(value) && std::fabs(std::frexp(value, &exponent)) == 0.5;
}

/// x + -0.0 and x - 0.0 are x, -0.0 - x is -x. x + 0.0 is not x where x is -0.0.
bool simplifies_sum(NumberRule rule, int position, double value) {
  return value == 0.0 && std::signbit(value) == (rule == NumberRule::kSum || position == 0);
}

bool float_may_be_argument(NumberRule rule, int position, double value) {
  if (!std::isfinite(value)) return false;
  if (rule == NumberRule::kSum || rule == NumberRule::kDifference) return !simplifies_sum(rule, position, value);
  if (rule == NumberRule::kProduct) return std::fabs(value) != 1.0;
  if (rule == NumberRule::kQuotient) return position == 0 ? std::fabs(value) != 1.0 : !is_power_of_two(value);
  return true;
}

/// Vector units multiply 64-bit integers slowly, and shift them quickly.
bool integer_may_be_argument(NumberRule rule, const Scalar& number) {
  const std::int64_t value = number.as_int();
  if (rule == NumberRule::kProduct) return value != 0 && !is_power_of_two(number.as_double());
  return rule != NumberRule::kQuotient && value != 0;
}

}  // namespace

NumberRule number_rule(const ElementwiseOp& op) {
  if (!is_builtin(op.row())) return NumberRule::kNever;
  const std::string_view name = op.row().name;
  if (name == "add") return NumberRule::kSum;
  if (name == "sub") return NumberRule::kDifference;
  if (name == "mul") return NumberRule::kProduct;
  if (name == "true_div") return NumberRule::kQuotient;
  return is_comparison(op.row()) ? NumberRule::kComparison : NumberRule::kNever;
}

bool may_be_argument(NumberRule rule, int position, const Scalar& number) {
  if (rule == NumberRule::kNever || number.dtype() == bool_) return false;
  return is_floating(number.dtype()) ? float_may_be_argument(rule, position, number.as_double()) : integer_may_be_argument(rule, number);
}

}  // namespace damo
