// cast: every pair of dtypes, on values around every limit and every tie, against exact arithmetic. In vectors, in what is
// left over after the last whole vector, and alone; fused, unfused, of Arrays, of constants and numbers.
#include <damo/damo.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>

#include <gmock/gmock.h>

#include "support/devices.hpp"

namespace damo::testing {
namespace {

__extension__ typedef __int128 Wide;

/// A value of any dtype as sign * mantissa * 2^exponent, or what has no such form.
struct Exact {
  enum Kind { kNumber, kInfinity, kNaN } kind = kNumber;
  bool negative = false;
  std::uint64_t mantissa = 0;
  int exponent = 0;
};

template <class T>
Exact exact(T value) {
  Exact made;
  if constexpr (std::is_integral_v<T>) {
    made.negative = value < 0;
    made.mantissa = made.negative ? std::uint64_t{0} - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  } else {
    const double wide = static_cast<double>(static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(value));
    made.negative = std::signbit(wide);
    if (std::isnan(wide)) made.kind = Exact::kNaN;
    else if (std::isinf(wide)) made.kind = Exact::kInfinity;
    else {
      int exponent = 0;
      made.mantissa = static_cast<std::uint64_t>(std::ldexp(std::frexp(std::fabs(wide), &exponent), 53));
      made.exponent = exponent - 53;
    }
  }
  return made;
}

/// Towards zero, the nearest integer of T; NaN gives 0.
template <class T>
T integer_of(const Exact& x) {
  using Limits = std::numeric_limits<T>;
  if (x.kind == Exact::kNaN) return 0;
  Wide size = x.mantissa;
  if (x.kind == Exact::kInfinity || (x.mantissa != 0 && x.exponent > 60)) size = Wide{1} << 100;
  else if (x.exponent >= 0) size <<= x.exponent;
  else size = x.exponent < -63 ? 0 : size >> -x.exponent;
  const Wide value = x.negative ? -size : size;
  return static_cast<T>(std::clamp(value, Wide{Limits::min()}, Wide{Limits::max()}));
}

/// The bits of the nearest number with that many digits (the hidden one too) and exponents, ties to even.
std::uint64_t rounded(const Exact& x, int digits, int least_exponent, int most_exponent) {
  const int mantissa_bits = digits - 1;
  const auto biased = [&](int exponent) { return static_cast<std::uint64_t>(exponent - least_exponent + 1) << mantissa_bits; };
  if (x.kind == Exact::kInfinity) return biased(most_exponent + 1);
  if (x.mantissa == 0) return 0;
  int top = 63 - std::countl_zero(x.mantissa) + x.exponent;  // 2^top <= x
  const int unit = std::max(top, least_exponent) - mantissa_bits;
  const int cut = unit - x.exponent;
  std::uint64_t whole = 0;
  if (cut <= 0) whole = x.mantissa << -cut;
  else if (cut > 64) whole = 0;
  else {
    const std::uint64_t kept = cut == 64 ? 0 : x.mantissa >> cut, rest = cut == 64 ? x.mantissa : x.mantissa & ((std::uint64_t{1} << cut) - 1);
    const std::uint64_t half = std::uint64_t{1} << (cut - 1);
    whole = kept + (rest > half || (rest == half && (kept & 1)));
  }
  // A mantissa that grew by a digit moves the exponent by itself; a denormal has the least exponent and no hidden digit.
  const std::uint64_t bits = top < least_exponent ? whole : biased(top) + whole - (std::uint64_t{1} << mantissa_bits);
  return std::min(bits, biased(most_exponent + 1));
}

template <class To>
std::uint64_t floating_bits(const Exact& x) {
  const bool half = std::is_same_v<To, Half>, brain = std::is_same_v<To, BFloat16>, single = std::is_same_v<To, float>;
  const std::uint64_t size = half ? rounded(x, 11, -14, 15) : brain ? rounded(x, 8, -126, 127) : single ? rounded(x, 24, -126, 127) : rounded(x, 53, -1022, 1023);
  return size | static_cast<std::uint64_t>(x.negative) << (8 * sizeof(To) - 1);
}

/// What a cast of from is, by the rule of ops/cast.hpp.
template <class To, class From>
To cast_of(From from) {
  if constexpr (std::is_same_v<To, From>) return from;
  else if constexpr (std::is_same_v<To, bool>) return exact(from).kind != Exact::kNumber || exact(from).mantissa != 0;
  else if constexpr (std::is_integral_v<To>) {
    if constexpr (std::is_integral_v<From>) return static_cast<To>(from);
    else return integer_of<To>(exact(from));
  } else {
    const Exact x = exact(from);
    To to{};
    if (x.kind == Exact::kNaN) {
      to = To(std::numeric_limits<float>::quiet_NaN());
    } else {
      const std::uint64_t bits = floating_bits<To>(x);
      std::memcpy(&to, &bits, sizeof to);
    }
    return to;
  }
}

template <class T>
bool same(T a, T b) {
  if constexpr (!std::is_integral_v<T>) {
    const auto wide = [](T x) { return static_cast<double>(static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(x)); };
    if (std::isnan(wide(a)) || std::isnan(wide(b))) return std::isnan(wide(a)) && std::isnan(wide(b));
  }
  return std::memcmp(&a, &b, sizeof a) == 0;
}

/// Ties of the 16-bit formats and of float32 with their neighbours, limits of every integer dtype, random patterns.
template <class T>
std::vector<T> samples(int random_count) {
  std::mt19937_64 random(3);
  std::vector<T> values;
  if constexpr (std::is_same_v<T, bool>) {
    for (int i = 0; i < 77; ++i) values.push_back(random() & 1);
  } else if constexpr (std::is_integral_v<T>) {
    for (int shift = 0; shift < 64; ++shift) {
      for (const std::int64_t step : {-1, 0, 1}) {
        // A number of 8, 11 and 24 digits and a half, and that with a last digit that only an exact rounding sees.
        for (const std::uint64_t digits : {std::uint64_t{0x101}, std::uint64_t{0x103}, std::uint64_t{0x801}, std::uint64_t{0x803}, std::uint64_t{0x1000001}, std::uint64_t{0x1000003}, std::uint64_t{1}}) {
          const std::uint64_t word = (digits << shift) + static_cast<std::uint64_t>(step);
          values.push_back(static_cast<T>(word)), values.push_back(static_cast<T>(0 - word));
        }
      }
    }
    for (int i = 0; i < random_count; ++i) values.push_back(static_cast<T>(random() >> random() % 64));
  } else {
    std::vector<double> wide = {0, 0.5, 0.99999, 1, 1.5, 2.5, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN(), 1e300, 1e-300, 65535, 65536};
    for (int power = 7; power <= 64; ++power) {
      const double limit = std::ldexp(1.0, power);
      for (const double step : {0.0, 0.5, 1.0, 1.5}) wide.push_back(limit + step), wide.push_back(limit - step);
      wide.push_back(std::nextafter(limit, 0)), wide.push_back(std::nextafter(limit, 1e300));
      wide.push_back(std::nextafter(static_cast<float>(limit), 0.0F)), wide.push_back(std::nextafter(static_cast<float>(limit), 1e30F));
    }
    for (int i = 0; i < random_count; ++i) {
      // 8, 11 or 24 digits, one more that makes it a tie, and perhaps a bit far below that decides it.
      const int digits[] = {8, 11, 24}, n = digits[random() % 3];
      const int exponent = static_cast<int>(random() % (i % 2 ? 44 : 300)) - (i % 2 ? 26 : 160);
      const double tie = static_cast<double>((random() >> (64 - n)) * 2 + 1);
      const double offset[] = {0, 0x1p-27, -0x1p-27, 0x1p-12}, value = std::ldexp(tie + offset[random() % 4], exponent - n);
      wide.push_back(value);
      wide.push_back(std::bit_cast<double>(random()));
      wide.push_back(static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(random()))));
    }
    for (const double value : std::vector<double>(wide)) wide.push_back(-value);
    for (const double value : wide) values.push_back(T(static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(value)));
  }
  return values;
}

