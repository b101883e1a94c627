// cast: every pair of dtypes, on values around every limit and every tie, against exact integer arithmetic. In vectors, in
// what is left over after the last whole vector, and alone; fused, unfused, of Arrays, of constants and numbers.
#include <damo/damo.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include <gmock/gmock.h>

#include "support/devices.hpp"

namespace damo::testing {
namespace {

__extension__ typedef __int128 Int128;
using Words = std::vector<std::uint64_t>;  // elements of a dtype, each in the low bytes of one

int bits_of(DType dtype) { return static_cast<int>(8 * itemsize(dtype)); }
std::uint64_t low_bits(std::uint64_t word, int count) { return count == 64 ? word : word & ((std::uint64_t{1} << count) - 1); }

/// Digits (with the hidden one) and exponents of a floating dtype.
struct Format {
  int digits, least, most;
  bool has_infinity = true;  ///< else all bits set is the one NaN, and the rest of the last exponent are numbers
};
Format format_of(DType dtype) {
  if (is_float8(dtype)) return dtype == float8_e4m3 ? Format{4, -6, 8, false} : Format{3, -14, 15};
  return dtype == float16 ? Format{11, -14, 15} : dtype == bfloat16 ? Format{8, -126, 127} : dtype == float32 ? Format{24, -126, 127} : Format{53, -1022, 1023};
}

/// A value of any dtype: sign * mantissa * 2^exponent, or infinity, or NaN.
struct Exact {
  enum Kind { kNumber, kInfinity, kNaN } kind = kNumber;
  bool negative = false;
  std::uint64_t mantissa = 0;
  int exponent = 0;
};

Exact exact(DType dtype, std::uint64_t word) {
  const int bits = bits_of(dtype);
  const bool negative = is_signed(dtype) && (word >> (bits - 1) & 1) != 0;
  if (!is_floating(dtype)) return {Exact::kNumber, negative, negative ? low_bits(0 - word, bits) : word, 0};
  const Format format = format_of(dtype);
  const std::uint64_t mantissa = low_bits(word, format.digits - 1), field = low_bits(word, bits - 1) >> (format.digits - 1);
  const int biased = static_cast<int>(field), special = format.most - format.least + 2;
  if (!format.has_infinity && low_bits(word, bits - 1) == low_bits(~std::uint64_t{0}, bits - 1)) return {Exact::kNaN, negative, 0, 0};
  if (biased == special) return {mantissa ? Exact::kNaN : Exact::kInfinity, negative, 0, 0};
  const std::uint64_t hidden = std::uint64_t{biased != 0} << (format.digits - 1);
  return {Exact::kNumber, negative, mantissa | hidden, std::max(biased, 1) - 1 + format.least - (format.digits - 1)};
}

/// Towards zero, the nearest integer of the dtype; NaN gives 0.
std::uint64_t integer_of(const Exact& x, DType dtype) {
  if (x.kind == Exact::kNaN) return 0;
  Int128 size = x.mantissa;
  if (x.kind == Exact::kInfinity || (x.mantissa != 0 && x.exponent > 60)) size = Int128{1} << 100;
  else if (x.exponent >= 0) size <<= x.exponent;
  else size = x.exponent < -63 ? 0 : size >> -x.exponent;
  const int digits = bits_of(dtype) - (is_signed(dtype) ? 1 : 0);
  const Int128 least = is_signed(dtype) ? -(Int128{1} << digits) : 0, most = (Int128{1} << digits) - 1;
  return low_bits(static_cast<std::uint64_t>(std::clamp(x.negative ? -size : size, least, most)), bits_of(dtype));
}

/// The nearest number, ties to even.
std::uint64_t floating_of(const Exact& x, DType dtype) {
  const Format format = format_of(dtype);
  const int mantissa_bits = format.digits - 1;
  const auto biased = [&](int exponent) { return static_cast<std::uint64_t>(exponent - format.least + 1) << mantissa_bits; };
  const std::uint64_t sign = std::uint64_t{x.negative} << (bits_of(dtype) - 1), infinity = biased(format.most + 1) - (format.has_infinity ? 0 : 1);
  if (x.kind == Exact::kNaN) return infinity | 1;  // of float8_e4m3 `infinity` is its NaN
  if (x.kind == Exact::kInfinity) return sign | infinity;
  if (x.mantissa == 0) return sign;
  const int top = 63 - std::countl_zero(x.mantissa) + x.exponent;  // 2^top <= x < 2^(top + 1)
  const int cut = std::max(top, format.least) - mantissa_bits - x.exponent;
  std::uint64_t whole = 0;  // in units of the last place
  if (cut <= 0) whole = x.mantissa << -cut;
  else if (cut <= 64) {
    const std::uint64_t kept = cut == 64 ? 0 : x.mantissa >> cut, rest = low_bits(x.mantissa, cut), half = std::uint64_t{1} << (cut - 1);
    whole = kept + (rest > half || (rest == half && (kept & 1)) ? 1 : 0);
  }
  // A mantissa that grew by a digit moves the exponent by itself; a denormal has the least exponent and no hidden digit.
  const std::uint64_t size = top < format.least ? whole : biased(top) + whole - (std::uint64_t{1} << mantissa_bits);
  return sign | std::min(size, infinity);
}

/// What a cast gives, by the rule of ops/cast.hpp.
std::uint64_t cast_of(DType from, std::uint64_t word, DType to) {
  const Exact x = exact(from, word);
  if (to == bool_) return x.kind != Exact::kNumber || x.mantissa != 0;
  if (is_floating(to)) return floating_of(x, to);
  return is_floating(from) ? integer_of(x, to) : low_bits(x.negative ? 0 - x.mantissa : x.mantissa, bits_of(to));
}

bool same(DType dtype, std::uint64_t a, std::uint64_t b) {
  return a == b || (is_floating(dtype) && exact(dtype, a).kind == Exact::kNaN && exact(dtype, b).kind == Exact::kNaN);
}

std::string text_of(DType dtype, std::uint64_t word) { return std::string(name(dtype)) + " " + to_string(Scalar::load(dtype, &word)); }

/// Ties of the 8- and 16-bit formats and of float32 with their neighbours, limits of every integer dtype, random patterns.
Words samples(DType dtype, int random_count) {
  std::mt19937_64 random(3);
  Words words;
  const auto put = [&](double value) { words.push_back(floating_of(exact(float64, std::bit_cast<std::uint64_t>(value)), dtype)); };
  if (dtype == bool_) {
    for (int i = 0; i < 77; ++i) words.push_back(random() & 1);
  } else if (!is_floating(dtype)) {
    const int bits = bits_of(dtype);
    for (int shift = 0; shift < bits; ++shift) {
      for (const std::uint64_t step : {~std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{1}}) {
        // Numbers of 8, 11 and 24 digits and a half, and such with a last digit that only an exact rounding sees.
        for (const std::uint64_t digits : {0x1u, 0x101u, 0x103u, 0x801u, 0x803u, 0x1000001u, 0x1000003u}) {
          words.push_back(low_bits((digits << shift) + step, bits)), words.push_back(low_bits(0 - ((digits << shift) + step), bits));
        }
      }
    }
    for (int i = 0; i < random_count; ++i) words.push_back(low_bits(random(), bits) >> random() % static_cast<unsigned>(bits));
  } else {
    for (const double value : {0.0, 0.5, 0.99999, 1.5, 2.5, 1e300, 1e-300, 65535.0, 65535 * 57.29577951308232, HUGE_VAL, std::nan("")}) put(value), put(-value);
    for (int power = 7; power <= 64; ++power) {
      const double limit = std::ldexp(1.0, power);
      for (const double step : {0.0, 0.5, 1.0, 1.5}) put(limit + step), put(limit - step), put(-limit - step), put(step - limit);
      put(std::nextafter(limit, 0)), put(-std::nextafter(limit, 1e300)), put(std::nextafter(static_cast<float>(limit), 0.0F)), put(-std::nextafter(static_cast<float>(limit), 1e30F));
    }
    for (int i = 0; i < random_count; ++i) {
      // 3, 4, 8, 11 or 24 digits, one more that makes it a tie, and perhaps a bit far below that decides it.
      const int digits[] = {8, 11, 24, 3, 4}, n = digits[random() % 5];
      const int exponent = static_cast<int>(random() % (i % 2 ? 44 : 300)) - (i % 2 ? 26 : 160);
      const double tie = static_cast<double>((random() >> (64 - n)) * 2 + 1), offset[] = {0, 0x1p-27, -0x1p-27, 0x1p-12};
      put(std::ldexp((i % 4 < 2 ? 1 : -1) * (tie + offset[random() % 4]), exponent - n));
      words.push_back(low_bits(random(), bits_of(dtype)));
    }
  }
  return words;
}

template <class T>
Array array_of(const Words& words, Device device) {
  return Array::from(std::vector<T>(words.begin(), words.end()), device);
}
Array array_of(DType dtype, const Words& words, Device device) {
  const std::size_t bytes = itemsize(dtype);
  const Array plain = bytes == 1   ? array_of<std::uint8_t>(words, device)
                      : bytes == 2 ? array_of<std::uint16_t>(words, device)
                      : bytes == 4 ? array_of<std::uint32_t>(words, device)
                                   : array_of<std::uint64_t>(words, device);
  return plain.view(dtype, plain.shape(), plain.strides(), 0);
}

void expect_cast(const Array& got, DType from, const Words& words, const std::string& how) {
  const std::size_t item = itemsize(got.dtype());
  std::vector<std::byte> bytes(words.size() * item);
  ASSERT_EQ(got.nbytes(), bytes.size());
  got.to_host(bytes.data());
  int wrong = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i * item, item);
    const std::uint64_t want = cast_of(from, words[i], got.dtype());
    if (same(got.dtype(), word, want) || ++wrong > 2) continue;
    ADD_FAILURE() << how << ": " << text_of(from, words[i]) << " is " << text_of(got.dtype(), word) << ", not " << text_of(got.dtype(), want) << " (element " << i << " of "
                  << words.size() << ")";
  }
  EXPECT_EQ(wrong, 0) << how << ", " << name(from) << " to " << name(got.dtype());
}

