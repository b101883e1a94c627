// Reductions and scans told in which dtype they add and multiply, and what comes out: of Variables, of Arrays and of gradients, against float64 on the host.
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "runtime/backend.hpp"
#include "support/devices.hpp"

namespace damo {
namespace {

using ::testing::HasSubstr;
using testing::error_of;
using Values = std::vector<double>;

class Accumulators : public testing::OnEachDevice {
 protected:
  /// middle and a spread around it, in steps of 2^-10 of the spread.
  Array noise(std::int64_t count, double middle, double spread, DType dtype = float32) const {
    std::mt19937 random(3);
    Values values(static_cast<std::size_t>(count));
    for (double& value : values) value = middle + spread * (static_cast<double>(random() % 2048) / 1024 - 1);
    return astype(Array::from(values, {count}, device()), dtype);
  }
  static Variable variable(const Array& x) { return input({x.dtype(), Shape::filled(x.rank(), kUnknown)}, "x"); }
  template <class Build>
  Array of(const Array& x, const Build& build) const {
    const Variable v = variable(x);
    return function({v}, {build(v)}, options())(x)[0];
  }
  /// Both of a graph and at once, which are of one dtype: each element no further from what is right than so many roundings of the result's dtype.
  template <class Build>
  void expect(const Array& x, const Build& build, DType dtype, const Values& right, double roundings, const std::string& what) const {
    for (const Array& found : {of(x, build), build(x)}) {
      EXPECT_EQ(found.dtype(), dtype) << what;
      const Values values = found.to_doubles();
      ASSERT_EQ(values.size(), right.size()) << what;
      for (std::size_t i = 0; i < right.size(); ++i) {
        const double rounded = Scalar(right[i]).cast(dtype).as_double(), step = dtype == float64 ? 0x1p-52 : dtype == float32 ? 0x1p-23 : dtype == float16 ? 0x1p-10 : 0x1p-7;
        if (roundings == 0) ASSERT_EQ(values[i], rounded) << what << " [" << i << "]";
        else ASSERT_NEAR(values[i], right[i], roundings * step * std::fabs(right[i])) << what << " [" << i << "]";
      }
    }
  }
  template <class Work>
  std::uint64_t launches(const Work& work) const {
    const auto before = device().backend().launches.load();
    work();
    return device().backend().launches.load() - before;
  }
};

struct MomentsOfSample {
  double mean = 0, variance = 0, norm = 0, cubes = 0, logarithm = 0;
};
MomentsOfSample moments_of(const Values& x, int ddof) {
  MomentsOfSample found;
  const auto n = static_cast<long double>(x.size());
  long double sum = 0, squares = 0, around = 0, cubes = 0, exponentials = 0;
  for (double value : x) sum += value, squares += static_cast<long double>(value) * value, cubes += std::pow(std::fabs(static_cast<long double>(value)), 3.0L);
  for (double value : x) around += (value - sum / n) * (value - sum / n), exponentials += std::exp(static_cast<long double>(value) - x[0]);
  found.mean = static_cast<double>(sum / n), found.variance = static_cast<double>(around / (n - ddof)), found.norm = static_cast<double>(std::sqrt(squares));
  found.cubes = static_cast<double>(std::cbrt(cubes)), found.logarithm = static_cast<double>(std::log(exponentials) + x[0]);
  return found;
}

TEST_P(Accumulators, RoundOnceWhatReductionsOfLongRowsGive) {
  for (const DType dtype : {float16, bfloat16, float32}) {
    const Array x = noise(20000, 40, dtype == float32 ? 0.01 : 2, dtype);
    const MomentsOfSample right = moments_of(x.to_doubles(), 1);
    const std::string what(name(dtype));
    // To the last bit: the sum's error in float64 is far below half a step of the result, which only by chance lies so close to the middle of two.
    expect(x, [](const auto& v) { return var(v, {}, {.ddof = 1, .acc_dtype = float64}); }, dtype, {right.variance}, 0, "var of " + what);
    expect(x, [](const auto& v) { return stddev(v, {}, {.ddof = 1, .keepdims = true, .acc_dtype = float64}); }, dtype, {std::sqrt(right.variance)}, 0, "stddev of " + what);
    expect(x, [](const auto& v) { return norm(v, {}, {.acc_dtype = float64}); }, dtype, {right.norm}, 0, "norm of " + what);
    expect(x, [](const auto& v) { return logsumexp(v, {}, {.acc_dtype = float64}); }, dtype, {right.logarithm}, 0, "logsumexp of " + what);
    expect(x, [](const auto& v) { return mean(v, {}, {.acc_dtype = float64}); }, dtype, {right.mean}, 0, "mean of " + what);
    // And given in float64, all its digits.
    expect(x, [](const auto& v) { return var(v, {}, {.ddof = 1, .dtype = float64}); }, float64, {right.variance}, 1000, "wide var of " + what);
    expect(x, [](const auto& v) { return stddev(v, {}, {.ddof = 1, .dtype = float64}); }, float64, {std::sqrt(right.variance)}, 1000, "wide stddev of " + what);
    expect(x, [](const auto& v) { return norm(v, {}, {.dtype = float64}); }, float64, {right.norm}, 1000, "wide norm of " + what);
    expect(x, [](const auto& v) { return norm(v, {}, {.ord = 3, .dtype = float64}); }, float64, {right.cubes}, 1000, "wide norm of cubes of " + what);
    expect(x, [](const auto& v) { return norm(v, {}, {.ord = 1, .dtype = float64}); }, float64, {right.mean * 20000}, 1000, "wide sum of sizes of " + what);
    expect(x, [](const auto& v) { return norm(v, {}, {.ord = 0, .dtype = float64}); }, float64, {20000}, 0, "wide count of " + what);
    expect(x, [](const auto& v) { return logsumexp(v, {}, {.dtype = float64}); }, float64, {right.logarithm}, 1000, "wide logsumexp of " + what);
    expect(x, [](const auto& v) { return vdot(v, v, float64); }, float64, {right.norm * right.norm}, 1000, "wide vdot of " + what);
  }
  // What float32 does to the variance of numbers that are far from 0, and not to that of float64 numbers given in float32.
  const Array far = noise(20000, 1e6, 1);
  const double variance = moments_of(far.to_doubles(), 0).variance;
  expect(far, [](const auto& v) { return var(v, 0, {.acc_dtype = float64}); }, float32, {variance}, 0, "var of what is far from 0");
  expect(astype(far, float64), [](const auto& v) { return var(v, 0, {.dtype = float32}); }, float32, {variance}, 0, "var of float64 in float32");
}

TEST_P(Accumulators, KeepSumsOfMoreThanANarrowDtypeHolds) {
  const Array ones = Array::full({70000}, 1.0f, float16, device());
  expect(ones, [](const auto& v) { return norm(v, {}, {.ord = 1, .dtype = float32}); }, float32, {70000}, 0, "sizes");
  expect(ones, [](const auto& v) { return norm(v, {}, {.ord = 1}); }, float16, {std::numeric_limits<double>::infinity()}, 0, "sizes in float16");
  const Array large = Array::full({4}, 3e4f, float16, device());
  expect(large, [](const auto& v) { return norm(v); }, float16, {6e4}, 0, "of squares beyond float16");
  const Array wide = Array::full({4}, 1e30f, float32, device());
  expect(wide, [](const auto& v) { return norm(v, {}, {.acc_dtype = float64}); }, float32, {2 * static_cast<double>(1e30f)}, 0, "of squares beyond float32");
  expect(wide, [](const auto& v) { return norm(v); }, float32, {std::numeric_limits<double>::infinity()}, 0, "without the accumulator");
}

TEST_P(Accumulators, RoundEachSumOfAScanOnce) {
  const std::int64_t count = 1000000;
  const Array x = noise(count, 1, 1);
  const Values values = x.to_doubles();
  Values sums(values.size()), back(values.size());
  double sum = 0;  // multiples of 2^-10 below 2^21: exact
  for (std::size_t i = 0; i < values.size(); ++i) sums[i] = sum += values[i];
  for (std::size_t i = 0; i < values.size(); ++i) back[i] = sum - sums[i];
  const auto own = [](const auto& v) { return cumsum(v, 0); };
  const auto accumulated = [](const auto& v) { return cumsum(v, 0, {.acc_dtype = float64}); };
  expect(x, accumulated, float32, sums, 0, "cumsum");
  expect(x, [](const auto& v) { return cumsum(v, {}, {.reverse = true, .exclusive = true, .acc_dtype = float64}); }, float32, back, 0, "cumsum from the last");
  expect(x, [](const auto& v) { return cumsum(v, 0, {.dtype = float64}); }, float64, sums, 0, "wide cumsum");
  const Variable v = variable(x);
  const Function both = function({v}, {accumulated(v)}, options()), one = function({v}, {own(v)}, options());
  one(x), both(x);
  EXPECT_EQ(launches([&] { both(x); }), launches([&] { one(x); })) << "the casts are part of its kernel";
  // 16 bits are kept in float32 anyway: what is asked changes nothing there, and where the sums are beyond 2^24 something.
  const Array half = Array::full({20000}, 3.0f, float16, device());
  Values thirds(20000);
  for (std::size_t i = 0; i < thirds.size(); ++i) thirds[i] = 3.0 * static_cast<double>(i + 1);
  expect(half, [](const auto& w) { return cumsum(w, 0, {.acc_dtype = float64}); }, float16, thirds, 0, "of float16");
  expect(half, [](const auto& w) { return cumsum(w, 0, {.acc_dtype = float32}); }, float16, thirds, 0, "of float16 in float32");
  expect(half, [](const auto& w) { return cumsum(w, 0, {.dtype = float32}); }, float32, thirds, 0, "of float16 as float32");
}

TEST_P(Accumulators, RoundEachProductOfAScanOnce) {
  const std::int64_t count = 4096;
  const Array x = noise(count, 1, 0x1p-8);
  Values values = x.to_doubles(), products(values.size()), logarithms(values.size());
  long double product = 1, exponentials = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    products[i] = static_cast<double>(product *= values[i]);
    logarithms[i] = static_cast<double>(std::log(exponentials += std::exp(static_cast<long double>(values[i]))));
  }
  const auto steps_apart = [&](const auto& build) {  // of how many the last digit is another
    const Values found = build(x).to_doubles();
    int count_of = 0;
    for (std::size_t i = 0; i < found.size(); ++i) count_of += found[i] != Scalar(products[i]).cast(float32).as_double();
    return count_of;
  };
  expect(x, [](const auto& v) { return cumprod(v, 0, {.acc_dtype = float64}); }, float32, products, 0.51, "cumprod");
  EXPECT_LE(steps_apart([](const Array& v) { return cumprod(v, 0, {.acc_dtype = float64}); }), 1);
  EXPECT_GT(steps_apart([](const Array& v) { return cumprod(v, 0); }), 1000) << "in float32 each step rounds";
  expect(x, [](const auto& v) { return cumprod(v, 0, {.dtype = float64}); }, float64, products, 4096, "wide cumprod");
  expect(x, [](const auto& v) { return logcumsumexp(v, 0, {.acc_dtype = float64}); }, float32, logarithms, 0.51, "logcumsumexp");
  expect(x, [](const auto& v) { return logcumsumexp(v, 0, {.dtype = float64}); }, float64, logarithms, 4096, "wide logcumsumexp");
  expect(astype(x, float64), [](const auto& v) { return cumprod(v, 0, {.dtype = float32}); }, float32, products, 0.51, "cumprod of float64");
}

TEST_P(Accumulators, OfIntegersWrapAndAreRoundedAsAsked) {
  const Array i = Array::from(std::vector<std::int8_t>{100, 100, -128, 127}, {4}, device());
  expect(i, [](const auto& v) { return cumsum(v, 0, {.dtype = int8}); }, int8, {100, -56, 72, -57}, 0, "modulo 256");
  expect(i, [](const auto& v) { return cumsum(v, 0, {.dtype = uint64}); }, uint64, {100, 200, 72, 199}, 0, "in uint64");
  expect(i, [](const auto& v) { return cumsum(v, 0, {.acc_dtype = uint64}); }, int64, {100, 200, 72, 199}, 0, "accumulated in uint64");
  expect(i, [](const auto& v) { return cumsum(v, 0, {.dtype = float32}); }, float32, {100, 200, 72, 199}, 0, "in float32");
  expect(i, [](const auto& v) { return cumprod(v, 0, {.dtype = float32, .acc_dtype = float32}); }, float32, {100, 1e4, -1.28e6, -162560000.0}, 0, "accumulated in float32");
  expect(i, [](const auto& v) { return cumprod(v, 0, {.dtype = int16}); }, int16, {100, 10000, 30720, -30720}, 0, "modulo 2^16");
  expect(i, [](const auto& v) { return var(v, 0, {.dtype = float32}); }, float32, {moments_of({100, 100, -128, 127}, 0).variance}, 0, "var in float32");
  expect(i, [](const auto& v) { return norm(v, 0, {.dtype = float32, .acc_dtype = float32}); }, float32, {moments_of({100, 100, -128, 127}, 0).norm}, 1, "norm in float32");
  expect(i, [](const auto& v) { return stddev(v, 0); }, float64, {std::sqrt(moments_of({100, 100, -128, 127}, 0).variance)}, 4, "stddev of integers");
  const Array b = Array::from(std::vector<std::uint8_t>{1, 0, 1}, {3}, device());
  expect(astype(b, bool_), [](const auto& v) { return cumsum(v, 0, {.dtype = uint8}); }, uint8, {1, 1, 2}, 0, "of bools");
  const Array large = Array::from(std::vector<std::int64_t>{(std::int64_t{1} << 53) + 1, 1, 1}, {3}, device());
  expect(large, [](const auto& v) { return cumsum(v, 0, {.dtype = float32, .acc_dtype = int64}); }, float32, {0x1p53, 0x1p53, 0x1p53}, 0, "accumulated in int64, a float32 result");
}

TEST_P(Accumulators, AreThoseOfGradientsToo) {
  const std::int64_t count = 20000;
  const Array x = noise(count, 1, 0.5);
  const Values values = x.to_doubles();
  const auto gradient = [&](const auto& build) {
    const Array found = of(x, [&](const Variable& v) { return grad(build(v), v); });
    EXPECT_EQ(found.dtype(), float32);
    return found.to_doubles();
  };
  const auto expect_near = [&](const Values& found, const auto& right, double roundings, const char* what) {
    ASSERT_EQ(found.size(), values.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      const double expected = right(i);
      ASSERT_NEAR(found[i], expected, roundings * 0x1p-24 * std::fabs(expected) + 1e-300) << what << " [" << i << "]";
    }
  };
  const MomentsOfSample all = moments_of(values, 1);
  expect_near(gradient([](const Variable& v) { return var(v, {}, {.ddof = 1, .acc_dtype = float64}); }), [&](std::size_t i) { return 2 * (values[i] - all.mean) / (static_cast<double>(count) - 1); }, 1.01, "var");
  expect_near(gradient([](const Variable& v) { return stddev(v, {}, {.ddof = 1, .acc_dtype = float64}); }),
              [&](std::size_t i) { return (values[i] - all.mean) / (static_cast<double>(count) - 1) / std::sqrt(all.variance); }, 1.01, "stddev");
  expect_near(gradient([](const Variable& v) { return norm(v, {}, {.acc_dtype = float64}); }), [&](std::size_t i) { return values[i] / all.norm; }, 1.01, "norm");
  expect_near(gradient([](const Variable& v) { return norm(v, {}, {.ord = 3, .acc_dtype = float64}); }), [&](std::size_t i) { return values[i] * values[i] / (all.cubes * all.cubes); }, 1.01, "norm of cubes");
  expect_near(gradient([](const Variable& v) { return logsumexp(v, {}, {.acc_dtype = float64}); }), [&](std::size_t i) { return std::exp(values[i] - all.logarithm); }, 1.01, "logsumexp");
  // Weights that the sums of a cumsum get: those behind each element, added in float64 too.
  Values behind(values.size());
  double total = 0;
  for (std::size_t i = values.size(); i-- > 0;) behind[i] = total += values[i];
  const Array weights = x;
  const Array of_sums = [&] {
    const Variable v = variable(x), w = variable(x);
    return function({v, w}, {grad(sum(cumsum(v, 0, {.acc_dtype = float64}) * w), v)}, options())(x, weights)[0];
  }();
  expect_near(of_sums.to_doubles(), [&](std::size_t i) { return behind[i]; }, 1.01, "cumsum");
  // Of a float64 result the gradient of float32 elements is rounded once.
  expect_near(gradient([](const Variable& v) { return sum(cumsum(v, 0, {.dtype = float64})); }),
              [&](std::size_t i) { return static_cast<double>(count) - static_cast<double>(i); }, 1.01, "wide cumsum");
}

TEST_P(Accumulators, SayWhatTheyCannotHold) {
  const Variable x = vector("x"), d = vector("d", float64), i = vector("i", int32), s = vector("s", int16);
  const Array ax = Array::zeros({3}, float32, device()), ad = Array::zeros({3}, float64, device()), ai = Array::zeros({3}, int32, device());
  const auto both = [](const auto& call, const auto& of_variable, const auto& of_array, const char* text) {
    EXPECT_THAT(error_of<TypeError>([&] { call(of_variable); }), HasSubstr(text));
    EXPECT_THAT(error_of<TypeError>([&] { call(of_array); }), HasSubstr(text));
  };
  both([](const auto& v) { var(v, 0, {.acc_dtype = float32}); }, d, ad, "var of float64: float32 does not hold float64, digits would be lost before they are accumulated");
  both([](const auto& v) { stddev(v, 0, {.acc_dtype = float16}); }, x, ax, "stddev of float32: nothing is accumulated in float16");
  both([](const auto& v) { norm(v, 0, {.acc_dtype = int64}); }, i, ai, "norm of int32 is not accumulated in integers: .acc_dtype = int64");
  both([](const auto& v) { norm(v, 0, {.dtype = int64}); }, i, ai, "norm of int32 is no integer: .dtype = int64");
  both([](const auto& v) { norm(v, 0, {.acc_dtype = float32}); }, i, ai, "norm of int32: float32 does not hold int32");
  both([](const auto& v) { logsumexp(v, 0, {.acc_dtype = float32}); }, d, ad, "logsumexp of float64: float32 does not hold float64");
  both([](const auto& v) { sum(v, 0, {.acc_dtype = float32}); }, d, ad, "sum of float64: float32 does not hold float64");
  both([](const auto& v) { mean(v, 0, {.acc_dtype = float32}); }, i, ai, "mean of int32: float32 does not hold int32");
  both([](const auto& v) { cumsum(v, 0, {.acc_dtype = float32}); }, d, ad, "cumsum of float64: float32 does not hold float64");
  both([](const auto& v) { cumsum(v, 0, {.acc_dtype = float32}); }, i, ai, "cumsum of int32: float32 does not hold int32");
  both([](const auto& v) { cumsum(v, 0, {.acc_dtype = float64}); }, i, ai, "cumsum of int32: what is accumulated in float64 is no int64");
  both([](const auto& v) { cumprod(v, 0, {.acc_dtype = int64}); }, x, ax, "cumprod of float32 is not accumulated in integers: .acc_dtype = int64");
  both([](const auto& v) { cumprod(v, 0, {.dtype = int64}); }, x, ax, "cumprod of float32 is no integer: .dtype = int64");
  both([](const auto& v) { cumprod(v, 0, {.dtype = bool_}); }, i, ai, "cumprod of int32: bool is no dtype of a result");
  both([](const auto& v) { logcumsumexp(v, 0, {.acc_dtype = float32}); }, d, ad, "logcumsumexp of float64: float32 does not hold float64");
  both([](const auto& v) { logcumsumexp(v, 0, {.acc_dtype = float64}); }, i, ai, "logcumsumexp takes floats, it is given int32");
  both([](const auto& v) { vdot(v, v, float32); }, d, ad, "vdot: a result of float64 does not fit into float32");
  EXPECT_EQ(mean(s, 0, {.acc_dtype = float32}).dtype(), float64) << "16 bits are held";
  EXPECT_THAT(error_of<TypeError>([&] { cumsum(d, 0, {.acc_dtype = float32}); }), HasSubstr("accumulator_test.cpp"));
}

DAMO_ON_EACH_DEVICE(Accumulators);

}  // namespace
}  // namespace damo
