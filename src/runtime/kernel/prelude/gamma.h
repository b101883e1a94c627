// The derivatives of log(gamma(x)): digamma, trigamma, polygamma. Neither C nor CUDA has them. In double for every T and rounded once: float's
// would take as many steps and lose what they cancel. Text of generated kernels on every back end, after its math header, and only of those that name
// one of them; it includes nothing. Errors: tests/ops/cpu/rows_test.cpp, tests/function/special_functions_test.cpp.
#pragma once

#if defined(DAMO_EXACT)  // the CPU's compiler would be free to reorder sums
#define DAMO_AS_WRITTEN DAMO_EXACT
#else
#define DAMO_AS_WRITTEN
#endif

namespace damo {
namespace math {

// x > 0. From 10 on the asymptotic series; below x moves to between 1 and 2, where psi(x) / (x - root) is a polynomial in 2 x - 3 (an interpolation at
// Chebyshev's points, 1e-16). The root is in two parts, so that nothing is lost beside it.
DAMO_MATH double digamma_above_zero(double x) {
  DAMO_AS_WRITTEN
  if (x >= 10.0) {
    const double r = 1.0 / x, s = r * r;
    double sum = 3617.0 / 8160.0;
    sum = sum * s - 1.0 / 12.0;
    sum = sum * s + 691.0 / 32760.0;
    sum = sum * s - 1.0 / 132.0;
    sum = sum * s + 1.0 / 240.0;
    sum = sum * s - 1.0 / 252.0;
    sum = sum * s + 1.0 / 120.0;
    sum = sum * s - 1.0 / 12.0;
    return log(x) - (0.5 * r - sum * s);
  }
  double moved = 0.0;
  if (x < 1.0) {
    moved = -1.0 / x;
    x += 1.0;
  }
  while (x > 2.0) {
    x -= 1.0;
    moved += 1.0 / x;
  }
  constexpr double kCoefficients[] = {
      0x1.e6f0cbb873617p-1,  -0x1.b1cb63005ee98p-3,  0x1.eca189b8e6d96p-5,  -0x1.2feeeb98a78cbp-6,  0x1.8512e5905dd72p-8,  -0x1.fb44202a259cep-10,
      0x1.4de9aa0586825p-11, -0x1.b9f8b11b2f98ep-13, 0x1.256475f55026cp-14, -0x1.8635641765f08p-16, 0x1.03c0062d5da4dp-17, -0x1.5a06a23d62223p-19,
      0x1.cd3e85814fdf6p-21, -0x1.336df991b5f25p-22, 0x1.980cd9cddd2dep-24, -0x1.0fb126d4c2892p-25, 0x1.7b4f44a239051p-27, -0x1.fdacdb7508852p-29,
      0x1.dbf3f4569847fp-31, -0x1.2f41994664278p-32, 0x1.1089124bb5df7p-32, -0x1.761380b8f00cep-34};
  const double u = 2.0 * x - 3.0;
  double ratio = kCoefficients[21];
  for (int i = 20; i >= 0; --i) ratio = ratio * u + kCoefficients[i];
  return ((x - 0x1.762d86356be3fp+0) - 0x1.b86a722197829p-54) * ratio + moved;
}

// Below 0 by reflection: psi(1 - x) - pi / tan(pi x). Of 0 an infinity, as the limit from its side; of negative integers NaN.
DAMO_MATH double digamma_of(double x) {
  if (x == 0.0) return copysign(as_double(0x7ff0000000000000ull), -x);
  const double r = x > 0.0 ? 0.25 : x - rint(x);  // NaN of an infinity
  if (r == 0.0 || r != r) return as_double(0x7ff8000000000000ull);
  const double above = digamma_above_zero(x > 0.0 ? x : 1.0 - x);
  return x > 0.0 ? above : above - 3.141592653589793 / tan(3.141592653589793 * r);
}

// x > 0: the terms of sum 1 / (x + k)^2 up to x + k = 10, the asymptotic series of the others.
DAMO_MATH double trigamma_above_zero(double x) {
  DAMO_AS_WRITTEN
  double moved = 0.0;
  const int steps = x < 10.0 ? int(11.0 - x) : 0;
  for (int k = steps - 1; k >= 0; --k) moved += 1.0 / ((x + k) * (x + k));
  const double r = 1.0 / (x + steps), s = r * r;
  double sum = -174611.0 / 330.0;
  sum = sum * s + 43867.0 / 798.0;
  sum = sum * s - 3617.0 / 510.0;
  sum = sum * s + 7.0 / 6.0;
  sum = sum * s - 691.0 / 2730.0;
  sum = sum * s + 5.0 / 66.0;
  sum = sum * s - 1.0 / 30.0;
  sum = sum * s + 1.0 / 42.0;
  sum = sum * s - 1.0 / 30.0;
  sum = sum * s + 1.0 / 6.0;
  return moved + (r + (0.5 * s + sum * s * r));
}

// Infinite at 0 and negative integers.
DAMO_MATH double trigamma_of(double x) {
  const double r = x > 0.0 ? 0.25 : x - rint(x);
  if (r == 0.0 || r != r) return r == 0.0 ? as_double(0x7ff0000000000000ull) : r;
  const double above = trigamma_above_zero(x > 0.0 ? x : 1.0 - x), height = sin(3.141592653589793 * r);
  return x > 0.0 ? above : 9.869604401089358 / (height * height) - above;
}

// n! zeta(n + 1, x), the sum of n! / (x + k)^(n + 1), for x > 0: Euler and Maclaurin's formula from x + k >= 11 + n on. In units of n! / x^(n + 1),
// which alone may leave the range.
DAMO_MATH double zeta_sum(int n, double x) {
  DAMO_AS_WRITTEN
  const double s = n + 1.0;
  double sum = 0.0, last = 1.0, w = x;
  while (w < 11.0 + n && last > 1e-17 * sum) {
    last = pow(x / w, s);
    sum += last;
    w += 1.0;
  }
  if (last > 1e-17 * sum) {
    constexpr double kBernoulli[] = {0x1.5555555555555p-4, -0x1.6c16c16c16c17p-10, 0x1.1566abc011567p-15, -0x1.bbd779334ef0bp-21,
                                     0x1.66a8f2bf70ebep-26, -0x1.22805d644267fp-31, 0x1.d6db2c4e09162p-37, -0x1.7da4e1f79955cp-42,
                                     0x1.355871d652e9ep-47, -0x1.f57d968caacf1p-53};  // B(2 j) / (2 j)!
    const double r = 1.0 / w;
    double factor = s * r, tail = 0.5;
    for (int j = 0; j < 10; ++j) {
      tail += kBernoulli[j] * factor;
      factor *= ((s + (2 * j + 1)) * r) * ((s + (2 * j + 2)) * r);
    }
    sum += pow(x / w, s) * (tail + w / n);
  }
  double result = sum / x;
  for (int i = 1; i <= n; ++i) result = result * i / x;
  return result;
}

// Below 0 the terms of the sum lie on both sides of 0: f, f + 1, ... and 1 - f, ..., -x.
DAMO_MATH double polygamma_of(double n, double x) {
  if (!(n >= 0.0 && n <= 170.0 && n == floor(n)) || x != x) return as_double(0x7ff8000000000000ull);
  if (n == 0.0) return digamma_of(x);
  const int order = int(n);
  const double sign = order % 2 ? 1.0 : -1.0, infinity = as_double(0x7ff0000000000000ull);
  if (x == infinity || x == -infinity) return x > 0.0 ? sign * 0.0 : as_double(0x7ff8000000000000ull);
  const double below = floor(x);
  if (x <= 0.0 && x == below) return sign * infinity;
  double last = 0.0;
  for (int part = x > 0.0 ? 2 : 0; part < 3; ++part) {  // one text of the sum for the three
    const double sum = zeta_sum(order, part == 0 ? 1.0 - x : part == 1 ? ceil(x) - x : x > 0.0 ? x : x - below);
    last = part == 0 ? -sum : part == 1 ? sum + last : x > 0.0 ? sign * sum : sign * sum + last;
  }
  return last;
}

}  // namespace math

#if !defined(DAMO_EXACT)  // the CPU's: math_special.h
template <class T>
DAMO_MATH T digamma(T x) {
  return T(math::digamma_of(x));
}
template <class T>
DAMO_MATH T trigamma(T x) {
  return T(math::trigamma_of(x));
}
template <class T>
DAMO_MATH T polygamma(T n, T x) {
  return T(math::polygamma_of(n, x));
}
#endif
#undef DAMO_AS_WRITTEN

}  // namespace damo
