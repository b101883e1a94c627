#include <damo/scalar.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

namespace damo {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(),
                       kLeast = std::numeric_limits<std::int64_t>::min();

TEST(Scalar, KnowsItsDType) {
  EXPECT_EQ(Scalar(true).dtype(), bool_);
  EXPECT_EQ(Scalar(std::int8_t{-3}).dtype(), int8);
  EXPECT_EQ(Scalar(std::int8_t{-3}).as_int(), -3);
  EXPECT_EQ(Scalar(1.5f).dtype(), float32);
  EXPECT_EQ(Scalar(Half(1.5f)).as_double(), 1.5);
  EXPECT_EQ(Scalar(~std::uint64_t{0}).as_double(), 0x1p64);
}

TEST(Scalar, CastWrapsIntegers) {
  EXPECT_EQ(Scalar(300).cast(int8).as_int(), 44);
  EXPECT_EQ(Scalar(-1).cast(uint8).as_int(), 255);
  EXPECT_EQ(Scalar(-1).cast(uint64).as_double(), 0x1p64);
  EXPECT_EQ(Scalar(~std::uint64_t{0}).cast(int64).as_int(), -1);
  EXPECT_EQ(Scalar(-7).cast(bool_).as_int(), 1);
  EXPECT_EQ(Scalar(kMost).cast(float64).as_double(), 0x1p63);
}

TEST(Scalar, CastOfAFloatCutsOffTheFraction) {
  EXPECT_EQ(Scalar(-2.9).cast(int32).as_int(), -2);
  EXPECT_EQ(Scalar(0.5).cast(bool_).as_int(), 1);
  EXPECT_EQ(Scalar(kNaN).cast(bool_).as_int(), 1);
  EXPECT_EQ(Scalar(-0.0).cast(bool_).as_int(), 0);
  EXPECT_EQ(Scalar(300.7).cast(int8).as_int(), 127) << "the nearest that int8 has";
  EXPECT_EQ(Scalar(-1.0).cast(uint8).as_int(), 0);
  EXPECT_EQ(Scalar(0x1p63).cast(uint64).as_double(), 0x1p63);
}

TEST(Scalar, CastOfAFloatBeyond64BitsIsDefined) {
  EXPECT_EQ(Scalar(kNaN).cast(int64).as_int(), 0);
  EXPECT_EQ(Scalar(-kInfinity).cast(int64).as_int(), kLeast);
  EXPECT_EQ(Scalar(kInfinity).cast(uint64).as_double(), 0x1p64);
  EXPECT_EQ(Scalar(kInfinity).as_int(), kMost);
  EXPECT_EQ(Scalar(kNaN).as_int(), 0);
}

TEST(Scalar, CastToSixteenBitsRoundsOnce) {
  // Just above the middle of 1 and its neighbour: rounding to float first would make it the middle, and then 1.
  EXPECT_EQ(Scalar(1 + 0x1p-11 + 0x1p-40).cast(float16).as_double(), 1 + 0x1p-10);
  EXPECT_EQ(Scalar(1 + 0x1p-11).cast(float16).as_double(), 1.0);
  EXPECT_EQ(Scalar(1 + 0x1p-8 + 0x1p-40).cast(bfloat16).as_double(), 1 + 0x1p-7);
  EXPECT_EQ(Scalar(-(1 + 0x1p-10 + 0x1p-11 - 0x1p-40)).cast(float16).as_double(), -(1 + 0x1p-10));
  EXPECT_EQ(Scalar(65519.999999).cast(float16).as_double(), 65504);
  EXPECT_EQ(Scalar(1e300).cast(float16).as_double(), kInfinity);
  EXPECT_EQ(Scalar(-1e300).cast(bfloat16).as_double(), -kInfinity);
  EXPECT_TRUE(std::signbit(Scalar(-1e-300).cast(float16).as_double()));
  EXPECT_TRUE(std::isnan(Scalar(kNaN).cast(float16).as_double()));
}

TEST(Scalar, OfACppNumberKeepsItsSign) {
  EXPECT_EQ(to_string(weak_number(9223372036854775812ull)), "9223372036854775812");
  EXPECT_EQ(to_string(weak_number(9223372036854775812ul)), "9223372036854775812");
  EXPECT_EQ(weak_number(3u).dtype(), int64);
  EXPECT_EQ(weak_number(3.0F).dtype(), float64);
  EXPECT_EQ(weak_number(true).dtype(), bool_);
}

TEST(Scalar, FitsSaysWhatNumPyTakes) {
  EXPECT_TRUE(Scalar(127).fits(int8));
  EXPECT_FALSE(Scalar(128).fits(int8));
  EXPECT_FALSE(Scalar(300).fits(int8));
  EXPECT_TRUE(Scalar(-128).fits(int8));
  EXPECT_FALSE(Scalar(-1).fits(uint8));
  EXPECT_FALSE(Scalar(-1).fits(uint64));
  EXPECT_FALSE(Scalar(~std::uint64_t{0}).fits(int64));
  EXPECT_TRUE(Scalar(~std::uint64_t{0}).fits(uint64));
  EXPECT_TRUE(Scalar(1e30).fits(float16)) << "rounds to infinity, as in NumPy";
  EXPECT_FALSE(Scalar(1.0).fits(int32));
  EXPECT_TRUE(Scalar(true).fits(int8));
  EXPECT_TRUE(Scalar(5).fits(bfloat16));
}

TEST(Scalar, StoresTheBytesOfItsDType) {
  for (const DType dtype : kAllDTypes) {
    std::array<unsigned char, 16> bytes;
    bytes.fill(0xee);
    Scalar(1).cast(dtype).store(bytes.data());
    for (std::size_t i = itemsize(dtype); i < bytes.size(); ++i) EXPECT_EQ(bytes[i], 0xee) << name(dtype);
    const Scalar again = Scalar::load(dtype, bytes.data());
    EXPECT_EQ(again.dtype(), dtype);
    EXPECT_EQ(again.as_double(), 1.0) << name(dtype);
  }
  const std::int16_t value = -2;
  EXPECT_EQ(Scalar::load(int16, &value).as_int(), -2);
  std::uint16_t half;
  Scalar(1.5).cast(float16).store(&half);
  EXPECT_EQ(half, 0x3e00);
}

TEST(Scalar, PrintsTheShortestTextThatReadsBack) {
  EXPECT_EQ(to_string(Scalar(true)), "true");
  EXPECT_EQ(to_string(Scalar(-3)), "-3");
  EXPECT_EQ(to_string(Scalar(~std::uint64_t{0})), "18446744073709551615");
  EXPECT_EQ(to_string(Scalar(1.5)), "1.5");
  EXPECT_EQ(to_string(Scalar(0.1f)), "0.1");
  EXPECT_EQ(to_string(Scalar(0.1)), "0.1");
  EXPECT_EQ(to_string(Scalar(Half(0.1f))), "0.1");
  EXPECT_EQ(to_string(Scalar(BFloat16(3.14159f))), "3.14");
  EXPECT_EQ(to_string(Scalar(-kInfinity)), "-inf");
  EXPECT_EQ(to_string(Scalar(-kNaN)), "nan");
  EXPECT_EQ(to_string(Scalar(Half(65504.0f))), "6.55e+04");
}

TEST(Scalar, TextOfEveryHalfReadsBack) {
  for (unsigned bits = 0; bits < 0x7c00; ++bits) {
    Half value;
    value.bits = static_cast<std::uint16_t>(bits);
    const std::string text = to_string(Scalar(value));
    ASSERT_EQ(Half(std::stof(text)).bits, bits) << text;
  }
}

}  // namespace
}  // namespace damo
