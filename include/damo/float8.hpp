// Float8E4M3 and Float8E5M2: the host's values of float8_e4m3 and float8_e5m2 arrays, as the Open Compute Project's 8-bit
// floating point has them. Storage and conversion only; compute in float.
//
//   Float8E4M3   4 bits of exponent, 3 of fraction: up to 448, steps of 2^-9 near 0; no infinity, NaN is 0x7f and 0xff (the "fn" form of other libraries)
//   Float8E5M2   5 bits of exponent, 2 of fraction: up to 57344, steps of 2^-16 near 0; infinity 0x7c, as IEEE 754 would have it
//
// Conversion to nearest, ties to even, in one rounding whatever it comes from. What rounds to more than the greatest number becomes NaN in
// Float8E4M3 and infinity in Float8E5M2, with its sign; a NaN becomes 0x7f or 0x7e, with its sign. Nothing saturates: a scale that is too large
// shows. See tests/graph/base/float8_test.cpp.
#pragma once
#include <bit>
#include <concepts>
#include <cstdint>

#include <damo/half.hpp>

namespace damo {

namespace detail {

/// A float in so many bits of exponent and fraction, its numbers ending at `last`; what is beyond, infinity too, is `beyond`.
template <int kExponent, int kFraction>
std::uint8_t encode_float8(float value, std::uint32_t last, std::uint32_t beyond, std::uint32_t nan) {
  constexpr int kBias = (1 << (kExponent - 1)) - 1, kCut = 23 - kFraction;
  constexpr std::uint32_t kLeastNormal = static_cast<std::uint32_t>(127 + 1 - kBias) << 23;
  const std::uint32_t word = std::bit_cast<std::uint32_t>(value), sign = (word >> 24) & 0x80u, magnitude = word & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint8_t>(sign | nan);
  std::uint32_t code = 0;
  if (magnitude < kLeastNormal) {  // steps of 2^(1 - bias - fraction): added to 2^23 of them, the float unit rounds
    constexpr std::uint32_t kSteps = static_cast<std::uint32_t>(127 + 1 - kBias - kFraction + 23) << 23;
    code = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + std::bit_cast<float>(kSteps)) - kSteps;
  } else {
    code = ((magnitude + (1u << (kCut - 1)) - 1 + ((magnitude >> kCut) & 1u)) >> kCut) - (static_cast<std::uint32_t>(127 - kBias) << kFraction);
  }
  return static_cast<std::uint8_t>(sign | (code > last ? beyond : code));
}

}  // namespace detail

struct Float8E4M3 {
  std::uint8_t bits = 0;

  Float8E4M3() = default;
  explicit Float8E4M3(float value) : bits(detail::encode_float8<4, 3>(value, 0x7e, 0x7f, 0x7f)) {}
  template <class T>
    requires(std::integral<T> || std::same_as<T, double>)
  explicit Float8E4M3(T value) : Float8E4M3(rounded_to_odd(value)) {}
  operator float() const {
    const std::uint32_t sign = std::uint32_t{bits & 0x80u} << 24, magnitude = bits & 0x7fu;
    if (magnitude == 0x7f) return std::bit_cast<float>(sign | 0x7fc00000u);
    const float value = magnitude < 8 ? static_cast<float>(magnitude) * 0x1p-9f : std::bit_cast<float>((magnitude << 20) + (120u << 23));
    return sign ? -value : value;
  }
};

struct Float8E5M2 {
  std::uint8_t bits = 0;

  Float8E5M2() = default;
  explicit Float8E5M2(float value) : bits(detail::encode_float8<5, 2>(value, 0x7b, 0x7c, 0x7e)) {}
  template <class T>
    requires(std::integral<T> || std::same_as<T, double>)
  explicit Float8E5M2(T value) : Float8E5M2(rounded_to_odd(value)) {}
  /// The upper half of an IEEE binary16.
  operator float() const {
    Half half;
    half.bits = static_cast<std::uint16_t>(bits << 8);
    return half;
  }
};

}  // namespace damo