class CastOnEachDevice : public OnEachDevice {};

TEST_P(CastOnEachDevice, GivesTheExactRoundingOrTheNearestIntegerForEveryPairOfDtypes) {
  for (const DType source : kAllDTypes) {
    Words words = samples(source, 2000);
    while (words.size() % 64 != 37) words.push_back(words[words.size() / 2]);  // something is left over of any vector
    const Variable x = vector("x", source);
    std::vector<Variable> outputs;
    for (const DType target : kAllDTypes) outputs.push_back(target == source ? identity(x) : cast(x, target));
    const Variable inputs[] = {x};
    const Array array = array_of(source, words, device());
    for (const bool fuse : {true, false}) {
      const Results results = function(inputs, outputs, {.fuse = fuse, .device = device()})(array);
      for (std::size_t i = 0; i < results.size(); ++i) expect_cast(results[i], source, words, fuse ? "fused" : "unfused");
    }
    for (const DType target : kAllDTypes) {
      expect_cast(astype(array, target), source, words, "astype");
      if (target != int8 && target != uint64 && target != bfloat16 && target != float8_e4m3) continue;
      const Array column = Array::zeros({array.size(), 2}, target, device()).slice({{}, {0, 1}});
      assign(column, array.reshape({array.size(), 1}));
      expect_cast(column.copy(), source, words, "assign");
    }
  }
}

