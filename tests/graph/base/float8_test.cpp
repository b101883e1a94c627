#include <damo/float8.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <damo/scalar.hpp>

namespace damo {
namespace {

constexpr double kInfinity8 = std::numeric_limits<double>::infinity();
const double kNaN8 = std::nan("");

/// The value of a pattern, straight from the definition.
double value_of_float8(unsigned bits, bool is_e4m3) {
  const int fraction = is_e4m3 ? 3 : 2, bias = is_e4m3 ? 7 : 15;
  const int exponent = static_cast<int>(bits & 0x7fu) >> fraction, mantissa = static_cast<int>(bits & ((1u << fraction) - 1));
  const double sign = bits >> 7 ? -1.0 : 1.0;
  if (is_e4m3 && (bits & 0x7fu) == 0x7fu) return kNaN8;
  if (!is_e4m3 && exponent == 31) return mantissa ? kNaN8 : sign * kInfinity8;
  return sign * std::ldexp(exponent ? mantissa + (1 << fraction) : mantissa, (exponent ? exponent : 1) - bias - fraction);
}

template <class T>
void expect_every_float8(bool is_e4m3) {
  for (unsigned bits = 0; bits < 256; ++bits) {
    T value;
    value.bits = static_cast<std::uint8_t>(bits);
    const double expected = value_of_float8(bits, is_e4m3);
    const float decoded = value;
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(decoded)) << bits;
      EXPECT_EQ(T(decoded).bits, (bits & 0x80u) | (is_e4m3 ? 0x7fu : 0x7eu)) << bits;
    } else {
      EXPECT_EQ(double(decoded), expected) << bits;
      EXPECT_EQ(std::signbit(decoded), std::signbit(expected)) << bits;
      EXPECT_EQ(T(decoded).bits, bits);
    }
  }
}

TEST(Float8, HoldsTheNumbersOfItsFormat) {
  expect_every_float8<Float8E4M3>(true);
  expect_every_float8<Float8E5M2>(false);
}

/// Between each two neighbours: a little below the middle, the middle (to the even one), a little above; by less than a float sees, too.
template <class T>
void expect_nearest_float8(bool is_e4m3, unsigned last) {
  for (const unsigned sign : {0u, 0x80u}) {
    for (unsigned bits = 0; bits < last; ++bits) {
      const double middle = (value_of_float8(sign | bits, is_e4m3) + value_of_float8(sign | (bits + 1), is_e4m3)) / 2;
      const unsigned below = sign | bits, above = sign | (bits + 1), even = bits % 2 ? above : below;
      EXPECT_EQ(T(middle).bits, even) << middle;
      EXPECT_EQ(T(std::nextafter(middle, 0)).bits, below) << middle;
      EXPECT_EQ(T(std::nextafter(middle, sign ? -kInfinity8 : kInfinity8)).bits, above) << middle;
      EXPECT_EQ(T(static_cast<float>(middle)).bits, even) << middle;
    }
  }
}

TEST(Float8, RoundsToTheNearestAndTiesToEven) {
  expect_nearest_float8<Float8E4M3>(true, 0x7e);
  expect_nearest_float8<Float8E5M2>(false, 0x7b);
}

// As Python's ml_dtypes 0.6 converts them: float8_e4m3fn and float8_e5m2.
TEST(Float8, EndsInNaNOrInfinityAndDoesNotSaturate) {
  const struct {
    double value;
    unsigned e4m3, e5m2;
  } cases[] = {{448, 0x7e, 0x5f},   {464, 0x7e, 0x5f},    {464.0001, 0x7f, 0x5f}, {-465, 0xff, 0xdf},     {480, 0x7f, 0x60},        {57344, 0x7f, 0x7b},   {61439.99, 0x7f, 0x7b},
               {61440, 0x7f, 0x7c}, {-1e300, 0xff, 0xfc}, {kInfinity8, 0x7f, 0x7c}, {-kInfinity8, 0xff, 0xfc}, {0x1p-10, 0x00, 0x14},    {0x1.8p-9, 0x02, 0x1a}, {-0x1p-17, 0x80, 0x80},
               {1e-300, 0x00, 0x00}, {-0.0, 0x80, 0x80}};
  for (const auto& [value, e4m3, e5m2] : cases) {
    EXPECT_EQ(Float8E4M3(value).bits, e4m3) << value;
    EXPECT_EQ(Float8E5M2(value).bits, e5m2) << value;
  }
  EXPECT_EQ(Float8E4M3(std::uint64_t{1} << 63).bits, 0x7f);
  EXPECT_EQ(Float8E5M2(std::int64_t{-40961}).bits, 0xf9);
}

TEST(Float8, ScalarsKeepAndPrintItsNumbers) {
  EXPECT_EQ(to_string(Scalar(0.3).cast(float8_e4m3)), "0.3");
  EXPECT_EQ(Scalar(0.3).cast(float8_e4m3).as_double(), 0.3125);
  EXPECT_EQ(to_string(Scalar(1e9).cast(float8_e4m3)), "nan");
  EXPECT_EQ(to_string(Scalar(-1e9).cast(float8_e5m2)), "-inf");
  EXPECT_EQ(Scalar(Float8E5M2(3.0f)).dtype(), float8_e5m2);
}

}  // namespace
}  // namespace damo
