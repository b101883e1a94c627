// convert<To>(x): a number as an element of another dtype, on every back end the same. Written down in
// include/damo/ops/cast.hpp: integers wrap, a floating number out of an integer's range becomes the nearest integer of
// that dtype and NaN 0, everything is rounded once. C++'s own conversion is undefined there (compilers leave out what
// depends on it) and on its way to 16 bits rounds a double to float first.
//
// Text of generated kernels: it goes after the back end's math header, which defines DAMO_MATH, half, bfloat16 and in
// damo::math bits(), as_float(), magnitude() and whole<To>(x), C++'s conversion for an x in range. Branch-free, so that
// a loop over it vectorises. See tests/function/cast_test.cpp.
#pragma once

namespace damo {
namespace math {

// Where integers of that many bytes are added without overflow: unsigned, and no smaller than int.
template <int Bytes>
struct Word {
  using type = unsigned int;
};
template <>
struct Word<8> {
  using type = unsigned long long;
};
template <class T>
using WordOf = typename Word<sizeof(T)>::type;

template <class T>
inline constexpr bool is_half = false;
template <>
inline constexpr bool is_half<half> = true;
template <>
inline constexpr bool is_half<bfloat16> = true;
template <class T>
inline constexpr bool is_bool = false;
template <>
inline constexpr bool is_bool<bool> = true;
template <class T>
inline constexpr bool is_floating = T(0.5) != T(0) && T(0.5) != T(1);  // bool(0.5) is true
template <class T>
inline constexpr bool is_signed = T(-1) < T(1);  // bool(-1) is true

// Of an integer dtype.
template <class T>
inline constexpr T greatest = is_signed<T> ? T((WordOf<T>(1) << (8 * sizeof(T) - 1)) - 1) : T(-1);
template <class T>
inline constexpr T least = T(T(-1) - greatest<T>);

// Towards zero, the nearest that To has.
template <class To, class From>
DAMO_MATH To saturate(From x) {
  constexpr From kLeast = From(least<To>), kMost = From(greatest<To>);
  const From not_below = x > kLeast ? x : kLeast;
  if constexpr (sizeof(To) < sizeof(From) || sizeof(To) < 4) {  // both limits are numbers of From
    const From inside = not_below < kMost ? not_below : kMost;
    return whole<To>(x == x ? inside : From(0));
  } else {  // kMost is a power of two, one more than To's greatest
    return x >= kMost ? greatest<To> : whole<To>(x < kMost ? not_below : From(0));
  }
}

// A number as a float whose last bit says whether anything was cut off: rounding it once more, to 16 bits, gives what
// rounding the number itself would.
DAMO_MATH float rounded_to_odd(double x) {
  const float nearest = float(x);
  const double back = double(nearest);
  return as_float((bits(nearest) - (unsigned int)(magnitude(back) > magnitude(x))) | (unsigned int)(back != x));
}
// A double has 53 bits: of a longer integer the lowest 11 are folded into one.
template <class T>
DAMO_MATH double folded(T x) {
  if constexpr (sizeof(T) < 8) {
    return double(x);
  } else {
    using Word = unsigned long long;
    Word size = Word(x);
    if constexpr (is_signed<T>) size = x < T(0) ? Word(0) - size : size;
    const Word low = size & 0x7ffu;
    const Word kept = (size >> 53) != 0 ? (size - low) | (low != 0 ? 0x800u : 0u) : size;
    if constexpr (is_signed<T>) return double((long long)(x < T(0) ? Word(0) - kept : kept));
    else return double(kept);
  }
}

}  // namespace math

template <class To, class From>
DAMO_MATH To convert(From x) {
  if constexpr (math::is_half<From>) {
    return convert<To>(float(x));
  } else if constexpr (math::is_bool<To>) {
    return x != From(0);
  } else if constexpr (math::is_half<To>) {
    if constexpr (sizeof(From) < 4 || (math::is_floating<From> && sizeof(From) == 4)) return To(float(x));
    else if constexpr (math::is_floating<From>) return To(math::rounded_to_odd(x));
    else return To(math::rounded_to_odd(math::folded(x)));
  } else if constexpr (math::is_floating<From> && !math::is_floating<To>) {
    return math::saturate<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace damo
