#include <damo/half.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace damo {
namespace {

float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

/// The value of a 16-bit pattern with that many bits of mantissa, straight from the definition.
double value_of(unsigned bits, int mantissa_bits) {
  const int exponent_bits = 15 - mantissa_bits, bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = int(bits & 0x7fffu) >> mantissa_bits, mantissa = int(bits & ((1u << mantissa_bits) - 1));
  const double sign = bits >> 15 ? -1.0 : 1.0;
  if (exponent == (1 << exponent_bits) - 1) {
    return mantissa ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  }
  const int whole = exponent ? mantissa + (1 << mantissa_bits) : mantissa;
  return sign * std::ldexp(double(whole), (exponent ? exponent : 1) - bias - mantissa_bits);
}

template <class T>
void expect_exact_round_trip(int mantissa_bits) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    T value;
    value.bits = static_cast<std::uint16_t>(bits);
    const double expected = value_of(bits, mantissa_bits);
    const float decoded = value;
    const T again(decoded);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(decoded)) << std::hex << bits;
      ASSERT_TRUE(std::isnan(float(again))) << std::hex << bits;
      ASSERT_EQ(again.bits >> 15, bits >> 15) << "the sign of a NaN, " << std::hex << bits;
    } else {
      ASSERT_EQ(double(decoded), expected) << std::hex << bits;
      ASSERT_EQ(std::signbit(decoded), std::signbit(expected)) << std::hex << bits;
      ASSERT_EQ(again.bits, bits) << std::hex << bits;
    }
  }
}

/// Between each two neighbours: a little below the middle, the middle (to the even one), a little above.
template <class T>
void expect_nearest_even(int mantissa_bits) {
  const unsigned infinity = 0x7fffu & ~((1u << mantissa_bits) - 1);
  for (unsigned sign : {0u, 0x8000u}) {
    for (unsigned bits = 0; bits < infinity; ++bits) {
      const unsigned even = bits % 2 ? bits + 1 : bits;
      const double low = value_of(bits, mantissa_bits), high = bits + 1 == infinity
                                                                   ? 2 * low - value_of(bits - 1, mantissa_bits)
                                                                   : value_of(bits + 1, mantissa_bits);
      const float middle = static_cast<float>((low + high) / 2);
      if (double(middle) != (low + high) / 2) continue;  // bfloat16's denormals reach float's own end
      const float signed_middle = sign ? -middle : middle;
      ASSERT_EQ(T(signed_middle).bits, sign | even) << std::hex << bits;
      ASSERT_EQ(T(std::nextafter(signed_middle, 0.0f)).bits, sign | bits) << std::hex << bits;
      const float above = std::nextafter(signed_middle, sign ? -HUGE_VALF : HUGE_VALF);
      ASSERT_EQ(T(above).bits, sign | (bits + 1)) << std::hex << bits;
    }
  }
}

TEST(Half, EveryValueComesBackFromFloat) { expect_exact_round_trip<Half>(10); }
TEST(BFloat16, EveryValueComesBackFromFloat) { expect_exact_round_trip<BFloat16>(7); }
TEST(Half, RoundsToNearestTiesToEven) { expect_nearest_even<Half>(10); }
TEST(BFloat16, RoundsToNearestTiesToEven) { expect_nearest_even<BFloat16>(7); }

TEST(Half, LimitsAreIeee) {
  EXPECT_EQ(Half(65504.0f).bits, 0x7bff);
  EXPECT_EQ(Half(65519.9f).bits, 0x7bff);
  EXPECT_EQ(Half(65520.0f).bits, 0x7c00);
  EXPECT_EQ(Half(-1e30f).bits, 0xfc00);
  EXPECT_EQ(Half(0x1p-24f).bits, 1);
  EXPECT_EQ(Half(0x1p-25f).bits, 0);
  EXPECT_EQ(Half(from_bits(0x7f800001u)).bits & 0x7e00, 0x7e00) << "a signalling NaN becomes quiet";
}

TEST(BFloat16, LimitsAreFloats) {
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(BFloat16(from_bits(0x7f7f7fffu)).bits, 0x7f7f);
  EXPECT_EQ(BFloat16(from_bits(0x7f7f8000u)).bits, 0x7f80);
  EXPECT_TRUE(std::isnan(float(BFloat16(from_bits(0x7f800001u)))));
}

#ifdef __FLT16_MAX__
TEST(Half, RoundsAsTheCompilersOwnType) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000000; ++i) {
    // Half of them in the range where a half is neither 0 nor infinite.
    std::uint32_t word = static_cast<std::uint32_t>(random());
    if (i % 2) word = (word & 0x80ffffffu) | (0x33u + (word >> 24) % 0x15u) << 24;
    const float value = from_bits(word);
    if (std::isnan(value)) continue;
    ASSERT_EQ(Half(value).bits, std::bit_cast<std::uint16_t>(static_cast<_Float16>(value))) << std::hexfloat << value;
  }
}
#endif

}  // namespace
}  // namespace damo
