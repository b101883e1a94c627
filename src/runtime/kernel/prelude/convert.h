// convert<To>(x): a number as an element of another dtype, on every back end the same. Written down in
// include/damo/ops/cast.hpp: integers wrap, a floating number out of an integer's range becomes the nearest integer of
// that dtype and NaN 0, everything is rounded once. C++'s own conversion is undefined there (compilers leave out what
// depends on it) and on its way to 16 bits rounds a double to float first.
//
// Text of generated kernels: it goes after the back end's math header, which defines DAMO_MATH, half, bfloat16 and in
// damo::math bits(double), as_double(), wide(x), an integer of 8 bytes as a double, and whole<To>(x), C++'s
// conversion for an x in range. Branch-free, so that a loop over it vectorises. See tests/function/cast_test.cpp.
#pragma once

namespace damo {

struct float8_e4m3;  // float8.h has them
struct float8_e5m2;

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
inline constexpr bool is_narrow = false;
template <>
inline constexpr bool is_narrow<half> = true;
template <>
inline constexpr bool is_narrow<bfloat16> = true;
template <>
inline constexpr bool is_narrow<float8_e4m3> = true;
template <>
inline constexpr bool is_narrow<float8_e5m2> = true;
template <class T>
inline constexpr bool is_brain = false;
template <>
inline constexpr bool is_brain<bfloat16> = true;
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
    const To inside = whole<To>(x < kMost ? not_below : From(0));
    return x >= kMost ? greatest<To> : inside;
  }
}

// Without the lowest Bits; the next one says whether they or it held anything (rounding to odd). Rounding what is left to
// two digits less, or fewer, gives what rounding the whole would. Of a signed integer its two's complement.
template <int Bits, class Word>
DAMO_MATH Word folded(Word word) {
  constexpr Word kLow = (Word(1) << Bits) - 1;
  return (word | ((word & kLow) + kLow)) & ~kLow;
}

// As a float that rounds to 16 bits or 8 as the number itself would: 13 digits of a double are left, two more than binary16 has. Such
// a number is a float, but below 2^-137, where bfloat16 too has nothing but 0.
DAMO_MATH float to_be_rounded(double x) { return float(as_double(folded<40>(bits(x)))); }
// A float holds the integers up to 2^24, a double those up to 2^53; greater ones are folded first.
template <class T>
DAMO_MATH float integer_to_be_rounded(T x) {
  using Word = WordOf<T>;
  constexpr int kDigits = sizeof(T) == 8 ? 53 : 24;
  const Word word = Word(x), below = is_signed<T> ? Word(1) << kDigits : Word(0);
  const bool fits = ((word + below) >> (is_signed<T> ? kDigits + 1 : kDigits)) == 0;
  const T kept = T(fits ? word : folded<(sizeof(T) == 8 ? 11 : 8)>(word));
  if constexpr (sizeof(T) == 8) return to_be_rounded(wide(kept));
  else return float(kept);
}

}  // namespace math

template <class To, class From>
DAMO_MATH To convert(From x) {
  if constexpr (math::is_narrow<From>) {
    return convert<To>(float(x));
  } else if constexpr (math::is_bool<To>) {
    return x != From(0);
  } else if constexpr (math::is_narrow<To>) {
    if constexpr (math::is_floating<From> && sizeof(From) == 8) return To(math::to_be_rounded(x));
    // An integer that binary16 and 8 bits do not round to infinity is a float.
    else if constexpr (math::is_floating<From> || !math::is_brain<To> || sizeof(From) < 4) return To(float(x));
    else return To(math::integer_to_be_rounded(x));
  } else if constexpr (math::is_floating<From> && !math::is_floating<To>) {
    return math::saturate<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

// convert<To>(x) as a float: of what is rounded and goes on in float.
template <class To, class From>
DAMO_MATH float rounded(From x) {
  return float(convert<To>(x));
}
#ifdef DAMO_ROUNDS_BRAIN
template <class To>
DAMO_MATH float rounded(float x) {
  if constexpr (math::is_brain<To>) return math::as_brain(x);
  else return float(convert<To>(x));
}
#endif

}  // namespace damo
