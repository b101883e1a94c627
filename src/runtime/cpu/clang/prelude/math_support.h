// What the math headers of the prelude share: bit casts, selects, the floating point contract of a body.
// Goes before generated kernels, so it includes nothing. Written for Clang; g++ 12 takes it too (the tests).
//
// Every function here and in math_*.h is free of branches and of calls, so that a loop over it vectorises at any
// width. Error bounds: the table in tests/runtime/cpu/math_ulp_test.cpp, which measures them.
#pragma once

#if defined(__CUDA__)  // CUDA C on the CPU is compiled in Clang's device mode
#define DAMO_MEMBER inline __attribute__((always_inline, host, device))
#else
#define DAMO_MEMBER inline __attribute__((always_inline))
#endif
#define DAMO_MATH static DAMO_MEMBER
#define DAMO_CALLED DAMO_MATH  // vectors are made of what is inlined

// First line of a body whose roundings matter: a kernel may be compiled with reassociation (sums vectorise by it)
// and that freedom must not reach an error-compensated expression. Fused steps are written out with madd(). The other two: of all
// bodies between them.
#if defined(__clang__)
#define DAMO_EXACT _Pragma("clang fp reassociate(off) contract(off) reciprocal(off)")
#define DAMO_EXACT_BEGIN _Pragma("float_control(push)") DAMO_EXACT
#define DAMO_EXACT_END _Pragma("float_control(pop)")
#else
#define DAMO_EXACT
#define DAMO_EXACT_BEGIN
#define DAMO_EXACT_END
#endif

#if defined(__FMA__) || defined(__AVX512F__) || defined(__ARM_FEATURE_FMA)
#define DAMO_HAS_FMA 1
#else
#define DAMO_HAS_FMA 0
#endif

