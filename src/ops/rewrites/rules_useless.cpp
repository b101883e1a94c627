// Rules that drop nodes which change nothing. All keep every value, bit for bit.
#include <algorithm>
#include <iterator>

#include <damo/ops/cast.hpp>
#include <damo/ops/math.hpp>
#include "ops/identity_op.hpp"
#include "ops/rewrites/match.hpp"

namespace damo {
namespace {

/// x + 0.0 is x unless x is -0.0. What is never that: squares, absolute values, exponentials.
bool is_never_minus_zero(const Site& site, ValueId x) {
  const RowOps& row = rows();
  const OpPtr* ops[] = {&row.abs, &row.sqr, &row.exp, &row.exp2, &row.sigmoid, &row.softplus, &row.erfc, &row.cosh};
  return std::any_of(std::begin(ops), std::end(ops), [&](const OpPtr* op) { return site.made_by(x, **op); });
}

Variable drop_unit_factor(Site& site) {
  const ValueId out = site.output();
  const bool divides = site.made_by(out, *rows().true_div) || site.made_by(out, *rows().pow) || (site.made_by(out, *rows().int_div) && !is_floating(site.type(out).dtype));
  if (divides) return is_number(site, site.input(1), 1) ? if_fits(site, site.input(0)) : Variable();
  return if_fits(site, beside(site, out, rows().mul, 1));
}

Variable drop_zero_term(Site& site) {
  const ValueId out = site.output();
  const bool is_float = is_floating(site.type(out).dtype);
  if (site.made_by(out, *rows().sub)) {
    if (!is_number(site, site.input(1), 0) || (is_float && std::signbit(number_of(site, site.input(1))))) return {};
    return if_fits(site, site.input(0));
  }
  const ValueId x = beside(site, out, rows().add, 0);
  if (x == ValueId::kNone) return {};
  const double zero = number_of(site, x == site.input(0) ? site.input(1) : site.input(0));
  return !is_float || std::signbit(zero) || is_never_minus_zero(site, x) ? if_fits(site, x) : Variable();
}

/// f(f(x)) is x.
Variable drop_inverse_pair(Site& site) {
  return site.made_by(site.input(0), site.op()) ? if_fits(site, site.input_of(site.input(0))) : Variable();
}

/// f(f(x)) is f(x).
Variable drop_repeated(Site& site) { return site.made_by(site.input(0), site.op()) ? if_fits(site, site.input(0)) : Variable(); }

Variable drop_rounding_of_integers(Site& site) { return is_floating(site.type(site.input(0)).dtype) ? Variable() : if_fits(site, site.input(0)); }

/// |-x|, (-x)^2, |x|^2.
Variable drop_inner_sign(Site& site) {
  const bool squares = site.made_by(site.output(), *rows().sqr);
  ValueId x = inside(site, site.input(0), rows().neg);
  if (x == ValueId::kNone && squares) x = inside(site, site.input(0), rows().abs);
  if (x == ValueId::kNone || !has_one_dtype(site, x, site.output()) || !is_signed(site.type(x).dtype)) return {};
  return squares ? sqr(site.operand(x)) : abs(site.operand(x));
}

Variable drop_equal_choice(Site& site) { return site.input(0) == site.input(1) ? if_fits(site, site.input(0)) : Variable(); }

/// where(c, x, x), and where of a number. What is not read any more is a leaf, which has no checks behind it, and neither stretches nor refuses
/// what is.
Variable drop_settled_choice(Site& site) {
  const ValueId condition = site.input(0), x = site.input(1), y = site.input(2);
  const Shape& dims = site.type(site.output()).dims;
  const auto may_go = [&](ValueId value) { return site.graph().owner(value) == NodeId::kNone && (is_single(site, value) || (dims.is_known() && site.type(value).dims == dims)); };
  if (x == y && may_go(condition)) return if_fits(site, x);
  if (!site.number(condition)) return {};
  const ValueId chosen = is_number(site, condition, 0) ? y : x, other = chosen == x ? y : x;
  return may_go(other) ? if_fits(site, chosen) : Variable();
}

int value_bits(DType integer) { return 8 * static_cast<int>(itemsize(integer)) - (is_signed(integer) ? 1 : 0); }
int digits_of(DType floating) { return floating == float64 ? 53 : floating == float32 ? 24 : floating == float16 ? 11 : floating == bfloat16 ? 8 : floating == float8_e4m3 ? 4 : 3; }

/// Whether `to` has every value of `from`.
bool holds(DType to, DType from) {
  if (to == from || from == bool_) return true;
  if (is_floating(from)) return is_floating(to) && itemsize(from) < itemsize(to);
  if (is_floating(to)) return value_bits(from) <= digits_of(to);
  return to != bool_ && value_bits(from) <= value_bits(to) && is_signed(from) <= is_signed(to);
}

/// cast(cast(x, wide), to). Where x and the result are integers and `wide` is floating, the outer cast saturates where the direct one would
/// wrap around.
Variable drop_inner_cast(Site& site) {
  const auto* inner = site.made_by<ElementwiseOp>(site.input(0));
  if (!inner || !inner->cast_to()) return {};
  const ValueId x = site.input_of(site.input(0));
  const DType from = site.type(x).dtype, wide = *inner->cast_to(), to = site.type(site.output()).dtype;
  if (!holds(wide, from) || (is_floating(wide) && !is_floating(from) && !is_floating(to) && !holds(to, from))) return {};
  return if_fits(site, cast(site.operand(x), to));
}

bool is_cast(const Op& op) {
  const auto* elementwise = dynamic_cast<const ElementwiseOp*>(&op);
  return elementwise && elementwise->cast_to();
}

}  // namespace

std::vector<Rule> useless_rules() {
  const RowOps& row = rows();
  return {
      {.name = "drop_identity", .ops = {row.identity}, .takes = [](const Op& op) { return dynamic_cast<const IdentityOp*>(&op) != nullptr; },
       .rewrite = [](Site& site) { return if_fits(site, site.input(0)); }},
      {.name = "drop_unit_factor", .ops = {row.mul, row.true_div, row.int_div, row.pow}, .rewrite = drop_unit_factor},
      {.name = "drop_zero_term", .ops = {row.add, row.sub}, .rewrite = drop_zero_term},
      {.name = "drop_inverse_pair", .ops = {row.neg, row.invert}, .rewrite = drop_inverse_pair},
      {.name = "drop_repeated", .ops = {row.abs, row.relu, row.sign, row.ceil, row.floor, row.trunc, row.round_half_to_even, row.round_half_away}, .rewrite = drop_repeated},
      {.name = "drop_rounding_of_integers", .ops = {row.ceil, row.floor, row.trunc, row.round_half_to_even, row.round_half_away}, .rewrite = drop_rounding_of_integers},
      {.name = "drop_inner_sign", .ops = {row.abs, row.sqr}, .rewrite = drop_inner_sign},
      {.name = "drop_equal_choice", .ops = {row.maximum, row.minimum, row.and_, row.or_}, .rewrite = drop_equal_choice},
      {.name = "drop_settled_choice", .ops = {row.where}, .rewrite = drop_settled_choice},
      {.name = "drop_inner_cast", .takes = is_cast, .rewrite = drop_inner_cast},
  };
}

}  // namespace damo
