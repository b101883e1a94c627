// Kernels that compute places along axes, and what is made of them, in 32 bits (src/runtime/kernel/short_integers.hpp): values are those of the same graphs on arrays that have the places as int64, of which
// no kernel knows how great they are.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <damo/damo.hpp>

#include "support/noise.hpp"

namespace damo {
namespace {

using GraphOfIntegers = std::function<std::vector<Variable>(const Variable& x, const Variable& row, const Variable& column)>;

/// How many integers' digits the layouts of a function's kernels tell: "integers of 31 31 digits".
bool knows_digits(const Function& f) { return f.explain().find(", integers of ") != std::string::npos; }

class ShortIntegersOnEachDevice : public testing::NoiseOnEachDevice {
 protected:
  ShortIntegersOnEachDevice() : NoiseOnEachDevice(5) {}

  std::int64_t edge() {
    static constexpr std::int64_t kEdges[] = {1, 2, 3, 4, 7, 64, 1000, 65536, INT32_MAX, INT32_MIN, std::int64_t{INT32_MAX} + 1, std::int64_t{1} << 30, -(std::int64_t{1} << 29), std::int64_t{1} << 40, -1, -5};
    return kEdges[pick(0, static_cast<int>(std::size(kEdges)) - 1)];
  }

  /// x with a few ops of integers, at random but the same for both graphs.
  struct Ops {
    std::vector<std::array<int, 3>> steps;  // op, operands
    std::vector<std::int64_t> numbers;
  };
  Ops ops() {
    Ops all;
    const int count = pick(2, 7);
    for (int i = 0; i < count; ++i) {
      all.steps.push_back({pick(0, 18), pick(0, 2 + i), pick(0, 2 + i)});
      all.numbers.push_back(edge());
    }
    return all;
  }
  static Variable integers(const Ops& ops, const Variable& row, const Variable& column, const Variable& bytes) {
    std::vector<Variable> values{row, column, cast(bytes, int64)};
    for (std::size_t i = 0; i < ops.steps.size(); ++i) {
      const Variable a = values[static_cast<std::size_t>(ops.steps[i][1])], b = values[static_cast<std::size_t>(ops.steps[i][2])];
      const std::int64_t n = ops.numbers[i];
      switch (ops.steps[i][0]) {
        case 0: values.push_back(a + b); break;
        case 1: values.push_back(a - b); break;
        case 2: values.push_back(a * b); break;
        case 3: values.push_back(a * n); break;
        case 4: values.push_back(a + n); break;
        case 5: values.push_back(n - a); break;
        case 6: values.push_back(int_div(a, b)); break;
        case 7: values.push_back(int_div(a, n)); break;
        case 8: values.push_back(mod(a, b)); break;
        case 9: values.push_back(mod(a, n)); break;
        case 10: values.push_back(fmod(a, n)); break;
        case 11: values.push_back(maximum(a, n)); break;
        case 12: values.push_back(minimum(a, b)); break;
        case 13: values.push_back(clip(a, -n / 3, n)); break;
        case 14: values.push_back(where(a <= b, a, b * 3)); break;
        case 15: values.push_back(where(eq(a, n), b, -a)); break;
        case 16: values.push_back(abs(a) ^ b); break;
        case 17: values.push_back(left_shift(a, b & 40) + right_shift(b, 3)); break;
        default: values.push_back(cast(cast(a, pick_dtype(n)), int64)); break;
      }
    }
    return values.back();
  }
  static DType pick_dtype(std::int64_t n) { return n % 4 == 0 ? int32 : n % 3 == 0 ? uint16
                                                                    : n % 2 == 0   ? int8
                                                                                   : uint32; }

