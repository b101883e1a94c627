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
Wide log_1mexp(Wide x) { return x > -0.5L ? std::log(-std::expm1(x)) : std::log1p(-std::exp(x)); }

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
    DAMO_EACH(abs, std::fabs(x), x < 0 ? -x : x),
    DAMO_EACH(sign, std::isnan(x) ? x : W(x > 0) - W(x < 0), B(x > 0) - B(x < 0)),
    DAMO_EACH(pow, power_of(x, y), power_of(x, y)),
    DAMO_STD(sqrt), DAMO_FLOATS(rsqrt, 1 / std::sqrt(x)), DAMO_STD(cbrt), DAMO_FLOATS(hypot, std::hypot(x, y)),
    DAMO_STD(exp), DAMO_STD(exp2), DAMO_STD(expm1), DAMO_STD(log), DAMO_STD(log2), DAMO_STD(log10), DAMO_STD(log1p),
    DAMO_FLOATS(log_1mexp, log_1mexp(x)),
    DAMO_STD(sin), DAMO_STD(cos), DAMO_STD(tan), DAMO_STD(asin), DAMO_STD(acos), DAMO_STD(atan),
    DAMO_FLOATS(atan2, std::atan2(x, y)), DAMO_STD(sinh), DAMO_STD(cosh), DAMO_STD(tanh), DAMO_STD(asinh),
    DAMO_STD(acosh), DAMO_STD(atanh), DAMO_FLOATS(deg2rad, x * kDegree), DAMO_FLOATS(rad2deg, x / kDegree),
    DAMO_EACH(ceil, std::ceil(x), x), DAMO_EACH(floor, std::floor(x), x), DAMO_EACH(trunc, std::trunc(x), x),
    DAMO_EACH(round_half_to_even, std::nearbyint(x), x), DAMO_EACH(round_half_away, std::round(x), x),
    DAMO_EACH(maximum, greater_of(x, y), std::max(x, y)), DAMO_EACH(minimum, lesser_of(x, y), std::min(x, y)),
    {"clip", [](W x, W y, W z) -> W { return lesser_of(greater_of(x, y), z); }, [](B x, B y, B z) -> B { return std::min(std::max(x, y), z); }},
    DAMO_BOTH(lt, x < y), DAMO_BOTH(le, x <= y), DAMO_BOTH(gt, x > y), DAMO_BOTH(ge, x >= y), DAMO_BOTH(eq, x == y),
    DAMO_BOTH(neq, x != y), DAMO_EACH(isnan, std::isnan(x), 0), DAMO_EACH(isinf, std::isinf(x), 0),
    DAMO_INTEGERS(and_, x & y), DAMO_INTEGERS(or_, x | y), DAMO_INTEGERS(xor_, x ^ y), DAMO_INTEGERS(invert, -x - 1),
    DAMO_BOTH(where, x != 0 ? y : z),
    DAMO_FLOATS(sigmoid, sigmoid(x)), DAMO_FLOATS(softplus, x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x))),
    DAMO_STD(erf), DAMO_STD(erfc), DAMO_BOTH(relu, x < 0 ? 0 : x),
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
