// <limits> and <numbers>.
#pragma once

namespace std {

enum float_round_style { round_indeterminate = -1, round_toward_zero, round_to_nearest, round_toward_infinity, round_toward_neg_infinity };

template <class T>
struct numeric_limits {
  static constexpr bool is_specialized = false, is_signed = false, is_integer = false, is_exact = false;
  static constexpr bool has_infinity = false, has_quiet_NaN = false, is_iec559 = false;
  static constexpr int digits = 0, digits10 = 0;
};

template <class T>
struct damo_integer_limits {
  static constexpr bool is_specialized = true, is_signed = T(-1) < T(0), is_integer = true, is_exact = true;
  static constexpr bool has_infinity = false, has_quiet_NaN = false, has_signaling_NaN = false, is_iec559 = false;
  static constexpr bool is_bounded = true, is_modulo = !is_signed;
  static constexpr int digits = int(sizeof(T) * 8) - is_signed, digits10 = digits * 30103 / 100000, radix = 2;
  // All value bits set: shifted twice, since a shift by the whole width means nothing.
  DAMO_STD static T max() noexcept { return is_signed ? T((((T(1) << (digits - 1)) - 1) << 1) + 1) : T(~T(0)); }
  DAMO_STD static T min() noexcept { return is_signed ? T(-max() - 1) : T(0); }
  DAMO_STD static T lowest() noexcept { return min(); }
  DAMO_STD static T epsilon() noexcept { return T(0); }
  DAMO_STD static T infinity() noexcept { return T(0); }
  DAMO_STD static T quiet_NaN() noexcept { return T(0); }
  DAMO_STD static T denorm_min() noexcept { return T(0); }
};
#define DAMO_LIMITS(T) template <> struct numeric_limits<T> : damo_integer_limits<T> {};
DAMO_LIMITS(char) DAMO_LIMITS(signed char) DAMO_LIMITS(unsigned char) DAMO_LIMITS(short) DAMO_LIMITS(unsigned short)
DAMO_LIMITS(int) DAMO_LIMITS(unsigned) DAMO_LIMITS(long) DAMO_LIMITS(unsigned long) DAMO_LIMITS(long long)
DAMO_LIMITS(unsigned long long)
#undef DAMO_LIMITS
template <>
struct numeric_limits<bool> : damo_integer_limits<bool> {
  static constexpr int digits = 1, digits10 = 0;
  DAMO_STD static bool max() noexcept { return true; }
  DAMO_STD static bool min() noexcept { return false; }
  DAMO_STD static bool lowest() noexcept { return false; }
};

#define DAMO_LIMITS(T, greatest, least, smallest, step, huge, nan, bits, decimal, exponent)                            \
  template <>                                                                                                         \
  struct numeric_limits<T> {                                                                                          \
    static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false;              \
    static constexpr bool has_infinity = true, has_quiet_NaN = true, has_signaling_NaN = true, is_iec559 = true;      \
    static constexpr bool is_bounded = true, is_modulo = false;                                                       \
    static constexpr int digits = bits, digits10 = decimal, max_digits10 = decimal + 3, radix = 2;                    \
    static constexpr int max_exponent = exponent, min_exponent = 3 - exponent;                                        \
    static constexpr float_round_style round_style = round_to_nearest;                                                \
    DAMO_STD static T max() noexcept { return greatest; }                                                             \
    DAMO_STD static T min() noexcept { return least; }                                                                \
    DAMO_STD static T lowest() noexcept { return -greatest; }                                                         \
    DAMO_STD static T epsilon() noexcept { return step; }                                                             \
    DAMO_STD static T round_error() noexcept { return T(0.5); }                                                       \
    DAMO_STD static T denorm_min() noexcept { return smallest; }                                                      \
    DAMO_STD static T infinity() noexcept { return huge; }                                                            \
    DAMO_STD static T quiet_NaN() noexcept { return nan; }                                                            \
    DAMO_STD static T signaling_NaN() noexcept { return nan; }                                                        \
  };
DAMO_LIMITS(float, 3.402823466e+38f, 1.175494351e-38f, 1.401298464e-45f, 1.192092896e-07f, __builtin_bit_cast(float, 0x7f800000), __builtin_bit_cast(float, 0x7fc00000), 24, 6, 128)
DAMO_LIMITS(double, 1.7976931348623158e+308, 2.2250738585072014e-308, 4.9406564584124654e-324, 2.2204460492503131e-16,
            __builtin_bit_cast(double, 0x7ff0000000000000ll), __builtin_bit_cast(double, 0x7ff8000000000000ll), 53, 15, 1024)
#undef DAMO_LIMITS
template <class T>
struct numeric_limits<const T> : numeric_limits<T> {};

namespace numbers {
template <class T> inline constexpr T pi_v = T(3.14159265358979323846);
template <class T> inline constexpr T e_v = T(2.71828182845904523536);
template <class T> inline constexpr T inv_pi_v = T(0.31830988618379067154);
template <class T> inline constexpr T ln2_v = T(0.69314718055994530942);
template <class T> inline constexpr T ln10_v = T(2.30258509299404568402);
template <class T> inline constexpr T log2e_v = T(1.44269504088896340736);
template <class T> inline constexpr T log10e_v = T(0.43429448190325182765);
template <class T> inline constexpr T sqrt2_v = T(1.41421356237309504880);
template <class T> inline constexpr T sqrt3_v = T(1.73205080756887729353);
template <class T> inline constexpr T phi_v = T(1.61803398874989484820);
inline constexpr double pi = pi_v<double>, e = e_v<double>, inv_pi = inv_pi_v<double>, ln2 = ln2_v<double>, ln10 = ln10_v<double>;
inline constexpr double log2e = log2e_v<double>, log10e = log10e_v<double>, sqrt2 = sqrt2_v<double>, sqrt3 = sqrt3_v<double>;
inline constexpr double phi = phi_v<double>;
}  // namespace numbers

}  // namespace std
