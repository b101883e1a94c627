// Rules of algebra. They keep every value but for powers, whose own function rounds more than products do, and regroup_numbers, which is off.
#include <algorithm>
#include <cmath>

#include <damo/ops/math.hpp>
#include "ops/rewrites/match.hpp"

namespace damo {
namespace {

bool is_floating_value(const Site& site, ValueId value) { return is_floating(site.type(value).dtype); }

/// Whether x times the product of both factors is (x a) b in floating point: powers of two of at least 1 round nothing, and overflow alike.
bool multiply_exactly(double a, double b) {
  const auto doubles = [](double factor) {
    int exponent = 0;
    return std::fabs(factor) >= 1 && std::fabs(std::frexp(factor, &exponent)) == 0.5;
  };
  return doubles(a) && doubles(b) && std::isfinite(static_cast<float>(a * b)) && std::fabs(a * b) <= 32768;  // also of float16
}

/// The node's number and what else it reads, of an op that commutes.
struct Scaled {
  ValueId x = ValueId::kNone, number = ValueId::kNone;
};
Scaled scaled(const Site& site, ValueId value, const OpPtr& op) {
  const Pair pair = pair_of(site, value, op);
  if (!pair) return {};
  if (site.number(pair.second) && !site.number(pair.first)) return {pair.first, pair.second};
  if (site.number(pair.first) && !site.number(pair.second)) return {pair.second, pair.first};
  return {};
}

/// (x + a) + b is x + (a + b), (x a) b is x (a b).
Variable merge_numbers(Site& site, bool reassociates) {
  const bool adds = site.made_by(site.output(), *rows().add);
  const OpPtr& op = adds ? rows().add : rows().mul;
  const Scaled outer = scaled(site, site.output(), op);
  if (outer.x == ValueId::kNone) return {};
  const Scaled inner = scaled(site, outer.x, op);
  if (inner.x == ValueId::kNone || !has_one_dtype(site, inner.x, site.output()) || !has_one_dtype(site, inner.number, site.output()) || !has_one_dtype(site, outer.number, site.output())) return {};
  const bool is_exact = is_floating_value(site, inner.x) ? !adds && multiply_exactly(number_of(site, inner.number), number_of(site, outer.number)) : true;
  if (!is_exact && !reassociates) return {};
  const Variable a = site.operand(inner.number), b = site.operand(outer.number), x = site.operand(inner.x);
  return if_fits(site, adds ? add(x, add(a, b)) : mul(x, mul(a, b)));
}

/// Signs of operands become part of the operation: x + (-y), x - (-y), (-x) (-y), (-x) / (-y), (-x) 3, x (-1).
Variable take_signs(Site& site) {
  const RowOps& row = rows();
  const ValueId out = site.output(), a = site.input(0), b = site.input(1);
  const bool adds = &site.op() == row.add.get(), subtracts = &site.op() == row.sub.get(), multiplies = &site.op() == row.mul.get();
  const auto negated = [&](ValueId value) {
    const ValueId inner = inside(site, value, row.neg);
    return inner != ValueId::kNone && has_one_dtype(site, inner, out) ? inner : ValueId::kNone;
  };
  const ValueId minus_a = negated(a), minus_b = negated(b);
  const bool has_a = minus_a != ValueId::kNone, has_b = minus_b != ValueId::kNone;
  if (!has_a && !has_b && (adds || subtracts || (!site.number(a) && !site.number(b)))) return {};
  if (!has_one_dtype(site, a, out) || !has_one_dtype(site, b, out)) return {};
  if (adds) {
    if (has_b) return if_fits(site, sub(site.operand(a), site.operand(minus_b)));
    return has_a ? if_fits(site, sub(site.operand(b), site.operand(minus_a))) : Variable();
  }
  if (subtracts) return has_b ? if_fits(site, add(site.operand(a), site.operand(minus_b))) : Variable();
  if (!multiplies && !is_floating_value(site, out)) return {};
  const auto made = [&](const Variable& x, const Variable& y) { return if_fits(site, multiplies ? mul(x, y) : true_div(x, y)); };
  if (has_a && has_b) return made(site.operand(minus_a), site.operand(minus_b));
  if (!is_signed(site.type(out).dtype)) return {};
  if (multiplies && beside(site, out, row.mul, -1) != ValueId::kNone) return if_fits(site, neg(site.operand(beside(site, out, row.mul, -1))));
  if (!multiplies && is_number(site, b, -1)) return if_fits(site, neg(site.operand(a)));
  if (!is_floating_value(site, out)) return {};
  if (has_a && site.number(b)) return made(site.operand(minus_a), number(-number_of(site, b), site.type(b).dtype));
  if (has_b && site.number(a)) return made(number(-number_of(site, a), site.type(a).dtype), site.operand(minus_b));
  return {};
}

/// What is never below 0 and never -0.
bool is_positive(const Site& site, ValueId x) {
  const RowOps& row = rows();
  const OpPtr* ops[] = {&row.abs, &row.sqr, &row.exp, &row.exp2, &row.sigmoid, &row.softplus, &row.erfc, &row.cosh};
  return std::any_of(std::begin(ops), std::end(ops), [&](const OpPtr* op) { return site.made_by(x, **op); });
}

/// pow of a number that is known. x^0 is 1 for NaN too. Roots are those of pow only where x is not negative: pow(-inf, 0.5) is inf.
Variable specialise_power(Site& site) {
  const ValueId base = site.input(0);
  const double power = number_of(site, site.input(1));
  if (std::isnan(power) || !has_one_dtype(site, base, site.output()) || site.type(base).dtype == bool_) return {};
  const Variable x = site.operand(base);
  const DType dtype = x.dtype();
  if (power == 0) return if_fits(site, second(x, number(1, dtype)));
  if (power == 2) return if_fits(site, sqr(x));
  if (!is_floating(dtype)) return {};
  if (power == -1) return if_fits(site, reciprocal(x));
  if (power == 3 && !is_half(dtype)) return if_fits(site, mul(sqr(x), x));
  if (power == 4 && !is_half(dtype)) return if_fits(site, sqr(sqr(x)));
  if (power == 0.5 && is_positive(site, base)) return if_fits(site, sqrt(x));
  if (power == -0.5 && is_positive(site, base)) return if_fits(site, rsqrt(x));
  return {};
}

/// x x is x^2.
Variable specialise_square(Site& site) {
  return site.input(0) == site.input(1) && site.type(site.output()).dtype != bool_ ? if_fits(site, sqr(site.operand(site.input(0)))) : Variable();
}

}  // namespace

std::vector<Rule> algebra_rules(bool reassociates) {
  const RowOps& row = rows();
  std::vector<Rule> rules = {
      {.name = "merge_numbers", .ops = {row.add, row.mul}, .reads = is_one_of({row.add, row.mul}), .rewrite = [](Site& site) { return merge_numbers(site, false); }},
      {.name = "take_signs", .ops = {row.add, row.sub, row.mul, row.true_div}, .rewrite = take_signs},
      {.name = "specialise_power", .ops = {row.pow}, .rewrite = specialise_power},
      {.name = "specialise_square", .ops = {row.mul}, .rewrite = specialise_square},
  };
  if (reassociates) rules.push_back({.name = "regroup_numbers", .ops = {row.add, row.mul}, .reads = is_one_of({row.add, row.mul}), .rewrite = [](Site& site) { return merge_numbers(site, true); }});
  return rules;
}

}  // namespace damo
