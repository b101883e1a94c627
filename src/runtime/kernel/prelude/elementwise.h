// What the code of the built-in rows (damo/ops/rows.inc) calls besides C's math.h, for every T of a row: NumPy's
// integer arithmetic, floor division, minimum and maximum. Text of generated kernels on every back end: it goes after
// the back end's own math header, which defines DAMO_MATH, the floating functions and in damo::math low_bytes<T>(word), in_words(x), of_any_sign(x), reciprocal_of_count(n) and exp_below_4(x), and
// convert.h; it includes nothing.
// Branch-free, so that a loop over any of these vectorises. Table: docs/kernel-functions.md.
#pragma once

namespace damo {
// Modulo 2^n: signed overflow is undefined in C++, and a wrapped sum is what NumPy gives.
template <class T>
DAMO_MATH T wrap_add(T x, T y) {
  return math::low_bytes<T>(math::WordOf<T>(x) + math::WordOf<T>(y));
}
template <class T>
DAMO_MATH T wrap_sub(T x, T y) {
  return math::low_bytes<T>(math::WordOf<T>(x) - math::WordOf<T>(y));
}
template <class T>
DAMO_MATH T wrap_mul(T x, T y) {
  return math::low_bytes<T>(math::WordOf<T>(x) * math::WordOf<T>(y));
}
template <class T>
DAMO_MATH T wrap_neg(T x) {
  return math::low_bytes<T>(math::WordOf<T>(0) - math::WordOf<T>(x));
}
// The least value of a signed type stays itself.
template <class T>
DAMO_MATH T wrap_abs(T x) {
  if constexpr (math::is_signed<T>) return x < T(0) ? wrap_neg(x) : x;
  return x;
}

// -1, 0 or 1; a floating 0 of either sign gives 0, NaN stays.
template <class T>
DAMO_MATH T sign(T x) {
  if constexpr (math::is_floating<T>) return x > T(0) ? T(1) : x < T(0) ? T(-1) : x == T(0) ? T(0) : x;
  else if constexpr (math::is_signed<T>) return T((x > T(0)) - (x < T(0)));
  else return T(x != T(0));
}

// The greater of the two, NaN if either is: NumPy's maximum, not C's fmax.
template <class T>
DAMO_MATH T maximum(T x, T y) {
  const auto a = math::in_words(x), b = math::in_words(y);
  return T(((a > b) | (a != a)) ? a : b);
}
template <class T>
DAMO_MATH T minimum(T x, T y) {
  const auto a = math::in_words(x), b = math::in_words(y);
  return T(((a < b) | (a != a)) ? a : b);
}
// Whether x is below 0; of a float its sign's bit, which -0 and some NaN have.
template <class T>
DAMO_MATH bool is_negative(T x) {
  if constexpr (math::is_floating<T>) return signbit(x);
  else if constexpr (math::is_signed<T>) return x < T(0);
  else return ((void)x, false);
}
// Bits that leave the dtype are lost; by a negative number, or by as many bits as there are or more, all of them: 0, or to the right -1 where x is below 0.
template <class T>
DAMO_MATH T left_shift(T x, T y) {
  const bool inside = math::WordOf<T>(y) < 8 * sizeof(T);
  const math::WordOf<T> word = math::WordOf<T>(x) << (inside ? math::WordOf<T>(y) : 0u);
  return math::low_bytes<T>(inside ? word : math::WordOf<T>(0));
}
template <class T>
DAMO_MATH T right_shift(T x, T y) {
  const bool inside = math::WordOf<T>(y) < 8 * sizeof(T);
  const math::WordOf<T> last = 8 * sizeof(T) - 1, count = inside ? math::WordOf<T>(y) : last;
  if constexpr (math::is_signed<T>) return T(x >> count);
  else return T(inside ? x >> count : 0);
}
// The row where's: x where the condition is true.
template <class T>
DAMO_MATH T choose(bool condition, T x, T y) {
  return T(condition ? math::in_words(x) : math::in_words(y));
}

namespace math {

// Division by 0 gives 0; the least value by -1 wraps to itself.
template <class T>
DAMO_MATH T integer_floor_div(T x, T y) {
  if constexpr (is_signed<T>) {
    const bool special = (y == T(0)) | (y == T(-1));
    const T divisor = special ? T(1) : y;
    const T quotient = T(x / divisor), rest = T(x % divisor);
    const T floored = T(quotient - T((rest != T(0)) & ((rest ^ divisor) < T(0))));
    return y == T(0) ? T(0) : y == T(-1) ? wrap_neg(x) : floored;
  } else {
    const T quotient = T(x / (y == T(0) ? T(1) : y));
    return y == T(0) ? T(0) : quotient;
  }
}
template <class T>
DAMO_MATH T integer_floor_mod(T x, T y) {
  if constexpr (is_signed<T>) {
    const T divisor = ((y == T(0)) | (y == T(-1))) ? T(1) : y;  // the rest of a division by 1 is 0, as wanted
    const T rest = T(x % divisor);
    return ((rest != T(0)) & ((rest ^ divisor) < T(0))) ? T(rest + divisor) : rest;
  } else {
    const T rest = T(x % (y == T(0) ? T(1) : y));
    return y == T(0) ? T(0) : rest;
  }
}

template <class T>
DAMO_MATH T integer_rest(T x, T y) {
  bool special = y == T(0);
  if constexpr (is_signed<T>) special |= y == T(-1);
  return T(x % (special ? T(1) : y));
}

}  // namespace math

// x - y trunc(x / y), with the sign of x; of integers 0 where y is 0.
template <class T>
DAMO_MATH T truncated_mod(T x, T y) {
  if constexpr (math::is_floating<T>) return fmod(x, y);
  else return math::integer_rest(x, y);
}

// x - y floor(x / y), with the sign of y; of integers 0 where y is 0.
template <class T>
DAMO_MATH T floor_mod(T x, T y) {
  if constexpr (math::is_floating<T>) {
    const T rest = fmod(x, y);
    const T moved = (rest < T(0)) != (y < T(0)) ? rest + y : rest;
    return rest == T(0) ? copysign(T(0), y) : moved;  // NaN, from y = 0 too, passes through moved
  } else {
    return math::integer_floor_mod(x, y);
  }
}

// floor(x / y), by the remainder: x / y itself can round up to the next integer. Of integers 0 where y is 0.
template <class T>
DAMO_MATH T floor_div(T x, T y) {
  if constexpr (math::is_floating<T>) {
    const T rest = fmod(x, y), plain = x / y;
    const T whole = (x - rest) / y;  // an integer but for rounding
    const T moved = ((rest != T(0)) & ((rest < T(0)) != (y < T(0)))) ? whole - T(1) : whole;
    const T floored = floor(moved);
    const T near = moved - floored > T(0.5) ? floored + T(1) : floored;
    return y == T(0) ? plain : moved == T(0) ? copysign(T(0), plain) : near;
  } else {
    return math::integer_floor_div(x, y);
  }
}

// x^y of integers, modulo 2^n. A negative power is cut to an integer: 0, or 1 and -1 for those bases; 0^-1 is 0.
template <class T>
DAMO_MATH T int_pow(T x, T y) {
  using Word = math::WordOf<T>;
  Word result = 1, base = Word(x), power = Word(y);
  for (unsigned bit = 0; bit < 8 * sizeof(T); ++bit) {
    result *= (power & 1u) ? base : Word(1);
    base *= base;
    power >>= 1;
  }
  if constexpr (math::is_signed<T>) {
    const T unit = (y & T(1)) ? x : T(1);
    const T cut = ((x == T(1)) | (x == T(-1))) ? unit : T(0);
    return y < T(0) ? cut : T(result);
  } else {
    return T(result);
  }
}

}  // namespace damo