TEST_P(CastOnEachDevice, GivesTheSameForOneElementAsForMany) {
  for (const DType source : {float8_e5m2, float16, bfloat16, float32, float64, int64, uint64}) {
    const Words all = samples(source, 3);
    const Variable x = vector("x", source), number = scalar("number", source);
    std::vector<Variable> outputs;
    for (const DType target : kAllDTypes) {
      if (target != source) outputs.insert(outputs.end(), {cast(x, target), cast(number, target)});
    }
    const Variable inputs[] = {x, number};
    const Function f = function(inputs, outputs, {.device = device()});
    for (std::size_t i = 0; i < all.size(); i += 11) {
      const Words one = {all[i]};
      const Array array = array_of(source, one, device());
      const Results results = f(array, array.reshape({}));
      for (const Array& result : results) expect_cast(result, source, one, "one element");
    }
    std::vector<Variable> constants;
    const Words some = {all[1], all[5], all.back()};
    for (const std::uint64_t word : some) constants.push_back(cast(constant(Scalar::load(source, &word)), int8));
    const Results results = function(std::span<const Variable>(), constants, {.device = device()})();
    for (std::size_t i = 0; i < some.size(); ++i) expect_cast(results[i], source, {some[i]}, "a constant");
  }
}

TEST_P(CastOnEachDevice, LeavesNoOtherResultUnwritten) {
  // A conversion that is undefined lets a compiler leave out what stands beside it.
  const Variable y = constant(Scalar(1e30));
  const Results results = function({}, {atanh(constant(-4.0)), sin(cast(y, int64)), cast(y, int8)}, {.device = device()})();
  EXPECT_TRUE(std::isnan(results[0].item().as_double()));
  EXPECT_NEAR(results[1].item().as_double(), std::sin(0x1p63), 1e-12);
  EXPECT_EQ(results[2].item().as_int(), 127);
}