  /// The graph on places, which the kernels count, and on arrays that have them. Of integers, and floats that are no sums, not a bit differs.
  void compare(const std::string& name, const Array& x, const GraphOfIntegers& graph, bool expects_digits = true, double error = 0) {
    SCOPED_TRACE(name);
    const int last = x.rank() - 1;
    const Variable given = input({x.dtype(), x.shape()}, "x"), rows = input({int64, x.shape()}, "rows"), columns = input({int64, x.shape()}, "columns");
    const Function counts = function({given}, graph(given, index_along(given, last - 1), index_along(given, last)), {.device = device()});
    const Function reads = function({given, rows, columns}, graph(given, rows, columns), {.device = device(), .allow_unused_inputs = true});
    const Array row = index_along(x, last - 1), column = index_along(x, last);
    const Results got = counts(x), wanted = reads(x, row, column);
    if (expects_digits) EXPECT_TRUE(knows_digits(counts)) << counts.explain();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const std::vector<double> a = astype(got[i], float64).to_vector<double>(), b = astype(wanted[i], float64).to_vector<double>();
      ASSERT_EQ(a.size(), b.size());
      const bool is_exact = error == 0 || !is_floating(wanted[i].dtype());
      for (std::size_t k = 0; k < b.size(); ++k) {
        if (a[k] == b[k] || (std::isnan(a[k]) && std::isnan(b[k]))) continue;
        ASSERT_FALSE(is_exact) << "output " << i << ", element " << k << ": " << a[k] << ", not " << b[k];
        ASSERT_NEAR(a[k], b[k], error * (1 + std::abs(b[k]))) << "output " << i << ", element " << k;
      }
    }
  }
};

TEST_P(ShortIntegersOnEachDevice, AreTheNumbersThatSixtyFourBitsGive) {
  const Shape shapes[] = {{5, 7}, {3, 70}, {2, 3, 33}, {65, 4}};
  for (int i = 0; i < 8; ++i) {
    const Ops chosen = ops();
    const Array x = noise(shapes[pick(0, 3)], i % 2 == 0 ? int8 : int32);
    compare(
        "program " + std::to_string(i), x, [&](const Variable& v, const Variable& row, const Variable& column) -> std::vector<Variable> {
          const Variable n = integers(chosen, row, column, v);
          return {n, cast(n, float32), cast(n, bfloat16), cast(n, float16), cast(n, uint8), n > v};
        },
        false);
    compare(
        "rows of program " + std::to_string(i), x, [&](const Variable& v, const Variable& row, const Variable& column) -> std::vector<Variable> {
          const Variable n = integers(chosen, row, column, v);
          return {sum(n, -1), max(n, -1), argmax(n, -1), cumsum(n, -1), n - min(n, -1, keepdims)};
        },
        false);
  }
}

TEST_P(ShortIntegersOnEachDevice, MaskRowsByPlace) {
  for (const DType dtype : {float32, bfloat16, float16}) {
    for (const Shape& shape : {Shape{3, 32, 128}, Shape{2, 9, 67}, Shape{40, 12}}) {
      const double error = dtype == float32 ? 1e-5 : 2e-2;
      compare(
          "causal", noise(shape, dtype), [](const Variable& x, const Variable& row, const Variable& column) -> std::vector<Variable> { return {softmax(where(column <= row * 4, x * 0.125, -INFINITY), -1)}; }, true, error);
      compare(
          "window", noise(shape, dtype), [](const Variable& x, const Variable& row, const Variable& column) -> std::vector<Variable> {
            const Variable distance = column - row;
            return {softmax(where((distance <= 0) & (distance > -100), x + cast(cast(distance, float32) * 0.25, x.dtype()), -1e4), -1), sum(where(eq(mod(distance, 3), 1), x, 0), -1)};
          },
          true, error);
    }
  }
}

TEST_P(ShortIntegersOnEachDevice, CompareElementsByPlace) {
  const Array x = noise({37, 37});
  compare("diagonal", x, [](const Variable& v, const Variable& row, const Variable& column) -> std::vector<Variable> { return {where(eq(row, column), v, 0), where(row + 2 > column * column, v, 1)}; });
  compare("numbers that fit", x, [](const Variable& v, const Variable& row, const Variable& column) -> std::vector<Variable> { return {where(row * 1000 + column < 5003, v, 0)}; });
  compare("numbers that do not", x, [](const Variable& v, const Variable& row, const Variable& column) -> std::vector<Variable> {
    return {where(row * (std::int64_t{1} << 30) + column < (std::int64_t{1} << 33), v, 0), cast(row * (std::int64_t{1} << 26), float32), cast((row - column) * (std::int64_t{1} << 40), float32)};
  });
}

TEST_P(ShortIntegersOnEachDevice, CompareLabelsOfAnyIntegerWithPlaces) {
  for (const DType dtype : {int64, int32, uint8}) {
    const Variable labels = input({dtype, {50}}, "labels"), x = input({float32, {50, 130}}, "x");
    const Variable chosen = eq(expand_dims(labels, 1), index_along(x, 1));
    const Function f = function({labels, x}, {sum(where(chosen, log_softmax(x, 1), 0), 1), cast(chosen, int8)}, {.device = device()});
    std::vector<std::int64_t> which(50);
    for (std::size_t i = 0; i < which.size(); ++i) which[i] = static_cast<std::int64_t>(i * 37 % 130);
    if (dtype == int64) which[3] = (std::int64_t{1} << 32) + 5, which[4] = -1, which[5] = std::int64_t{INT32_MIN} - 2;
    const Array scores = noise({50, 130});
    const Results got = f(astype(Array::from(which, device()), dtype), scores);
    const std::vector<double> hot = astype(got[1], float64).to_vector<double>(), sums = got[0].to_doubles(), all = log_softmax(scores, 1).to_doubles();
    for (std::size_t i = 0; i < which.size(); ++i) {
      const bool is_there = which[i] >= 0 && which[i] < 130;
      for (std::size_t k = 0; k < 130; ++k) ASSERT_EQ(hot[i * 130 + k], which[i] == static_cast<std::int64_t>(k)) << i << ", " << k;
      EXPECT_NEAR(sums[i], is_there ? all[i * 130 + static_cast<std::size_t>(which[i])] : 0, 1e-5);
    }
  }
}

TEST_P(ShortIntegersOnEachDevice, FollowTheNumbersOfEqualKernels) {
  // Two nodes of one text, which differ in a number that an argument brings: of one of them 64 bits are needed.
  const Variable x = input({float32, {20, 30}}, "x"), y = input({float32, {20, 30}}, "y");
  const auto masked = [](const Variable& v, std::int64_t number) { return where(index_along(v, 0) * 5 + index_along(v, 1) * number < number * 7, v, 0); };
  const Function f = function({x, y}, {masked(x, 3), masked(y, std::int64_t{1} << 32 | 1)}, {.device = device()});
  const Array a = noise({20, 30}), b = noise({20, 30});
  const Results got = f(a, b);
  const std::vector<double> first = got[0].to_doubles(), second = got[1].to_doubles(), of_a = a.to_doubles(), of_b = b.to_doubles();
  for (int row = 0; row < 20; ++row) {
    for (int column = 0; column < 30; ++column) {
      const auto at = static_cast<std::size_t>(row * 30 + column);
      EXPECT_EQ(first[at], row * 5 + column * 3 < 21 ? of_a[at] : 0);
      EXPECT_EQ(second[at], column < 7 ? of_b[at] : 0);
    }
  }
}

TEST_P(ShortIntegersOnEachDevice, OfARangeAreTheFloatsOfItsNumbers) {
  const std::int64_t far = (std::int64_t{1} << 52) - 8;
  const Function f = function(std::vector<Variable>{}, {symbolic::arange(100), symbolic::arange(7, -70, -3), symbolic::arange(far - 4, far, 1, float64), symbolic::arange((std::int64_t{1} << 24) - 2, (std::int64_t{1} << 24) + 5, 1), symbolic::arange(250, 270, 1, bfloat16), symbolic::arange(std::int64_t{1} << 60, (std::int64_t{1} << 60) + 2000, 500)}, {.device = device()});
  const Results got = f();
  const Array wanted[] = {arange(100, float32, device()), arange(7, -70, -3, float32, device()), arange(far - 4, far, 1, float64, device()), arange((std::int64_t{1} << 24) - 2, (std::int64_t{1} << 24) + 5, 1, float32, device()), arange(250, 270, 1, bfloat16, device()), arange(std::int64_t{1} << 60, (std::int64_t{1} << 60) + 2000, 500, float32, device())};
  for (std::size_t i = 0; i < std::size(wanted); ++i) EXPECT_EQ(got[i].to_doubles(), wanted[i].to_doubles()) << i;
}

DAMO_ON_EACH_DEVICE(ShortIntegersOnEachDevice);

}  // namespace
}  // namespace damo
