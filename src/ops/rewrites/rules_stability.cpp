// Rules for what is exact in one function and overflows, cancels or rounds in its parts. Where the parts are exact enough both agree but for
// rounding; elsewhere the result is the one that the expression means: log(1 + exp(1000)) is 1000, not inf. Of floating values of one
// dtype alone: where integers wrap, the parts are what was asked for.
#include <array>

#include <damo/ops/cast.hpp>
#include <damo/ops/math.hpp>
#include "ops/dimshuffle_op.hpp"
#include "ops/identity_op.hpp"
#include "ops/reduce_op.hpp"
#include "ops/rewrites/match.hpp"

namespace damo {
namespace {

/// f of the value, if it is floating and of the result's dtype.
template <class F>
Variable made_of(Site& site, ValueId x, F f) {
  return are_floats(site, x, site.output()) ? if_fits(site, f(site.operand(x))) : Variable();
}

/// x of exp(x), where exp keeps the dtype.
ValueId exponent(const Site& site, ValueId value) {
  const ValueId x = inside(site, value, rows().exp);
  return are_floats(site, x, value) ? x : ValueId::kNone;
}

/// log(1 + x) is log1p(x), log(1 - x) is log1p(-x).
Variable to_log1p(Site& site) {
  const ValueId inner = site.input(0);
  if (const ValueId x = beside(site, inner, rows().add, 1); are_floats(site, x, inner)) return made_of(site, x, [](const Variable& v) { return log1p(v); });
  const Pair difference = pair_of(site, inner, rows().sub);
  if (!difference || !is_number(site, difference.first, 1) || !are_floats(site, difference.second, inner)) return {};
  return made_of(site, difference.second, [](const Variable& v) { return log1p(neg(v)); });
}

/// exp(x) - 1 is expm1(x), 1 - exp(x) is 0 - expm1(x), which is +0 at 0 as the difference is.
Variable to_expm1(Site& site) {
  if (site.made_by(site.output(), *rows().sub) && is_number(site, site.input(0), 1)) {
    return made_of(site, exponent(site, site.input(1)), [](const Variable& x) { return sub(0.0, expm1(x)); });
  }
  const bool subtracts = site.made_by(site.output(), *rows().sub) && is_number(site, site.input(1), 1);
  const ValueId e = subtracts ? site.input(0) : beside(site, site.output(), rows().add, -1);
  return e == ValueId::kNone ? Variable() : made_of(site, exponent(site, e), [](const Variable& x) { return expm1(x); });
}

/// log1p(exp(x)) is softplus(x), log1p(-sigmoid(x)) is -softplus(x), log1p(-exp(x)) is log1mexp(x).
Variable to_softplus(Site& site) {
  if (const ValueId x = exponent(site, site.input(0)); x != ValueId::kNone) return made_of(site, x, [](const Variable& v) { return softplus(v); });
  const ValueId inner = inside(site, site.input(0), rows().neg);
  if (inner == ValueId::kNone) return {};
  if (const ValueId x = exponent(site, inner); x != ValueId::kNone) return made_of(site, x, [](const Variable& v) { return log1mexp(v); });
  return made_of(site, inside(site, inner, rows().sigmoid), [](const Variable& v) { return neg(softplus(v)); });
}

/// log(sigmoid(x)) is -softplus(-x), log(exp(x)) is x, log(0 - expm1(x)), which log(1 - exp(x)) has become, is log1mexp(x).
Variable to_log_of_inverse(Site& site) {
  if (const Pair negated = pair_of(site, site.input(0), rows().sub); negated && is_number(site, negated.first, 0)) {
    return made_of(site, inside(site, negated.second, rows().expm1), [](const Variable& x) { return log1mexp(x); });
  }
  if (const ValueId x = exponent(site, site.input(0)); x != ValueId::kNone) return made_of(site, x, [](const Variable& v) { return v; });
  return made_of(site, inside(site, site.input(0), rows().sigmoid), [](const Variable& x) { return neg(softplus(neg(x))); });
}

/// x where the value is 1 + exp(x).
ValueId one_plus_exp(const Site& site, ValueId value) {
  const ValueId e = beside(site, value, rows().add, 1);
  return are_floats(site, e, value) ? exponent(site, e) : ValueId::kNone;
}

/// x and y where the value is exp(x) + exp(y).
Pair exponents(const Site& site, ValueId value) {
  const Pair terms = pair_of(site, value, rows().add);
  if (!terms) return {};
  const Pair of{exponent(site, terms.first), exponent(site, terms.second)};
  return of && are_floats(site, of.first, value) && are_floats(site, of.second, value) ? of : Pair();
}

/// log(exp(x) + exp(y)) with the greater one taken out; equal infinities stay.
Variable to_logaddexp(Site& site) {
  const Pair of = exponents(site, site.input(0));
  if (!of || !are_floats(site, of.first, site.output())) return {};
  const Variable x = site.operand(of.first), y = site.operand(of.second);
  return if_fits(site, add(maximum(x, y), softplus(where(eq(x, y), 0.0, neg(abs(sub(x, y)))))));
}

/// A product with exp(x), whose other factor is `rest`, or exp(x) itself.
struct ExpFactor {
  ValueId x = ValueId::kNone, exp = ValueId::kNone, rest = ValueId::kNone;
  explicit operator bool() const { return x != ValueId::kNone; }
  Variable times(Site& site, const Variable& y) const { return rest == ValueId::kNone ? y : mul(site.operand(rest), y); }
};
ExpFactor exp_factor(const Site& site, ValueId value) {
  if (const ValueId x = exponent(site, value); x != ValueId::kNone) return {x, value};
  const Pair product = pair_of(site, value, rows().mul);
  for (const Pair& factors : {product, product.swapped()}) {
    const ValueId x = factors && are_floats(site, factors.second, value) ? exponent(site, factors.first) : ValueId::kNone;
    if (x != ValueId::kNone) return {x, factors.first, factors.second};
  }
  return {};
}

/// 1 / (1 + exp(-x)) is sigmoid(x), and so is exp(x) / (1 + exp(x)), also of a product with exp(x).
Variable to_sigmoid(Site& site) {
  const ValueId out = site.output();
  const auto turned = [](const Variable& x) { return sigmoid(neg(x)); };
  if (site.made_by(out, *rows().reciprocal)) return made_of(site, one_plus_exp(site, site.input(0)), turned);
  if (site.made_by(out, *rows().true_div)) {
    const ValueId x = one_plus_exp(site, site.input(1));
    if (x == ValueId::kNone) return {};
    if (is_number(site, site.input(0), 1)) return made_of(site, x, turned);
    const ExpFactor numerator = exp_factor(site, site.input(0));
    return numerator.x == x ? made_of(site, x, [&](const Variable& v) { return numerator.times(site, sigmoid(v)); }) : Variable();
  }
  return {};
}

/// What a value is the sigmoid of: x or -x.
struct SigmoidOf {
  ValueId x = ValueId::kNone;
  bool is_negated = false;
  friend bool operator==(const SigmoidOf&, const SigmoidOf&) = default;
};

/// Of sigmoid(x), and of 1 - sigmoid(x), which is that of -x.
SigmoidOf sigmoid_of(const Site& site, ValueId value) {
  SigmoidOf of{inside(site, value, rows().sigmoid)};
  const Pair difference = pair_of(site, value, rows().sub);
  if (difference && is_number(site, difference.first, 1) && has_one_dtype(site, difference.second, value)) of = {inside(site, difference.second, rows().sigmoid), true};
  if (!are_floats(site, of.x, value)) return {};
  for (ValueId inner = inside(site, of.x, rows().neg); inner != ValueId::kNone; inner = inside(site, of.x, rows().neg)) of = {inner, !of.is_negated};
  return of;
}

/// value * factor, where terms and factors of the value are known to be simpler when they are multiplied by it: `known` gives their products, and nothing for
/// others. Empty where it knows none.
template <class Known>
Variable product_with(Site& site, ValueId value, ValueId factor, const Known& known, int depth = 0) {
  constexpr int kDeepest = 6;
  if (depth == kDeepest || !are_floats(site, value, factor)) return {};
  if (const Variable product = known(value)) return product;
  const auto deeper = [&](ValueId inner) { return product_with(site, inner, factor, known, depth + 1); };
  if (const ValueId inner = inside(site, value, rows().neg); inner != ValueId::kNone) {
    const Variable rest = deeper(inner);
    return rest ? neg(rest) : rest;
  }
  if (const Pair quotient = pair_of(site, value, rows().true_div); quotient && are_floats(site, quotient.first, value) && are_floats(site, quotient.second, value)) {
    const Variable rest = deeper(quotient.first);
    return rest ? true_div(rest, site.operand(quotient.second)) : rest;
  }
  // The factor that is simpler as a whole, before one of which some terms are: the others of those would be multiplied by a factor that may be infinite.
  const Pair product = pair_of(site, value, rows().mul);
  for (const Pair& factors : {product, product.swapped()}) {
    const Variable whole = factors && are_floats(site, factors.first, factor) ? known(factors.first) : Variable();
    if (whole) return mul(whole, site.operand(factors.second));
  }
  for (const Pair& factors : {product, product.swapped()}) {
    const Variable rest = factors ? deeper(factors.first) : Variable();
    if (rest) return mul(rest, site.operand(factors.second));
  }
  for (const OpPtr& op : {rows().add, rows().sub}) {
    const Pair terms = pair_of(site, value, op);
    if (!terms) continue;
    Variable first = deeper(terms.first), last = deeper(terms.second);
    if (!first && !last) return {};
    if (!first) first = mul(site.operand(terms.first), site.operand(factor));
    if (!last) last = mul(site.operand(terms.second), site.operand(factor));
    return op == rows().add ? add(first, last) : sub(first, last);
  }
  return {};
}

/// What a value multiplied by exp(x) is, where it is divided by 1 + exp(x): finite though exp(x) may not be.
class OverOnePlusExp {
 public:
  OverOnePlusExp(Site& site, ValueId x) : site_(site), x_(x), upright_{x, false} {
    for (ValueId inner = inside(site, x, rows().neg); inner != ValueId::kNone; inner = inside(site, upright_.x, rows().neg)) upright_ = {inner, !upright_.is_negated};
  }

