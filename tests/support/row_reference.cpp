#include "support/row_reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace damo::testing {
namespace {

__extension__ typedef unsigned __int128 BigWord;

Wide sigmoid(Wide x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }

Wide remainder_of(Wide x, Wide y) {
  const Wide r = std::fmod(x, y);
  if (r == 0) return std::copysign(0.0L, y);
  return (r < 0) != (y < 0) ? r + y : r;
}
Wide floor_of_quotient(Wide x, Wide y) {
  if (y == 0 || x == 0) return x / y;
  const Wide r = std::fmod(x, y), q = std::round((x - r) / y);
  if (r != 0 && (r < 0) != (y < 0)) return q - 1;
  return q == 0 ? std::copysign(0.0L, x * y) : q;
}
Wide greater_of(Wide x, Wide y) { return std::isnan(x) || x > y ? x : y; }
Wide lesser_of(Wide x, Wide y) { return std::isnan(x) || x < y ? x : y; }
Wide log1mexp(Wide x) { return x > -0.5L ? std::log(-std::expm1(x)) : std::log1p(-std::exp(x)); }

Big floor_of_quotient(Big x, Big y) {
  if (y == 0) return 0;
  const Big q = x / y;
  return q * y != x && (x < 0) != (y < 0) ? q - 1 : q;
}
/// powl of glibc 2.36 takes the exponent -2^63 for one that is no even integer. Its double gives the same infinities and
/// zeros, and of anything else a number that no dtype holds.
Wide power_of(Wide x, Wide y) { return std::pow(x, y == -0x1p63L ? 2 * y : y); }
Big power_of(Big x, Big y) {
  if (y < 0) return x == 1 || (x == -1 && y % 2 == 0) ? 1 : x == -1 ? -1 : 0;
  if (y == 0) return 1;
  const BigWord half = BigWord(power_of(x, y / 2));
  return Big(half * half * (y % 2 ? BigWord(x) : BigWord(1)));
}

constexpr Wide kInfinity = std::numeric_limits<Wide>::infinity(), kNan = std::numeric_limits<Wide>::quiet_NaN(), kPi = 3.14159265358979323846264338327950288L;

/// The square's rounding would be multiplied by x^2; far out the asymptotic series.
Wide scaled_erfc(Wide x) {
  if (x < -100) return kInfinity;
  const Wide square = x * x, rest = std::fma(x, x, -square);
  if (x < 100) return std::exp(square) * (1 + rest) * std::erfc(x);
  return 1 / (x * std::sqrt(kPi)) * (1 - 1 / (2 * x * x) * (1 - 3 / (2 * x * x) * (1 - 5 / (2 * x * x) * (1 - 7 / (2 * x * x)))));
}

/// Newton's method on log(erfc(y)), which is concave, from above: x up to 1.
Wide inverse_of_erf(Wide x);
Wide inverse_of_erfc(Wide x) {
  if (!(x >= 0 && x <= 2)) return kNan;
  if (x == 0 || x == 2) return x == 0 ? kInfinity : -kInfinity;
  if (x > 1) return -inverse_of_erfc(2 - x);
  if (x > 0.75L) return inverse_of_erf(1 - x);
  Wide y = std::sqrt(-std::log(x));
  for (int i = 0; i < 60; ++i) {
    const Wide value = std::erfc(y), slope = 2 / std::sqrt(kPi) * std::exp(-y * y) / value;
    y += std::log(value / x) / slope;
  }
  return y;
}
Wide inverse_of_erf(Wide x) {
  if (std::fabs(x) > 0.25L) return x < 0 ? -inverse_of_erfc(1 + x) : inverse_of_erfc(1 - x);
  Wide y = x * std::sqrt(kPi) / 2;
  for (int i = 0; i < 8 && x != 0; ++i) y -= (std::erf(y) - x) * std::sqrt(kPi) / 2 * std::exp(y * y);
  return y;
}

/// By what it differs from 0 at its root, term by term; behind 40 terms by the asymptotic series of both.
Wide digamma(Wide x) {
  if (std::isnan(x) || x == -kInfinity || (x < 0 && x == std::floor(x))) return kNan;
  if (x == 0) return std::copysign(kInfinity, -x);
  if (x < 0) return digamma(1 - x) - kPi / std::tan(kPi * (x - std::nearbyint(x)));
  const Wide root = 1.461632144968362341262659542325721328L, distance = x - root;
  const auto rest = [](Wide y) { return -1 / (2 * y) - (1 / 12.0L - (1 / 120.0L - (1 / 252.0L - 1 / (240 * y * y)) / (y * y)) / (y * y)) / (y * y); };
  if (x > 40) return std::log(x) + rest(x);
  Wide sum = 0;
  for (int k = 0; k < 40; ++k) sum += distance / ((x + k) * (root + k));
  return sum + std::log1p(distance / (root + 40)) + (rest(x + 40) - rest(root + 40));
}

/// sum over k of 1 / (x + k)^s: 200 terms and Euler and Maclaurin's formula.
Wide hurwitz_zeta(int s, Wide x) {
  Wide sum = 0;
  for (int k = 199; k >= 0; --k) sum += std::pow(x + k, static_cast<Wide>(-s));
  const Wide w = x + 200, power = std::pow(w, static_cast<Wide>(-s));
  return sum + power * (w / (s - 1) + 0.5L + s / (12 * w) - s * (s + 1.0L) * (s + 2) / (720 * w * w * w) + s * (s + 1.0L) * (s + 2) * (s + 3) * (s + 4) / (30240 * w * w * w * w * w));
}
Wide polygamma(Wide n, Wide x) {
  if (!(n >= 0 && n <= 170 && n == std::floor(n)) || std::isnan(x)) return kNan;
  if (n == 0) return digamma(x);
  const int order = static_cast<int>(n);
  const Wide sign = order % 2 ? 1 : -1, factorial = std::tgamma(n + 1);
  const auto terms = [&](Wide y) { return factorial * hurwitz_zeta(order + 1, y); };
  if (x > 0) return x == kInfinity ? sign * 0 : sign * terms(x);
  if (x == -kInfinity) return kNan;
  const Wide below = std::floor(x);
  return x == below ? sign * kInfinity : sign * terms(x - below) + (terms(std::ceil(x) - x) - terms(1 - x));
}

Big shifted_left(Big x, Big y) { return y < 0 || y >= 64 ? 0 : Big(BigWord(x) << y); }
Big shifted_right(Big x, Big y) { return x >> (y < 0 || y >= 64 ? 64 : y); }

using W = Wide;
using B = Big;
constexpr W kDegree = 0.01745329251994329576923690768488612713L;

#define DAMO_BOTH(row, ...)                                                                                                                                \
  {                                                                                                                                                        \
#row, [](W x, W y, W z) -> W { (void)x, (void)y, (void)z; return __VA_ARGS__; }, [](B x, B y, B z) -> B { (void)x, (void)y, (void)z; return __VA_ARGS__; } \
  }
#define DAMO_EACH(row, floats, integers)                                                                                     \
  {                                                                                                                          \
#row, [](W x, W y, W) -> W { (void)x, (void)y; return floats; }, [](B x, B y, B) -> B { (void)x, (void)y; return integers; } \
  }
#define DAMO_FLOATS(row, ...)                                        \
  {                                                                  \
#row, [](W x, W y, W) -> W { (void)y; return __VA_ARGS__; }, nullptr \
  }
#define DAMO_INTEGERS(row, ...)                                      \
  {                                                                  \
#row, nullptr, [](B x, B y, B) -> B { (void)y; return __VA_ARGS__; } \
  }
#define DAMO_STD(row) DAMO_FLOATS(row, std::row(x))

// clang-format off
const RowReference kReferences[] = {
    DAMO_BOTH(add, x + y), DAMO_BOTH(sub, x - y), DAMO_BOTH(neg, -x), DAMO_BOTH(identity, x), DAMO_BOTH(second, y),
    // Unsigned, since the square of the greatest uint64 is above 2^127.
    DAMO_EACH(mul, x * y, B(static_cast<BigWord>(x) * static_cast<BigWord>(y))),
    DAMO_EACH(sqr, x * x, B(static_cast<BigWord>(x) * static_cast<BigWord>(x))),
    DAMO_FLOATS(true_div, x / y), DAMO_FLOATS(reciprocal, 1 / x),
    DAMO_BOTH(int_div, floor_of_quotient(x, y)),
    DAMO_EACH(mod, remainder_of(x, y), y == 0 ? 0 : x - y * floor_of_quotient(x, y)),
    DAMO_EACH(fmod, std::fmod(x, y), y == 0 ? 0 : x % y), DAMO_FLOATS(copysign, std::copysign(x, y)),
    DAMO_EACH(abs, std::fabs(x), x < 0 ? -x : x),
    DAMO_EACH(sign, std::isnan(x) ? x : W(x > 0) - W(x < 0), B(x > 0) - B(x < 0)),
    DAMO_EACH(pow, power_of(x, y), power_of(x, y)),
    DAMO_STD(sqrt), DAMO_FLOATS(rsqrt, 1 / std::sqrt(x)), DAMO_STD(cbrt), DAMO_FLOATS(hypot, std::hypot(x, y)),
    DAMO_STD(exp), DAMO_STD(exp2), DAMO_STD(expm1), DAMO_STD(log), DAMO_STD(log2), DAMO_STD(log10), DAMO_STD(log1p),
    DAMO_FLOATS(log1mexp, log1mexp(x)),
    DAMO_STD(sin), DAMO_STD(cos), DAMO_STD(tan), DAMO_STD(asin), DAMO_STD(acos), DAMO_STD(atan),
    DAMO_FLOATS(atan2, std::atan2(x, y)), DAMO_STD(sinh), DAMO_STD(cosh), DAMO_STD(tanh), DAMO_STD(asinh),
    DAMO_STD(acosh), DAMO_STD(atanh), DAMO_FLOATS(deg2rad, x * kDegree), DAMO_FLOATS(rad2deg, x / kDegree),
    DAMO_EACH(ceil, std::ceil(x), x), DAMO_EACH(floor, std::floor(x), x), DAMO_EACH(trunc, std::trunc(x), x),
    DAMO_EACH(round_half_to_even, std::nearbyint(x), x), DAMO_EACH(round_half_away, std::round(x), x),
    DAMO_EACH(maximum, greater_of(x, y), std::max(x, y)), DAMO_EACH(minimum, lesser_of(x, y), std::min(x, y)),
    {"clip", [](W x, W y, W z) -> W { return lesser_of(greater_of(x, y), z); }, [](B x, B y, B z) -> B { return std::min(std::max(x, y), z); }},
    DAMO_BOTH(lt, x < y), DAMO_BOTH(le, x <= y), DAMO_BOTH(gt, x > y), DAMO_BOTH(ge, x >= y), DAMO_BOTH(eq, x == y),
    DAMO_BOTH(neq, x != y), DAMO_EACH(isnan, std::isnan(x), 0), DAMO_EACH(isinf, std::isinf(x), 0),
    DAMO_EACH(isfinite, std::isfinite(x), 1), DAMO_EACH(signbit, std::signbit(x), x < 0),
    DAMO_BOTH(logical_and, x != 0 && y != 0), DAMO_BOTH(logical_or, x != 0 || y != 0), DAMO_BOTH(logical_xor, (x != 0) != (y != 0)), DAMO_BOTH(logical_not, x == 0),
    DAMO_INTEGERS(left_shift, shifted_left(x, y)), DAMO_INTEGERS(right_shift, shifted_right(x, y)),
    DAMO_INTEGERS(and_, x & y), DAMO_INTEGERS(or_, x | y), DAMO_INTEGERS(xor_, x ^ y), DAMO_INTEGERS(invert, -x - 1),
    DAMO_BOTH(where, x != 0 ? y : z),
    DAMO_FLOATS(sigmoid, sigmoid(x)), DAMO_FLOATS(softplus, x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x))),
    DAMO_STD(erf), DAMO_STD(erfc), DAMO_FLOATS(erfcx, scaled_erfc(x)), DAMO_FLOATS(erfinv, inverse_of_erf(x)),
    DAMO_FLOATS(erfcinv, inverse_of_erfc(x)), DAMO_FLOATS(gamma, std::tgamma(x)), DAMO_FLOATS(gammaln, std::lgamma(x)), DAMO_FLOATS(psi, digamma(x)),
    DAMO_FLOATS(trigamma, x < 0 && x == std::floor(x) && !std::isinf(x) ? kInfinity : polygamma(1, x)), DAMO_FLOATS(polygamma, polygamma(x, y)),
    DAMO_FLOATS(silu, x * sigmoid(x)), DAMO_BOTH(relu, x < 0 ? 0 : x),
    DAMO_FLOATS(gelu, x * (std::erfc(-x / std::sqrt(2.0L)) / 2)),
    DAMO_FLOATS(elu, x > 0 ? x : std::expm1(x)),
    DAMO_FLOATS(gelu_tanh, x * sigmoid(1.5957691216057307117597842397375L * (x + 0.044715L * x * x * x))),
    DAMO_FLOATS(selu, 1.0507009873554804934193349852946L * (x > 0 ? x : 1.6732632423543772848170429916717L * std::expm1(x))),
    DAMO_FLOATS(hard_sigmoid, x < -3 ? 0 : x > 3 ? 1 : (x + 3) / 6), DAMO_FLOATS(softsign, x / (1 + std::fabs(x)))};
// clang-format on

}  // namespace

const RowReference* reference_of(std::string_view row) {
  const auto* found = std::find_if(std::begin(kReferences), std::end(kReferences),
                                   [&](const RowReference& r) { return r.name == row; });
  return found == std::end(kReferences) ? nullptr : found;
}

}  // namespace damo::testing
