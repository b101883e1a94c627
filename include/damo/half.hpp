// Half and BFloat16: the host's values of float16 and bfloat16 arrays. Storage and conversion only; compute in float.
// Conversion to nearest, ties to even, in one rounding whatever it comes from; a NaN stays a NaN. See
// tests/graph/base/half_test.cpp.
#pragma once
#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace damo {

/// A number as a float whose last bit says whether anything was cut off: rounding it once more, to 16 bits, gives what
/// rounding the number itself would.
float rounded_to_odd(double number);
template <std::integral T>
float rounded_to_odd(T number);

/// IEEE binary16.
struct Half {
  std::uint16_t bits = 0;

  Half() = default;
  explicit Half(float value) : bits(encode(std::bit_cast<std::uint32_t>(value))) {}
  template <class T>
    requires(std::integral<T> || std::same_as<T, double>)
  explicit Half(T value) : Half(rounded_to_odd(value)) {}
  operator float() const { return decode(bits); }

 private:
  static std::uint16_t encode(std::uint32_t word);
  static float decode(std::uint16_t bits);
};

/// The upper half of a float: 8 bits of exponent, 8 of precision.
struct BFloat16 {
  std::uint16_t bits = 0;

  BFloat16() = default;
  explicit BFloat16(float value) : bits(encode(std::bit_cast<std::uint32_t>(value))) {}
  template <class T>
    requires(std::integral<T> || std::same_as<T, double>)
  explicit BFloat16(T value) : BFloat16(rounded_to_odd(value)) {}
  operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

 private:
  static std::uint16_t encode(std::uint32_t word);
};

inline float rounded_to_odd(double number) {
  const float nearest = static_cast<float>(number);
  const double back = nearest;
  if (back == number || number != number) return nearest;
  const bool is_away = (back < 0 ? -back : back) > (number < 0 ? -number : number);
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(nearest) - (is_away ? 1u : 0u)) | 1u);
}

template <std::integral T>
float rounded_to_odd(T number) {
  if constexpr (sizeof(T) < 8) {
    return rounded_to_odd(static_cast<double>(number));
  } else {  // a double has 53 bits: of a longer number the lowest 11 are folded into one
    const bool negative = number < 0;
    const std::uint64_t size = negative ? std::uint64_t{0} - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
    const std::uint64_t kept = size >> 53 ? (size & ~std::uint64_t{0x7ff}) | (size & 0x7ff ? 0x800u : 0u) : size;
    return rounded_to_odd(negative ? -static_cast<double>(kept) : static_cast<double>(kept));
  }
}

inline std::uint16_t Half::encode(std::uint32_t word) {
  const std::uint32_t sign = (word >> 16) & 0x8000u, magnitude = word & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x47800000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // 2^16 and above: infinity
  if (magnitude < 0x38800000u) {  // below 2^-14: a denormal; adding 0.5 lets the float unit round it
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
  }
  const std::uint32_t rounded = magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<std::uint16_t>(sign | (rounded >> 13));
}

inline float Half::decode(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16, magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | (magnitude << 13));
  if (magnitude < 0x0400u) {  // denormal: magnitude * 2^-24, exact in float
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    return sign ? -value : value;
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
}

inline std::uint16_t BFloat16::encode(std::uint32_t word) {
  if ((word & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((word >> 16) | 0x40u);
  return static_cast<std::uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
}

}  // namespace damo