TEST_P(CastOnEachDevice, RoundsOnceWhereAnArrayOfSixteenBitsIsWrittenInPlace) {
  const double above_the_tie = 1 + 0x1p-11 + 0x1p-40, above_the_other = 1 + 0x1p-8 + 0x1p-40;
  for (const auto& [dtype, value, want] : {std::tuple(float16, above_the_tie, 1 + 0x1p-10), {bfloat16, above_the_other, 1 + 0x1p-7}}) {
    const Array target = Array::zeros({3}, dtype, device());
    target += Array::full({3}, value, float64, device());
    EXPECT_EQ(target.to_doubles()[1], want) << name(dtype);
  }
}

TEST_P(CastOnEachDevice, KeepsNumbersAbove2To63) {
  const std::uint64_t large = 0x8000000000000003u;
  const Variable x = vector("x", uint64), f = vector("f", float64), i = vector("i", int64);
  const Array one = Array::from(std::vector<std::uint64_t>{1}, device());
  const auto run = [&](const Variable& y, const Variable& in, const Array& a) { return Array(function({in}, {y}, {.device = device()})(a)); };
  EXPECT_EQ(run(x + large, x, one).to_vector<std::uint64_t>()[0], large + 1);
  EXPECT_EQ(run(x + 9223372036854775812ull, x, one).to_vector<std::uint64_t>()[0], 9223372036854775813ull);
  EXPECT_EQ(run(f + 9223372036854775812ull, f, astype(one, float64)).to_vector<double>()[0], 0x1p63);
  EXPECT_EQ(run(lt(i, 9223372036854775812ull), i, astype(one, int64)).to_doubles()[0], 1);
  EXPECT_EQ((one + large).to_vector<std::uint64_t>()[0], large + 1);
  EXPECT_EQ((one + 9223372036854775812ull).to_vector<std::uint64_t>()[0], 9223372036854775813ull);
  EXPECT_THAT(error_of([&] { i + 9223372036854775812ull; }), ::testing::HasSubstr("add: 9223372036854775812 does not fit int64"));
}

DAMO_ON_EACH_DEVICE(CastOnEachDevice);

TEST(ScalarCast, GivesTheExactRoundingOrTheNearestIntegerForEveryPairOfDtypes) {
  for (const DType source : kAllDTypes) {
    for (const std::uint64_t word : samples(source, 3000)) {
      for (const DType target : kAllDTypes) {
        std::uint64_t got = 0;
        Scalar::load(source, &word).cast(target).store(&got);
        ASSERT_TRUE(same(target, got, cast_of(source, word, target))) << text_of(source, word) << " is " << text_of(target, got);
      }
    }
  }
}

TEST(HalfConversions, RoundOnceFromEveryNumber) {
  for (const std::uint64_t word : samples(float64, 100000)) {
    const double value = std::bit_cast<double>(word);
    ASSERT_TRUE(same(float16, Half(value).bits, cast_of(float64, word, float16))) << std::hexfloat << value;
    ASSERT_TRUE(same(bfloat16, BFloat16(value).bits, cast_of(float64, word, bfloat16))) << std::hexfloat << value;
    ASSERT_TRUE(same(float8_e4m3, Float8E4M3(value).bits, cast_of(float64, word, float8_e4m3))) << std::hexfloat << value;
    ASSERT_TRUE(same(float8_e5m2, Float8E5M2(value).bits, cast_of(float64, word, float8_e5m2))) << std::hexfloat << value;
  }
  for (const std::uint64_t word : samples(int64, 100000)) {
    const auto value = static_cast<std::int64_t>(word);
    ASSERT_EQ(Half(value).bits, cast_of(int64, word, float16)) << value;
    ASSERT_EQ(BFloat16(value).bits, cast_of(int64, word, bfloat16)) << value;
    ASSERT_EQ(BFloat16(word).bits, cast_of(uint64, word, bfloat16)) << word;
  }
}

}  // namespace
}  // namespace damo::testing
