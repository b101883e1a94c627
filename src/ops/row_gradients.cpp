// One line a row, in order of damo/ops/rows.inc: g is the output's gradient, x, y, z are the inputs in the output's
// dtype, out is the output. Where a function has a kink the gradient is that of one side, said beside the row; where it
// has steps the gradient is 0.
#include "ops/row_gradients.hpp"

#include <damo/ops/math.hpp>

namespace damo::row_gradients {
namespace {

Variable zero_like(const Variable& x) { return second(x, 0.0); }
Gradient none() { return Gradient::disconnected(); }

}  // namespace

// Calls of rows inside the rules find damo's functions by the type of their operands.
#define DAMO_RULE(row, ...)                                                                                 \
  Gradients row([[maybe_unused]] const Variable& g, std::span<const Variable> in, const Variable& output) { \
    [[maybe_unused]] const Variable &x = in[0], &y = in[in.size() > 1 ? 1 : 0], &z = in[in.size() - 1];     \
    [[maybe_unused]] const Variable& out = output;                                                          \
    return {__VA_ARGS__};                                                                                   \
  }

// clang-format off: it takes g * y for a declaration
// Arithmetic.
DAMO_RULE(add, g, g)
DAMO_RULE(sub, g, -g)
DAMO_RULE(mul, g * y, g * x)
DAMO_RULE(true_div, g / y, -(g * out / y))
DAMO_RULE(int_div, zero_like(x), zero_like(y))
DAMO_RULE(mod, g, -(g * int_div(x, y)))
DAMO_RULE(fmod, g, -(g * round_half_to_even((x - out) / y)))
DAMO_RULE(neg, -g)
DAMO_RULE(abs, g * sign(x))  // at 0: 0
DAMO_RULE(sign, zero_like(x))
// At x = 0: the side on which its sign puts it. NaN's sign is not the same on all machines: NaN, as of abs.
DAMO_RULE(copysign, where(isnan(x), x, where(logical_xor(signbit(x), signbit(y)), -g, g)), zero_like(y))
DAMO_RULE(reciprocal, -(g * sqr(out)))
DAMO_RULE(sqr, g * (2.0 * x))

// Powers and roots. The factors that are 0 win over infinities beside them: x^0 has the gradient 0 at x = 0 too. What where() leaves out is finite there, for its
// gradient, the second one by x and y, is multiplied with 0: 0 times infinity would be NaN.
DAMO_RULE(pow, where(eq(y, 0.0), 0.0, g * y * pow(x, where(eq(y, 0.0), 1.0, y - 1.0))), where(eq(x, 0.0), 0.0, g * out * log(where(eq(x, 0.0), 1.0, x))))
DAMO_RULE(sqrt, g * 0.5 / out)
DAMO_RULE(rsqrt, g * -0.5 * out * sqr(out))
DAMO_RULE(cbrt, g / (3.0 * sqr(out)))
DAMO_RULE(hypot, where(eq(out, 0.0), 0.0, g * (x / where(eq(out, 0.0), 1.0, out))), where(eq(out, 0.0), 0.0, g * (y / where(eq(out, 0.0), 1.0, out))))  // at (0, 0): 0

// Exponentials and logarithms.
DAMO_RULE(exp, g * out)
DAMO_RULE(exp2, g * out * 0.6931471805599453)
DAMO_RULE(expm1, g * exp(x))
DAMO_RULE(log, g / x)
DAMO_RULE(log2, g * 1.4426950408889634 / x)
DAMO_RULE(log10, g * 0.4342944819032518 / x)
DAMO_RULE(log1p, g / (1.0 + x))
DAMO_RULE(log1mexp, -(g / expm1(-x)))

// Trigonometry and its hyperbolic kin.
DAMO_RULE(sin, g * cos(x))
DAMO_RULE(cos, -(g * sin(x)))
DAMO_RULE(tan, g * (1.0 + sqr(out)))
DAMO_RULE(asin, g * rsqrt((1.0 - x) * (1.0 + x)))
DAMO_RULE(acos, -(g * rsqrt((1.0 - x) * (1.0 + x))))
DAMO_RULE(atan, g / (1.0 + sqr(x)))
DAMO_RULE(atan2, g * y / (sqr(x) + sqr(y)), -(g * x / (sqr(x) + sqr(y))))  // x is the ordinate
DAMO_RULE(sinh, g * cosh(x))
DAMO_RULE(cosh, g * sinh(x))
DAMO_RULE(tanh, g * (1.0 - sqr(out)))
DAMO_RULE(asinh, g / hypot(x, 1.0))  // x^2 may leave the range where x does not
DAMO_RULE(acosh, g * (rsqrt(x - 1.0) * rsqrt(x + 1.0)))
DAMO_RULE(atanh, g / ((1.0 - x) * (1.0 + x)))
DAMO_RULE(deg2rad, g * 0.017453292519943295)
DAMO_RULE(rad2deg, g * 57.29577951308232)

// Rounding.
DAMO_RULE(ceil, zero_like(x))
DAMO_RULE(floor, zero_like(x))
DAMO_RULE(trunc, zero_like(x))
DAMO_RULE(round_half_to_even, zero_like(x))
DAMO_RULE(round_half_away, zero_like(x))

// The greater, the lesser. Of two equal inputs the first has the gradient; of x on a bound of clip, x.
DAMO_RULE(maximum, where(ge(x, y), g, 0.0), where(ge(x, y), 0.0, g))
DAMO_RULE(minimum, where(le(x, y), g, 0.0), where(le(x, y), 0.0, g))
DAMO_RULE(clip, where(ge(x, y) & le(x, z), g, 0.0), where(lt(x, y) & le(y, z), g, 0.0),
          where(gt(maximum(x, y), z), g, 0.0))

// Bools have no gradient, and nothing is behind them.
DAMO_RULE(lt, none(), none())
DAMO_RULE(le, none(), none())
DAMO_RULE(gt, none(), none())
DAMO_RULE(ge, none(), none())
DAMO_RULE(eq, none(), none())
DAMO_RULE(neq, none(), none())
DAMO_RULE(isnan, none())
DAMO_RULE(isinf, none())
DAMO_RULE(isfinite, none())
DAMO_RULE(signbit, none())
DAMO_RULE(logical_and, none(), none())
DAMO_RULE(logical_or, none(), none())
DAMO_RULE(logical_xor, none(), none())
DAMO_RULE(logical_not, none())

// Logic, of integers and bools.
DAMO_RULE(and_, none(), none())
DAMO_RULE(or_, none(), none())
DAMO_RULE(xor_, none(), none())
DAMO_RULE(invert, none())
DAMO_RULE(left_shift, none(), none())
DAMO_RULE(right_shift, none(), none())

// Choice.
DAMO_RULE(where, none(), where(x, g, 0.0), where(x, 0.0, g))
DAMO_RULE(second, none(), g)
DAMO_RULE(identity, g)

// Error functions, gamma and its kin.
DAMO_RULE(erf, g * (1.1283791670955126 * exp(-sqr(x))))
DAMO_RULE(erfc, g * (-1.1283791670955126 * exp(-sqr(x))))
Gradients erfcx(const Variable& g, std::span<const Variable> in, const Variable& out) {
  // 2 x out - 2 / sqrt(pi), whose terms cancel where x is large: from there on the asymptotic series, -t (1 - 3 t (1 - 5 t (...))) 2 / sqrt(pi).
  const Variable& x = in[0];
  const double begin = x.dtype() == float64 ? 10 : 5;  // 14 terms are exact there
  const Variable t = 0.5 / sqr(maximum(x, begin));
  Variable series = 1.0 - 27.0 * t;
  for (double k = 25; k >= 3; k -= 2) series = 1.0 - k * t * series;
  return {g * where(gt(x, begin), -1.1283791670955126 * t * series, 2.0 * x * out - 1.1283791670955126)};
}
DAMO_RULE(erfinv, g * (0.886226925452758 * exp(sqr(out))))
DAMO_RULE(erfcinv, g * (-0.886226925452758 * exp(sqr(out))))
DAMO_RULE(gamma, g * out * psi(x))
DAMO_RULE(gammaln, g * psi(x))
DAMO_RULE(psi, g * trigamma(x))
DAMO_RULE(trigamma, g * polygamma(2.0, x))
DAMO_RULE(polygamma, zero_like(x), g * polygamma(x + 1.0, y))  // the order has none

// Functions of machine learning and statistics. relu, elu and selu at 0: the gradient of the negative side.
DAMO_RULE(sigmoid, g * out * (1.0 - out))
DAMO_RULE(softplus, g * sigmoid(x))
DAMO_RULE(relu, where(gt(out, 0.0), g, 0.0))  // of the result, so that what was under it need not be kept
DAMO_RULE(gelu, g * (0.5 * erfc(x * -0.7071067811865476) + 0.3989422804014327 * x * exp(-0.5 * sqr(x))))
Gradients gelu_tanh(const Variable& g, std::span<const Variable> in, const Variable&) {
  const Variable& x = in[0];
  const Variable share = sigmoid(1.5957691216057308 * x * (1.0 + 0.044715 * sqr(x)));
  return {g * (share + x * share * (1.0 - share) * (1.5957691216057308 * (1.0 + 0.134145 * sqr(x))))};
}
Gradients silu(const Variable& g, std::span<const Variable> in, const Variable& out) {
  const Variable share = sigmoid(in[0]);
  return {g * (share + out * (1.0 - share))};
}
DAMO_RULE(elu, where(gt(x, 0.0), g, g * exp(x)))
DAMO_RULE(selu, where(gt(x, 0.0), 1.0507009873554805 * g, 1.7580993408473768 * g * exp(x)))
DAMO_RULE(hard_sigmoid, where(gt(x, -3.0) & lt(x, 3.0), g / 6.0, 0.0))
DAMO_RULE(softsign, g / sqr(1.0 + abs(x)))

// clang-format on
#undef DAMO_RULE

}  // namespace damo::row_gradients