DAMO_EXACT_BEGIN
namespace damo::math {

using u32 = unsigned int;
using i32 = int;
using u64 = unsigned long long;
using i64 = long long;

template <class T>
DAMO_MATH T opaque(T x) {
  return x;
}
DAMO_MATH u32 bits(float x) { return __builtin_bit_cast(u32, x); }
DAMO_MATH u64 bits(double x) { return __builtin_bit_cast(u64, x); }
DAMO_MATH float as_float(u32 x) { return __builtin_bit_cast(float, x); }
DAMO_MATH double as_double(u64 x) { return __builtin_bit_cast(double, x); }

DAMO_MATH float magnitude(float x) { return as_float(bits(x) & 0x7fffffffu); }
DAMO_MATH double magnitude(double x) { return as_double(bits(x) & 0x7fffffffffffffffull); }

// Value of x with the sign of s, by bits: survives -fno-signed-zeros.
DAMO_MATH float with_sign(float x, float s) { return as_float((bits(x) & 0x7fffffffu) | (bits(s) & 0x80000000u)); }
DAMO_MATH double with_sign(double x, double s) { return as_double((bits(x) & 0x7fffffffffffffffull) | (bits(s) & 0x8000000000000000ull)); }

// A word's low bytes as an integer.
template <class To, class Word>
DAMO_MATH To low_bytes(Word word) { return To(word); }
template <class T>
DAMO_MATH T in_words(T x) { return x; }

// x: what a GPU's compiler must not know of it (src/runtime/cuda/prelude/math.h).
DAMO_MATH float of_any_sign(float x) { return x; }

// 1 / n, of a number from 1 to 2^126.
DAMO_MATH float reciprocal_of_count(float n) { return 1.0f / n; }
DAMO_MATH double reciprocal_of_count(double n) { return 1.0 / n; }

// C++'s conversion of an x within To's range, as the one instruction that it is: where a conversion out of range is
// defined (a flag, for users' code), Clang writes a longer one for a scalar, which does not vectorise.
template <class To, class From>
DAMO_MATH To whole(From x) {
#if defined(__clang__)
  typedef From Vector __attribute__((ext_vector_type(1)));
  typedef To Whole __attribute__((ext_vector_type(1)));
  return __builtin_convertvector(Vector(x), Whole)[0];
#else
  return static_cast<To>(x);
#endif
}

// An integer as a double, rounded once. Without AVX-512 there is no instruction for vectors of them: the halves become the
// last digits of 2^84 and 2^52, the first of them moved up by 2^63 where it has a sign.
template <class T>
DAMO_MATH double wide(T x) {
  static_assert(sizeof(T) == 8);
#if defined(__AVX512DQ__)
  return static_cast<double>(x);
#else
  constexpr bool kSigned = T(-1) < T(0);
  constexpr double kMoved = kSigned ? 0x1p84 + 0x1p63 + 0x1p52 : 0x1p84 + 0x1p52;
  const u64 word = u64(x);
  return (as_double((word >> 32) ^ (kSigned ? 0x4530000080000000ull : 0x4530000000000000ull)) - kMoved) + as_double((word & 0xffffffffull) | 0x4330000000000000ull);
#endif
}

DAMO_MATH float infinity(float) { return __builtin_inff(); }
DAMO_MATH double infinity(double) { return __builtin_inf(); }
DAMO_MATH float quiet_nan(float) { return __builtin_nanf(""); }
DAMO_MATH double quiet_nan(double) { return __builtin_nan(""); }

// a * b + c, with one rounding where the target has it. Only for steps that are right either way.
DAMO_MATH float madd(float a, float b, float c) { return DAMO_HAS_FMA ? __builtin_fmaf(a, b, c) : a * b + c; }
DAMO_MATH double madd(double a, double b, double c) { return DAMO_HAS_FMA ? __builtin_fma(a, b, c) : a * b + c; }

// c[0] + c[1] x + ...: the highest coefficient comes last; Horner's rule.
template <class T>
DAMO_MATH T horner(T, T c0) { return c0; }
template <class T, class... Rest>
DAMO_MATH T horner(T x, T c0, Rest... rest) { return madd(horner(x, rest...), x, c0); }
// The same with two chains of steps side by side: by pairs of coefficients, x2 = x^2.
template <class T>
DAMO_MATH T in_pairs(T, T, T c0) { return c0; }
template <class T, class... Rest>
DAMO_MATH T in_pairs(T x, T x2, T c0, T c1, Rest... rest) {
  if constexpr (sizeof...(Rest) == 0) return madd(x, c1, c0);
  else return madd(x2, in_pairs(x, x2, rest...), madd(x, c1, c0));
}

// Limits keep a NaN: the comparison is false for it.
template <class T>
DAMO_MATH T at_most(T x, T limit) {
  return x > limit ? limit : x;
}
template <class T>
DAMO_MATH T at_least(T x, T limit) {
  return x < limit ? limit : x;
}

// A value as an unevaluated sum, hi holding all but the last digits.
template <class T>
struct Pair {
  T hi, lo;
};

// a + b without error, for any order of size.
template <class T>
DAMO_MATH Pair<T> two_sum(T a, T b) {
  const T s = a + b, t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}
// The same for |a| >= |b| or a = 0.
template <class T>
DAMO_MATH Pair<T> fast_two_sum(T a, T b) {
  const T s = a + b;
  return {s, b - (s - a)};
}
// a * b without error, away from overflow and denormals.
DAMO_MATH Pair<float> two_product(float a, float b) { return {a * b, DAMO_HAS_FMA ? madd(a, b, -(a * b)) : float(double(a) * b - a * b)}; }
DAMO_MATH Pair<double> two_product(double a, double b) {
  const double p = a * b, ca = 134217729.0 * a, cb = 134217729.0 * b;  // 2^27 + 1: halves of 26 bits
  const double ah = ca - (ca - a), al = a - ah, bh = cb - (cb - b), bl = b - bh;
  return {p, DAMO_HAS_FMA ? madd(a, b, -p) : ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

// c - a * b, rounded once where c is near the product.
template <class T>
DAMO_MATH T less_product(T c, T a, T b) {
  const Pair<T> p = two_product(a, b);
  return DAMO_HAS_FMA ? madd(-a, b, c) : (c - p.hi) - p.lo;
}

// a / b to about 100 bits, by the remainder of the first quotient.
DAMO_MATH Pair<double> divide(Pair<double> a, Pair<double> b) {
  const double q = a.hi / b.hi;
  const Pair<double> p = two_product(q, b.hi);
  return {q, (((a.hi - p.hi) - p.lo) + (a.lo - q * b.lo)) / b.hi};
}
// x + 1.5 * 2^23 rounds x to an integer and leaves it in the low bits of the sum (2^52 for double).
inline constexpr float kRounder = 12582912.0f;
inline constexpr double kRounderDouble = 6755399441055744.0;
inline constexpr u64 kSqrtHalf = 0x3fe6a09e667f3bcdull;  // the bits of sqrt(1/2), where logarithms part a double
DAMO_MATH float rounder(float) { return kRounder; }
DAMO_MATH double rounder(double) { return kRounderDouble; }

}  // namespace damo::math
DAMO_EXACT_END