  /// value exp(x); empty if the value is of none of these forms.
  Variable operator()(ValueId value) const {
    if (is_inverse(value)) return s();
    if (const ValueId root = inside(site_, value, rows().sqr); root != ValueId::kNone && is_inverse(root)) return mul(site_.operand(root), s());
    if (const ValueId g = numerator(value); g != ValueId::kNone) return mul(site_.operand(g), s());
    if (const Variable part = share(value)) return part;
    const Pair terms = pair_of(site_, value, rows().sub);
    return terms ? derivative(terms) : Variable();
  }

 private:
  Variable s() const { return sigmoid(site_.operand(x_)); }
  /// Whether it is 1 / (1 + exp(x)): sigmoid(-x), perhaps not yet written so.
  bool is_inverse(ValueId value) const {
    const ValueId of = inside(site_, value, rows().reciprocal);
    return sigmoid_of(site_, value) == SigmoidOf{upright_.x, !upright_.is_negated} || (of != ValueId::kNone && one_plus_exp(site_, of) == x_);
  }
  /// g of g / (1 + exp(x)).
  ValueId numerator(ValueId value) const {
    const Pair quotient = pair_of(site_, value, rows().true_div);
    return quotient && one_plus_exp(site_, quotient.second) == x_ && are_floats(site_, quotient.first, value) ? quotient.first : ValueId::kNone;
  }
  bool is_sigmoid(ValueId value) const { return sigmoid_of(site_, value) == upright_; }
  /// Of g / (exp(x) + exp(y)), which the gradient of log(exp(x) + exp(y)) has: g sigmoid(x - y).
  Variable share(ValueId value) const {
    const Pair quotient = pair_of(site_, value, rows().true_div);
    const Pair of = quotient && are_floats(site_, quotient.first, value) ? exponents(site_, quotient.second) : Pair();
    for (const Pair& each : {of, of.swapped()}) {
      if (each && each.first == x_) return mul(site_.operand(quotient.first), sigmoid(sub(site_.operand(x_), site_.operand(each.second))));
    }
    return {};
  }
  /// (g / (1 + exp(x)) - g s / (1 + exp(x))) exp(x), s being sigmoid(x), is g s (1 - s): a difference of equals where s is 1.
  Variable derivative(const Pair& terms) const {
    const auto slope = [&] { return mul(s(), sub(1.0, s())); };
    const ValueId g = numerator(terms.first), product = numerator(terms.second);
    if (is_inverse(terms.first) && product != ValueId::kNone && is_sigmoid(product)) return slope();
    const Pair factors = product == ValueId::kNone ? Pair() : pair_of(site_, product, rows().mul);
    if (g == ValueId::kNone || !factors) return {};
    const bool fits = (factors.first == g && is_sigmoid(factors.second)) || (factors.second == g && is_sigmoid(factors.first));
    return fits ? mul(site_.operand(g), slope()) : Variable();
  }