class CastOnEachDevice : public OnEachDevice {
 protected:
  template <class T>
  Array on_device(const std::vector<T>& values) const {
    const std::unique_ptr<T[]> raw(new T[values.size()]);
    std::copy(values.begin(), values.end(), raw.get());
    return Array::from(std::span<const T>(raw.get(), values.size()), {static_cast<std::int64_t>(values.size())}, device());
  }
  template <class To, class From>
  void expect_cast(const Array& got, const std::vector<From>& from, const std::string& how) {
    const std::unique_ptr<To[]> values(new To[from.size()]);
    got.to_host(values.get());
    int wrong = 0;
    for (std::size_t i = 0; i < from.size(); ++i) {
      const To want = cast_of<To>(static_cast<From>(from[i]));
      if (same(values[i], want) || ++wrong > 3) continue;
      const Exact x = exact(static_cast<From>(from[i]));
      ADD_FAILURE() << how << ": " << name(dtype_of<From>()) << (x.negative ? " -" : " ") << x.mantissa << " * 2^" << x.exponent << " to " << name(dtype_of<To>())
                    << " is " << to_string(Scalar(values[i])) << ", not " << to_string(Scalar(want)) << " (element " << i << " of " << from.size() << ")";
    }
    EXPECT_EQ(wrong, 0) << how << ", " << name(dtype_of<From>()) << " to " << name(dtype_of<To>());
  }
};

