#include "ops/number_arguments.hpp"

#include <cmath>
#include <cstdint>
#include <string_view>

#include "ops/rows.hpp"

namespace damo {
namespace {

bool is_power_of_two(double value) {
  int exponent = 0;
  return std::isnormal(value) && std::fabs(std::frexp(value, &exponent)) == 0.5;
}

bool is_comparison(std::string_view name) {
  return name == "lt" || name == "le" || name == "gt" || name == "ge" || name == "eq" || name == "neq";
}

/// x + -0.0 and x - 0.0 are x, -0.0 - x is -x. x + 0.0 is not x where x is -0.0.
bool simplifies_sum(std::string_view name, int position, double value) {
  return value == 0.0 && std::signbit(value) == (name == "add" || position == 0);
}

bool float_may_be_argument(std::string_view name, int position, double value) {
  if (!std::isfinite(value)) return false;
  if (name == "add" || name == "sub") return !simplifies_sum(name, position, value);
  if (name == "mul") return std::fabs(value) != 1.0;
  if (name == "true_div") return position == 0 ? std::fabs(value) != 1.0 : !is_power_of_two(value);
  return is_comparison(name);
}

/// Vector units multiply 64-bit integers slowly, and shift them quickly.
bool integer_may_be_argument(std::string_view name, const Scalar& number) {
  const std::int64_t value = number.as_int();
  if (name == "add" || name == "sub" || is_comparison(name)) return value != 0;
  return name == "mul" && value != 0 && !is_power_of_two(number.as_double());
}

}  // namespace

bool may_be_argument(const ElementwiseOp& op, int position, const Scalar& number) {
  if (!is_builtin(op.row()) || number.dtype() == bool_) return false;
  const std::string_view name = op.row().name;
  return is_floating(number.dtype()) ? float_may_be_argument(name, position, number.as_double()) : integer_may_be_argument(name, number);
}

}  // namespace damo
