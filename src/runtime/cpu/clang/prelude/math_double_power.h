// Powers, roots, inverse hyperbolic functions, double: those that need a logarithm or a root in two parts.
// See math_support.h for the rules.
#pragma once
#include "math_double.h"
#include "math_float_wide.h"  // pow_ends
DAMO_EXACT_BEGIN

namespace damo {
namespace math {

DAMO_MATH Pair<double> multiply(Pair<double> a, Pair<double> b) {
  const Pair<double> p = two_product(a.hi, b.hi);
  return fast_two_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}
DAMO_MATH Pair<double> add(Pair<double> a, Pair<double> b) {
  const Pair<double> s = two_sum(a.hi, b.hi);
  return fast_two_sum(s.hi, s.lo + (a.lo + b.lo));
}
DAMO_MATH Pair<double> square_root(Pair<double> a) {
  const double s = __builtin_sqrt(a.hi);
  const Pair<double> p = two_product(s, s);
  return {s, s == 0.0 ? 0.0 : (((a.hi - p.hi) - p.lo) + a.lo) / (s + s)};
}

// log x to 66 bits and more, x positive and finite: 2 s + s v, s = f / (2 + f), v = s^2 (2/3 + s^2 P(s^2)).
DAMO_MATH Pair<double> log_in_two_parts(double x) {
  const LogSplit<double> split = log_split(x);
  const Pair<double> s = divide({split.f, 0.0}, fast_two_sum(2.0, split.f));
  const Pair<double> u = multiply(s, s);
  const double p = horner(u.hi, 0x1.9999999999996p-2, 0x1.2492492493049p-2, 0x1.c71c71c57e019p-3, 0x1.745d18337a463p-3,
                     0x1.3b1362671cd1ap-3, 0x1.1120c1838868dp-3, 0x1.de318d85600a6p-4, 0x1.eb20deb62b5afp-4);
  Pair<double> w = fast_two_sum(0x1.5555555555555p-1, u.hi * p);
  w.lo += 0x1.5555555555555p-55;
  const Pair<double> sv = multiply(s, multiply(u, w));
  const Pair<double> first = fast_two_sum(split.e * 0x1.62e42fefa2p-1, 2.0 * s.hi);
  const Pair<double> second = two_sum(first.hi, sv.hi);
  return fast_two_sum(second.hi, first.lo + second.lo + (2.0 * s.lo + sv.lo + split.e * 0x1.9ef35793c7673p-41));
}

}  // namespace math

// See pow(float).
DAMO_MATH double pow(double x, double y) {
  const double a = math::magnitude(x), inf = __builtin_inf();
  const math::Pair<double> l = math::log_in_two_parts(a);
  // Beyond 2^60 the result is 0, 1 or inf; keep the products finite.
  const double y1 = math::at_least(math::at_most(y, 0x1p70), -0x1p70);
  const math::Pair<double> p = math::two_product(y1, l.hi);
  const double high = math::at_least(math::at_most(p.hi, 1000.0), -1000.0);
  double r = math::exp_of_sum(high, high == p.hi ? math::madd(y1, l.lo, p.lo) : 0.0);
  r = a == 0.0 ? (y < 0.0 ? inf : 0.0) : r;
  r = a == inf ? (y < 0.0 ? 0.0 : inf) : r;
  return math::pow_ends(x, y, r);
}

DAMO_MATH double hypot(double x, double y) {
  const double ax = math::magnitude(x), ay = math::magnitude(y);
  const double most = ax > ay ? ax : ay;
  const double scale = most > 0x1p500 ? 0x1p-600 : (most < 0x1p-400 ? 0x1p600 : 1.0);
  const double back = most > 0x1p500 ? 0x1p600 : (most < 0x1p-400 ? 0x1p-600 : 1.0);
  const double a = ax * scale, b = ay * scale;
  const double r = __builtin_sqrt(math::madd(a, a, b * b)) * back;
  return ax == __builtin_inf() || ay == __builtin_inf() ? __builtin_inf() : r;
}

// See cbrt(float); a Newton step with the exact remainder follows.
DAMO_MATH double cbrt(double x) {
  const double a = math::magnitude(x);
  const bool small = a < 0x1p-500, large = a > 0x1p500;
  const double d = a * (small ? 0x1p600 : (large ? 0x1p-600 : 1.0));
  // Exponent and leading bits over 3 in 32 bits: enough for the start.
  const math::u32 top = math::u32(math::bits(d) >> 32) / 3u + 715094163u;
  const double y = math::halley(math::halley(math::as_double(math::u64(top) << 32), d), d);
  const math::Pair<double> y2 = math::two_product(y, y);
  const math::Pair<double> cube = math::two_product(y2.hi, y);
  const double rest = ((d - cube.hi) - cube.lo) - y2.lo * y;
  const double r = y + rest / (3.0 * y2.hi);
  return (a > 0.0 && a < __builtin_inf()) ? math::with_sign(r * (small ? 0x1p-200 : (large ? 0x1p200 : 1.0)), x) : x;
}

// log1p of a z in two parts: z = a + a^2 / (1 + sqrt(1 + a^2)). From 2^28 on it is log(2 a).
DAMO_MATH double asinh(double x) {
  const double a = math::magnitude(x);
  const bool large = a > 0x1p28;
  const double b = large ? 1.0 : a;
  const math::Pair<double> square = math::two_product(b, b);
  const math::Pair<double> root = math::square_root(math::add({1.0, 0.0}, square));
  const math::Pair<double> q = math::divide(square, math::add({1.0, 0.0}, root));
  const math::Pair<double> z = math::add({b, 0.0}, q);
  const double near = math::log1p_of_sum(z.hi, z.lo / (1.0 + z.hi));
  const double y = large ? log(a) + 0x1.62e42fefa39efp-1 : near;
  return math::with_sign(a < 0x1p-27 ? a : y, x);
}

// log1p(t + sqrt(t (t + 2))), t = x - 1.
DAMO_MATH double acosh(double x) {
  const bool large = x > 0x1p28;
  const double b = large ? 2.0 : x;
  const math::Pair<double> t = math::two_sum(b, -1.0);
  const math::Pair<double> root = math::square_root(math::multiply(t, math::add(t, {2.0, 0.0})));
  const math::Pair<double> z = math::add(t, root);
  const double near = math::log1p_of_sum(z.hi, z.lo / (1.0 + z.hi));
  const double y = large ? log(x) + 0x1.62e42fefa39efp-1 : near;
  return x >= 1.0 ? y : (x != x ? x : math::quiet_nan(x));
}

// log1p(2 a / (1 - a)) / 2.
DAMO_MATH double atanh(double x) {
  const double a = math::magnitude(x);
  const math::Pair<double> z = math::divide({a + a, 0.0}, math::two_sum(1.0, -a));
  double y = 0.5 * math::log1p_of_sum(z.hi, z.lo / (1.0 + z.hi));
  y = a < 0x1p-27 ? a : y;
  y = a == 1.0 ? __builtin_inf() : y;
  y = a > 1.0 ? math::quiet_nan(x) : y;
  return x != x ? x : math::with_sign(y, x);
}

}  // namespace damo
DAMO_EXACT_END