TEST_P(CastOnEachDevice, GivesTheExactRoundingOrTheNearestIntegerForEveryPairOfDtypes) {
  for (const DType source : kAllDTypes) {
    visit(source, [&](auto zero) {
      using From = decltype(zero);
      std::vector<From> values = samples<From>(2000);
      while (values.size() % 64 != 37) values.push_back(values[values.size() / 2]);  // a tail
      const Variable x = vector("x", source);
      std::vector<Variable> outputs;
      for (const DType target : kAllDTypes) outputs.push_back(target == source ? identity(x) : cast(x, target));
      const Variable inputs[] = {x};
      const Array array = on_device(values);
      for (const bool fuse : {true, false}) {
        const Results results = function(inputs, outputs, {.fuse = fuse, .device = device()})(array);
        for (std::size_t i = 0; i < outputs.size(); ++i) {
          visit(kAllDTypes[i], [&](auto to) { expect_cast<decltype(to)>(results[i], values, fuse ? "fused" : "unfused"); });
        }
      }
      for (const DType target : kAllDTypes) {
        visit(target, [&](auto to) {
          expect_cast<decltype(to)>(astype(array, target), values, "astype");
          const Array column = Array::zeros({array.size(), 2}, target, device()).slice({{}, {0, 1}});
          assign(column, array.reshape({array.size(), 1}));
          expect_cast<decltype(to)>(column.copy(), values, "assign");
        });
      }
    });
  }
}

TEST_P(CastOnEachDevice, GivesTheSameForOneElementAsForMany) {
  for (const DType source : {float16, bfloat16, float32, float64}) {
    visit(source, [&](auto zero) {
      using From = decltype(zero);
      for (const double value : {-1e30, -129.0, -1.0, -0.5, 127.5, 128.0, 255.9, 256.0, 65535.0 * 57, 2147483648.0, 1e19, 1e30, std::numeric_limits<double>::quiet_NaN()}) {
        const From from = From(static_cast<std::conditional_t<std::is_same_v<From, double>, double, float>>(value));
        const std::vector<From> one = {from};
        const Variable x = vector("x", source), number = scalar("number", source);
        for (const DType target : {int8, uint8, int16, uint16, int32, uint32, int64, uint64, bool_}) {
          visit(target, [&](auto to) {
            using To = decltype(to);
            const Results results = function({x, number}, {cast(x, target), cast(number, target)}, {.device = device()})(on_device(one), on_device(one).reshape({}));
            expect_cast<To>(results[0], one, "a vector of one");
            expect_cast<To>(results[1], one, "a scalar");
            EXPECT_TRUE(same(static_cast<To>(Array(function({}, {cast(constant(Scalar(from)), target)}, {.device = device()})()).to_vector<To>()[0]), cast_of<To>(from)))
                << "a constant " << value << " to " << name(target);
          });
        }
      }
    });
  }
}

TEST_P(CastOnEachDevice, LeavesNoOtherResultUnwritten) {
  // A conversion that is undefined lets a compiler leave out what stands beside it.
  const Variable y = constant(Scalar(1e30));
  const Results results = function({}, {atanh(constant(-4.0)), sin(cast(y, int64)), cast(y, int8)}, {.device = device()})();
  EXPECT_TRUE(std::isnan(results[0].item().as_double()));
  EXPECT_NEAR(results[1].item().as_double(), std::sin(static_cast<double>(std::numeric_limits<std::int64_t>::max())), 1e-12);
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
  EXPECT_EQ(run(f + large, f, astype(one, float64)).to_vector<double>()[0], 0x1p63);
  EXPECT_EQ(run(lt(i, large), i, astype(one, int64)).to_vector<bool>()[0], true);
  EXPECT_EQ((one + large).to_vector<std::uint64_t>()[0], large + 1);
  EXPECT_EQ((one + 9223372036854775812ull).to_vector<std::uint64_t>()[0], 9223372036854775813ull);
  EXPECT_THAT(error_of([&] { i + 9223372036854775812ull; }), ::testing::HasSubstr("add: 9223372036854775812 does not fit int64"));
}

DAMO_ON_EACH_DEVICE(CastOnEachDevice);

TEST(ScalarCast, GivesTheExactRoundingOrTheNearestIntegerForEveryPairOfDtypes) {
  for (const DType source : kAllDTypes) {
    visit(source, [&](auto zero) {
      using From = decltype(zero);
      for (const From from : samples<From>(1000)) {
        for (const DType target : kAllDTypes) {
          visit(target, [&](auto to) {
            using To = decltype(to);
            To got{};
            Scalar(from).cast(target).store(&got);
            ASSERT_TRUE(same(got, cast_of<To>(from))) << name(source) << " " << to_string(Scalar(from)) << " to " << name(target) << " is " << to_string(Scalar(got));
          });
        }
      }
    });
  }
}

TEST(HalfConversions, RoundOnceFromEveryNumber) {
  for (const double value : samples<double>(100000)) {
    ASSERT_TRUE(same(Half(value), cast_of<Half>(value))) << std::hexfloat << value;
    ASSERT_TRUE(same(BFloat16(value), cast_of<BFloat16>(value))) << std::hexfloat << value;
  }
  for (const std::int64_t value : samples<std::int64_t>(100000)) {
    ASSERT_TRUE(same(Half(value), cast_of<Half>(value))) << value;
    ASSERT_TRUE(same(BFloat16(value), cast_of<BFloat16>(value))) << value;
    ASSERT_TRUE(same(BFloat16(static_cast<std::uint64_t>(value)), cast_of<BFloat16>(static_cast<std::uint64_t>(value)))) << value;
  }
}

}  // namespace
}  // namespace damo::testing