  Site& site_;
  ValueId x_;
  SigmoidOf upright_;  ///< what sigmoid_of gives of sigmoid(x)
};

/// (g / (1 + exp(x))) exp(x) is g sigmoid(x), and sigmoid(-x) exp(x) is sigmoid(x): what the gradients of log(1 + exp(x)), of exp(x) / (1 + exp(x)) and of
/// 1 / (1 + exp(x)) multiply.
Variable to_sigmoid_product(Site& site) {
  for (const Pair& operands : {pair_of(site, site.output(), rows().mul), pair_of(site, site.output(), rows().mul).swapped()}) {
    const ExpFactor factor = exp_factor(site, operands.first);
    if (!factor) continue;
    if (const Variable made = product_with(site, operands.second, factor.exp, OverOnePlusExp(site, factor.x))) return if_fits(site, factor.times(site, made));
  }
  return {};
}

/// p - p s is p (1 - s) where s is a sigmoid, which may be 1: what the gradient of exp(x) / (1 + exp(x)) comes to. In p may be a quotient by 1 - s.
Variable to_sigmoid_slope(Site& site) {
  const Pair terms = pair_of(site, site.output(), rows().sub);
  if (!terms) return {};
  const auto slope = [&](ValueId s) { return if_fits(site, mul(site.operand(terms.first), sub(1.0, site.operand(s)))); };
  const auto is_sigmoid = [&](ValueId value) { return sigmoid_of(site, value).x != ValueId::kNone; };
  if (inside(site, terms.second, rows().sqr) == terms.first && is_sigmoid(terms.first)) return slope(terms.first);
  const Pair product = pair_of(site, terms.second, rows().mul);
  for (const Pair& factors : {product, product.swapped()}) {
    if (factors && factors.first == terms.first && is_sigmoid(factors.second) && are_floats(site, terms.first, site.output())) return slope(factors.second);
  }
  return {};
}

/// (g / s) s is g where s is a sigmoid, which may be 0, or 1 less one: what the gradients of log(s) and log(1 - s) multiply. So is (g / s) (s r), which is g r.
Variable drop_sigmoid_quotient(Site& site) {
  for (const Pair& operands : {pair_of(site, site.output(), rows().mul), pair_of(site, site.output(), rows().mul).swapped()}) {
    if (!operands) continue;
    const Pair product = pair_of(site, operands.second, rows().mul);
    const ValueId root = inside(site, operands.second, rows().sqr);
    for (const Pair& factors : {Pair{operands.second, ValueId::kNone}, product, product.swapped(), Pair{root, root}}) {
      const SigmoidOf sigmoid = factors.first == ValueId::kNone ? SigmoidOf() : sigmoid_of(site, factors.first);
      if (sigmoid.x == ValueId::kNone) continue;
      const auto known = [&](ValueId value) -> Variable {
        const Pair quotient = pair_of(site, value, rows().true_div);
        if (!quotient || !are_floats(site, quotient.first, value) || sigmoid_of(site, quotient.second) != sigmoid) return {};
        return second(site.operand(factors.first), site.operand(quotient.first));
      };
      const Variable made = product_with(site, operands.first, factors.first, known);
      if (made) return if_fits(site, factors.second == ValueId::kNone ? made : mul(made, site.operand(factors.second)));
    }
  }
  return {};
}

/// 1 - sigmoid(x) is sigmoid(-x), unless sigmoid(x) is there anyway; 1 - erf(x) is erfc(x).
Variable to_complement(Site& site) {
  if (!is_number(site, site.input(0), 1)) return {};
  if (const ValueId x = inside(site, site.input(1), rows().erf); x != ValueId::kNone) return made_of(site, x, [](const Variable& v) { return erfc(v); });
  if (site.readings(site.input(1)) != 1) return {};
  return made_of(site, inside(site, site.input(1), rows().sigmoid), [](const Variable& x) { return sigmoid(neg(x)); });
}

/// The value before a view that leaves out leading axes of extent 1, which broadcasting puts back: sum(x, 0) beside x is its sum with that axis kept.
ValueId with_leading_axes(const Site& site, ValueId value) {
  const auto* view = site.made_by<DimShuffleOp>(value);
  if (!view) return value;
  const int rank = site.type(site.input_of(value)).rank();
  std::vector<int> pattern(view->pattern().begin(), view->pattern().end());
  if (static_cast<int>(pattern.size()) > rank) return value;
  pattern.insert(pattern.begin(), static_cast<std::size_t>(rank) - pattern.size(), kNewAxis);
  return changes_nothing(pattern, rank) ? site.input_of(value) : value;
}

/// The axes of a sum over exp(x), which stay with extent 1, or are left out where broadcasting puts them back. 0: it is none.
std::uint32_t summed_axes(const Site& site, ValueId value, ValueId of) {
  const ValueId sums = with_leading_axes(site, value);
  const auto* sum = site.made_by<ReduceOp>(sums);
  return sum && sum->kind() == ReductionKind::kSum && site.input_of(sums) == of ? *sum->reduced_axes() : 0;
}

/// Whether x is y less y's greatest element already, or, as logsumexp has it, less that or 0.
bool is_shifted(const Site& site, ValueId x) {
  const Pair difference = pair_of(site, x, rows().sub);
  if (!difference) return false;
  ValueId greatest = difference.second;
  while (site.made_by<IdentityOp>(greatest)) greatest = site.input_of(greatest);
  if (site.made_by(greatest, *rows().where)) greatest = site.input_of(greatest, 2);
  const auto* max = site.made_by<ReduceOp>(greatest);
  return max && max->kind() == ReductionKind::kMax && site.input_of(greatest) == difference.first;
}

/// The greatest of each row, of a row without elements -inf.
Variable greatest_of(const Variable& x, std::uint32_t axes) { return std::make_shared<const ReduceOp>(ReductionKind::kMax, axes, true)->apply(std::span(&x, 1), {}).output(); }

/// log(sum(exp(x))) with the greatest taken out first; infinities stay where they are.
Variable to_logsumexp(Site& site) {
  ValueId sums = site.input(0);
  const auto* view = site.made_by<DimShuffleOp>(sums);
  if (view) sums = site.input_of(sums);
  const auto* sum = site.made_by<ReduceOp>(sums);
  if (!sum || sum->kind() != ReductionKind::kSum) return {};
  const ValueId x = exponent(site, site.input_of(sums));
  if (!are_floats(site, x, site.output()) || is_shifted(site, x)) return {};
  const std::uint32_t axes = *sum->reduced_axes();
  const DType dtype = site.type(x).dtype;
  const Variable wide = cast(site.operand(x), is_half(dtype) ? float32 : dtype), greatest = greatest_of(wide, axes);
  const Variable shift = where(isinf(greatest), 0.0, greatest);
  Variable result = cast(add(log(reduce(ReductionKind::kSum, exp(sub(wide, shift)), axes, {})), shift), dtype);
  if (view) result = dimshuffle(result, std::vector<int>(view->pattern().begin(), view->pattern().end()));
  return if_fits(site, result);
}

Variable softmax_of(const Variable& x, std::uint32_t axes) {
  const DType dtype = x.dtype();
  const Variable wide = cast(x, is_half(dtype) ? float32 : dtype), exps = exp(sub(wide, greatest_of(wide, axes)));
  return cast(true_div(exps, reduce(ReductionKind::kSum, exps, axes, {})), dtype);
}

/// What the softmax is multiplied by where the value times `exps` is such a product: g / sum(exps), or sum(-g / sum(exps)) along the same axes, of
/// which only the sign and g's sum stay. Empty: it is none.
struct SoftmaxFactor {
  std::uint32_t axes = 0;
  Variable factor;
};
SoftmaxFactor softmax_factor(Site& site, ValueId value, ValueId exps) {
  // Of a sum over all axes, which is a number: they are put back behind the division.
  if (const auto* view = site.made_by<DimShuffleOp>(value); view && site.type(site.input_of(value)).rank() == 0) {
    const Pair quotient = pair_of(site, site.input_of(value), rows().true_div);
    if (!quotient || !has_one_dtype(site, quotient.first, value) || !site.made_by<DimShuffleOp>(quotient.second)) return {};
    return {summed_axes(site, site.input_of(quotient.second), exps), dimshuffle(site.operand(quotient.first), std::vector<int>(view->pattern().begin(), view->pattern().end()))};
  }
  if (const ValueId sums = inside(site, value, rows().reciprocal); sums != ValueId::kNone) return {summed_axes(site, sums, exps), number(1, site.type(value).dtype)};
  if (const Pair quotient = pair_of(site, value, rows().true_div); quotient && has_one_dtype(site, quotient.first, value)) return {summed_axes(site, quotient.second, exps), site.operand(quotient.first)};
  const auto* sum = site.made_by<ReduceOp>(value);
  if (!sum || sum->kind() != ReductionKind::kSum) return {};
  const ValueId negated = inside(site, site.input_of(value), rows().neg), each = negated == ValueId::kNone ? site.input_of(value) : negated;
  const Pair quotient = pair_of(site, each, rows().true_div);
  if (!quotient || !(site.type(quotient.first) == site.type(each)) || summed_axes(site, quotient.second, exps) != *sum->reduced_axes()) return {};
  const Variable g = site.operand(quotient.first);
  return {*sum->reduced_axes(), reduce(ReductionKind::kSum, negated == ValueId::kNone ? g : neg(g), *sum->reduced_axes(), {})};
}

/// exp(x) / sum(exp(x)); and exp(x) times what softmax_factor knows, which gradients have.
Variable to_softmax(Site& site) {
  const ValueId out = site.output();
  if (const Pair quotient = pair_of(site, out, rows().true_div)) {
    const ValueId x = exponent(site, quotient.first);
    const std::uint32_t axes = summed_axes(site, quotient.second, quotient.first);
    return x == ValueId::kNone || axes == 0 || is_shifted(site, x) ? Variable() : made_of(site, x, [&](const Variable& v) { return softmax_of(v, axes); });
  }
  for (const Pair& operands : {pair_of(site, out, rows().mul), pair_of(site, out, rows().mul).swapped()}) {
    const ValueId x = exponent(site, operands.first);
    if (x == ValueId::kNone || is_shifted(site, x)) continue;
    const auto known = [&](ValueId value) -> Variable {
      const Pair fill = pair_of(site, value, rows().second);
      const SoftmaxFactor factor = softmax_factor(site, fill && fill.first == operands.first ? fill.second : value, operands.first);
      return factor.axes == 0 ? Variable() : mul(softmax_of(site.operand(x), factor.axes), factor.factor);
    };
    if (const Variable made = product_with(site, operands.second, operands.first, known)) return if_fits(site, made);
  }
  return {};
}

/// x and the sums where the value is exp(x) / sum(exp(x)).
Pair softmax_parts(const Site& site, ValueId value) {
  const Pair quotient = pair_of(site, value, rows().true_div);
  if (!quotient || summed_axes(site, quotient.second, quotient.first) == 0) return {};
  return {exponent(site, quotient.first), quotient.second};
}

/// log(exp(x) / sum(exp(x))) is x - log(sum(exp(x))). A 16-bit softmax is computed in float32, and so is its logarithm.
Variable to_log_softmax(Site& site) {
  const auto* narrow = site.made_by<ElementwiseOp>(site.input(0));
  const bool casts = narrow && narrow->cast_to() && is_half(*narrow->cast_to());
  const Pair parts = softmax_parts(site, casts ? site.input_of(site.input(0)) : site.input(0));
  if (!parts) return {};
  return if_fits(site, cast(sub(site.operand(parts.first), log(site.operand(parts.second))), site.type(site.output()).dtype));
}

/// x of x less its greatest, else the value itself.
ValueId unshifted(const Site& site, ValueId x) { return x != ValueId::kNone && is_shifted(site, x) ? pair_of(site, x, rows().sub).first : x; }

/// g of (g / p) / s, where p is the softmax e / s, perhaps in its stable form already.
ValueId divided_by_softmax(const Site& site, ValueId value, ValueId e) {
  const Pair outer = pair_of(site, value, rows().true_div), inner = outer ? pair_of(site, outer.first, rows().true_div) : Pair(), softmax = inner ? pair_of(site, inner.second, rows().true_div) : Pair();
  if (!softmax || !softmax_parts(site, inner.second)) return ValueId::kNone;
  const std::uint32_t axes = summed_axes(site, outer.second, e);
  const bool is_same = unshifted(site, exponent(site, softmax.first)) == unshifted(site, exponent(site, e)) && summed_axes(site, softmax.second, softmax.first) == axes;
  return axes != 0 && is_same ? inner.first : ValueId::kNone;
}

/// (g / p) p is g, and ((g / p) / s + r) e is g + r e, where p is the softmax e / s: what the gradient of log(p) multiplies, 0 / 0 where p is 0.
Variable drop_softmax_quotient(Site& site) {
  for (const Pair& operands : {pair_of(site, site.output(), rows().mul), pair_of(site, site.output(), rows().mul).swapped()}) {
    const ValueId e = operands.first;
    const auto in_shape = [&](ValueId g) { return second(site.operand(e), site.operand(g)); };
    const Pair quotient = pair_of(site, operands.second, rows().true_div);
    if (quotient && quotient.second == e && softmax_parts(site, e)) return if_fits(site, in_shape(quotient.first));
    if (const ValueId g = divided_by_softmax(site, operands.second, e); g != ValueId::kNone) return if_fits(site, in_shape(g));
    for (const Pair& terms : {pair_of(site, operands.second, rows().add), pair_of(site, operands.second, rows().add).swapped()}) {
      const ValueId g = terms ? divided_by_softmax(site, terms.first, e) : ValueId::kNone;
      if (g != ValueId::kNone) return if_fits(site, add(in_shape(g), mul(site.operand(terms.second), site.operand(e))));
    }
  }
  return {};
}

/// Both orders of the operands, or no operands.
std::array<Pair, 2> orders_of(const Site& site, ValueId value, const OpPtr& op) { return {pair_of(site, value, op), pair_of(site, value, op).swapped()}; }

/// What fills the shape of another value, or the value itself: the shape is that of an operand beside it.
ValueId unfilled(const Site& site, ValueId value, ValueId shape) {
  const Pair fill = pair_of(site, value, rows().second);
  return fill && fill.first == shape ? fill.second : value;
}

/// What is summed along these axes; kNone where the value is no such sum.
ValueId summed(const Site& site, ValueId value, std::uint32_t axes) {
  const auto* sum = site.made_by<ReduceOp>(value);
  return sum && sum->kind() == ReductionKind::kSum && *sum->reduced_axes() == axes ? site.input_of(value) : ValueId::kNone;
}

/// (g / s + sum(-(g p) / s)) e, which the gradient of a softmax p = e / s is, is (g - sum(g p)) p: an element is divided once. |sum(g p)| is no greater than the greatest |g|, so that nothing overflows.
Variable to_softmax_gradient(Site& site) {
  for (const Pair& factors : orders_of(site, site.output(), rows().mul)) {
    const ValueId e = factors.second, x = factors ? exponent(site, e) : ValueId::kNone;
    if (x == ValueId::kNone || !is_shifted(site, x)) continue;
    for (const Pair& terms : orders_of(site, factors.first, rows().add)) {
      const Pair quotient = terms ? pair_of(site, terms.first, rows().true_div) : Pair();
      const std::uint32_t axes = quotient ? summed_axes(site, quotient.second, e) : 0;
      if (axes == 0 || !are_floats(site, quotient.first, e)) continue;
      const ValueId negated = summed(site, unfilled(site, terms.second, e), axes), each = negated == ValueId::kNone ? negated : inside(site, negated, rows().neg);
      const Pair shares = each == ValueId::kNone ? Pair() : pair_of(site, each, rows().true_div);
      if (!shares || shares.second != quotient.second) continue;
      for (const Pair& weighted : orders_of(site, shares.first, rows().mul)) {
        const Pair p = weighted && weighted.first == quotient.first ? pair_of(site, weighted.second, rows().true_div) : Pair();
        if (!p || p.first != e || p.second != quotient.second) continue;
        const Variable g = site.operand(quotient.first), softmax = site.operand(weighted.second);
        return if_fits(site, mul(sub(g, reduce(ReductionKind::kSum, mul(g, softmax), axes, {})), softmax));
      }
    }
  }
  return {};
}

/// The axes along which the value is (g - sum(g p)) p with a softmax p of x less its greatest; 0: it is none.
std::uint32_t axes_of_softmax_gradient(const Site& site, ValueId value, ValueId x) {
  for (const Pair& factors : orders_of(site, value, rows().mul)) {
    const Pair difference = factors ? pair_of(site, factors.first, rows().sub) : Pair(), p = difference ? softmax_parts(site, factors.second) : Pair();
    if (!p || p.first == ValueId::kNone || !is_shifted(site, p.first) || unshifted(site, p.first) != x) continue;
    const std::uint32_t axes = summed_axes(site, p.second, pair_of(site, factors.second, rows().true_div).first);
    const ValueId each = summed(site, difference.second, axes);
    for (const Pair& weighted : each == ValueId::kNone ? std::array<Pair, 2>() : orders_of(site, each, rows().mul)) {
      if (weighted.first == difference.first && weighted.second == factors.second) return axes;
    }
  }
  return 0;
}

/// What is cast, or the value itself.
ValueId uncast(const Site& site, ValueId value) {
  const auto* op = site.made_by<ElementwiseOp>(value);
  return op && op->cast_to() ? site.input_of(value) : value;
}

/// u + (sum(-u) / ties) (x == max(x)) is u, where u is the gradient of a softmax by its exponents: these are x less its greatest, which changes no softmax, so that u's sum is 0.
Variable drop_softmax_shift(Site& site) {
  for (const Pair& terms : orders_of(site, site.output(), rows().add)) {
    for (const Pair& factors : orders_of(site, uncast(site, terms.second), rows().mul)) {
      const Pair is_greatest = factors ? pair_of(site, uncast(site, factors.second), rows().eq) : Pair(), share = is_greatest ? pair_of(site, uncast(site, unfilled(site, factors.first, is_greatest.first)), rows().true_div) : Pair();
      const std::uint32_t axes = share ? axes_of_softmax_gradient(site, terms.first, is_greatest.first) : 0;
      const auto* max = axes == 0 ? nullptr : site.made_by<ReduceOp>(is_greatest.second);
      if (!max || max->kind() != ReductionKind::kMax || site.input_of(is_greatest.second) != is_greatest.first || *max->reduced_axes() != axes) continue;
      const ValueId negated = summed(site, uncast(site, share.first), axes);
      if (negated == ValueId::kNone || inside(site, negated, rows().neg) != terms.first || summed(site, uncast(site, share.second), axes) != factors.second) continue;
      return if_fits(site, terms.first);
    }
  }
  return {};
}

}  // namespace

std::vector<Rule> stability_rules() {
  const RowOps& row = rows();
  return {
      {.name = "to_log1p", .ops = {row.log}, .reads = is_one_of({row.add, row.sub}), .rewrite = to_log1p},
      {.name = "to_expm1", .ops = {row.sub, row.add}, .reads = is_one_of({row.exp}), .rewrite = to_expm1},
      {.name = "to_softplus", .ops = {row.log1p}, .reads = is_one_of({row.exp, row.neg}), .rewrite = to_softplus},
      {.name = "to_log_of_inverse", .ops = {row.log}, .reads = is_one_of({row.exp, row.sigmoid, row.sub}), .rewrite = to_log_of_inverse},
      {.name = "to_logaddexp", .ops = {row.log}, .reads = is_one_of({row.add}), .rewrite = to_logaddexp},
      {.name = "to_sigmoid", .ops = {row.reciprocal, row.true_div}, .reads = is_one_of({row.add, row.exp}), .rewrite = to_sigmoid},
      {.name = "to_sigmoid_product", .ops = {row.mul}, .reads = is_one_of({row.exp, row.mul}), .rewrite = to_sigmoid_product},
      {.name = "to_sigmoid_slope", .ops = {row.sub}, .reads = is_one_of({row.mul, row.sqr}), .rewrite = to_sigmoid_slope},
      {.name = "drop_sigmoid_quotient", .ops = {row.mul}, .reads = is_one_of({row.sigmoid, row.sub, row.mul, row.sqr}), .rewrite = drop_sigmoid_quotient},
      {.name = "to_complement", .ops = {row.sub}, .reads = is_one_of({row.erf, row.sigmoid}), .rewrite = to_complement},
      {.name = "to_logsumexp", .ops = {row.log}, .rewrite = to_logsumexp},
      {.name = "to_softmax", .ops = {row.true_div, row.mul}, .reads = is_one_of({row.exp}), .rewrite = to_softmax},
      {.name = "to_log_softmax", .ops = {row.log}, .rewrite = to_log_softmax},
      {.name = "drop_softmax_quotient", .ops = {row.mul}, .reads = is_one_of({row.true_div, row.add}), .rewrite = drop_softmax_quotient},
      {.name = "to_softmax_gradient", .ops = {row.mul}, .reads = is_one_of({row.exp}), .rewrite = to_softmax_gradient},
      {.name = "drop_softmax_shift", .ops = {row.add}, .reads = is_one_of({row.mul}), .rewrite = drop_softmax_shift},
  };
}

}  // namespace damo
