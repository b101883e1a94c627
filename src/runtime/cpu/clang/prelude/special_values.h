// What CUDA's mathematics has beside C's, in double, which the float forms round once: normal distributions, functions of pi x, norms, Bessel functions.
// For CUDA C (cuda_special.h) and for rows (float_names.h), read where a source names one of them.
#pragma once
#include "math_double_power.h"
#include "math_rounding.h"
#include "math_special.h"
#include "math_trig.h"

// By the host's libraries (src/runtime/cpu/special_functions.cpp and the C library).
extern "C" {
__attribute__((const, nothrow)) double __damo_cyl_bessel_i0(double);
__attribute__((const, nothrow)) double __damo_cyl_bessel_i1(double);
__attribute__((const, nothrow)) double j0(double);
__attribute__((const, nothrow)) double j1(double);
__attribute__((const, nothrow)) double y0(double);
__attribute__((const, nothrow)) double y1(double);
__attribute__((const, nothrow)) double jn(int, double);
__attribute__((const, nothrow)) double yn(int, double);
}

DAMO_EXACT_BEGIN
namespace damo::math {

// erfc(-x / sqrt(2)) / 2; the second part of 1 / sqrt(2) keeps the far tail right.
DAMO_MATH double normcdf(double x) {
  const double a = 0.70710678118654757, b = -4.8336466567264567e-17;
  const double t = -x * a, rest = damo::fma(-x, a, -t) - x * b;
  const double value = damo::erfc(t);
  return damo::isfinite(rest) ? 0.5 * (value - 1.1283791670955126 * damo::exp(-t * t) * rest) : 0.5 * value;
}
DAMO_MATH double normcdfinv(double p) { return -1.4142135623730951 * __damo_erfcinv(2.0 * p); }

// sin(pi x) and cos(pi x): exact at multiples of a half.
DAMO_MATH double quarter_turns(double x, int shift) {
  const double whole = x - 2.0 * damo::rint(0.5 * x);
  const double n = damo::rint(2.0 * whole);
  const double angle = 3.14159265358979323846 * (whole - 0.5 * n);
  const int quarter = (int(n) + shift) & 3;
  const double value = quarter & 1 ? damo::cos(angle) : damo::sin(angle);
  return quarter & 2 ? 0.0 - value : value;
}
DAMO_MATH double sinpi(double x) {
  if (x == damo::trunc(x)) return 0.0 * x;  // of infinity NaN
  return quarter_turns(x, 0);
}
DAMO_MATH double cospi(double x) { return quarter_turns(x, 1); }

DAMO_MATH double logb(double x) { return x == 0 ? -__builtin_inf() : damo::isfinite(x) ? double(__builtin_ilogb(x)) : x * x; }

// Square root of a sum of squares, without overflow on the way.
template <class T>
DAMO_MATH T norm(const T* values, int count) {
  T largest = 0, sum_of_zeros = 0;  // or NaN
  for (int i = 0; i < count; ++i) largest = damo::fmax(largest, damo::fabs(values[i])), sum_of_zeros += values[i];
  for (int i = 0; i < count; ++i) if (damo::isinf(values[i])) return infinity(T());
  if (largest == 0) return sum_of_zeros;
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += double(values[i] / largest) * double(values[i] / largest);
  return largest * T(damo::sqrt(sum));
}

}  // namespace damo::math
DAMO_EXACT_END
