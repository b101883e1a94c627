// Scans along axes, against the host's.
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/array_math.hpp>
#include <damo/scan_kernel.hpp>
#include "ops/eager/reference.hpp"
#include "support/compiler_line.hpp"
#include "support/devices.hpp"

namespace damo {
namespace {

using testing::error_of;
using Values = std::vector<double>;

class EagerScan : public testing::OnEachDevice {
 protected:
  Array integers(const Shape& shape) const {
    return astype(Array::from(testing::noise(shape.size()), shape, device()) * 2, int32);
  }

  /// Inclusive and exclusive sums of integers, which are exact.
  void expect_sums(const Array& x, int axis) {
    static const InclusiveScanKernel inclusive(int32, "a + b");
    static const ExclusiveScanKernel exclusive(int32, "a + b", "7");
    const int real = axis < 0 ? axis + x.rank() : axis;
    std::vector<int> order;  // the scanned axis last
    for (int i = 0; i < x.rank(); ++i) {
      if (i != real) order.push_back(i);
    }
    order.push_back(real);
    const Values in = x.permute(order).to_doubles(), with = inclusive(x, axis).permute(order).to_doubles(),
                 before = exclusive(x, axis).permute(order).to_doubles();
    const std::size_t length = static_cast<std::size_t>(x.shape()[real]);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const bool first = i % length == 0;
      ASSERT_EQ(with[i], in[i] + (first ? 0 : with[i - 1])) << describe(x) << " axis " << axis << " element " << i;
      ASSERT_EQ(before[i], first ? 7 : with[i - 1]) << describe(x) << " axis " << axis << " element " << i;
    }
  }
};

TEST_P(EagerScan, SumsLinesOfAnyLength) {
  for (std::int64_t size : {1, 2, 7, 8, 9, 255, 2047, 2048, 2049, 65537, (1 << 20) + 1})
    expect_sums(integers({size}), 0);
}

TEST_P(EagerScan, LeavesNamesToTheUser) {
  const InclusiveScanKernel running(
      float16, "T(a) * N + b", {.preamble = "#define T float\n#define N 1\nstruct Arguments {};"});
  EXPECT_EQ(running(astype(array({1, 0, 3, 1}), float16)).to_doubles(), (Values{1, 1, 4, 5}));
}

TEST_P(EagerScan, WorksAlongAnyAxis) {
  const Array x = integers({5, 37, 70});
  for (int axis : {0, 1, 2, -1}) expect_sums(x, axis);
  expect_sums(integers({300, 3000}), 0);
  expect_sums(integers({300, 3000}), 1);
  expect_sums(integers({100000, 40}), 0);
  expect_sums(integers({100000, 3}), 0);
  expect_sums(integers({3, 100000}), 1);
}

TEST_P(EagerScan, ReadsAnyStrides) {
  const Array x = integers({40, 50, 60});
  for (int axis : {0, 1, 2}) {
    expect_sums(x.transpose(), axis);
    expect_sums(x.slice({{std::nullopt, std::nullopt, -2}, {1, 49, 3}}), axis);
  }
  expect_sums(integers({1, 50}).broadcast_to({40, 50}), 0);
}

TEST_P(EagerScan, KeepsTheOrderOfItsOperands) {
  // Composition of x -> p x + q modulo 251: associative, not commutative. p in the upper bits.
  const InclusiveScanKernel compose(
      int32, R"(((a >> 8) * (b >> 8) % 251) << 8 | ((a & 255) * (b >> 8) + (b & 255)) % 251)", {.name = "compose"});
  const std::int64_t size = 100003;
  std::vector<std::int32_t> maps(static_cast<std::size_t>(size)), expected;
  std::uint32_t seed = 5;
  for (std::int32_t& map : maps) {
    seed = seed * 1664525u + 1013904223u;
    map = static_cast<std::int32_t>((1 + (seed >> 24) % 250) << 8 | (seed >> 16) % 251);
  }
  std::int32_t p = 1, q = 0;
  for (std::int32_t map : maps) {
    p = p * (map >> 8) % 251;
    q = (q * (map >> 8) + (map & 255)) % 251;
    expected.push_back(p << 8 | q);
  }
  EXPECT_EQ(compose(Array::from(maps, device())).to_vector<std::int32_t>(), expected);
}

TEST_P(EagerScan, WorksInPlaceAndOnViews) {
  const InclusiveScanKernel greatest(float32, "fmaxf(a, b)", {.name = "greatest"});
  const Array x = array({1, 3, 2, 5, 4});
  greatest.into(x, x);
  EXPECT_EQ(x.to_doubles(), (Values{1, 3, 3, 5, 5}));
  const Array y = array({1, 2, 3, 4, 5});
  greatest.into(y.slice({{std::nullopt, std::nullopt, -1}}), y);
  EXPECT_EQ(y.to_doubles(), (Values{5, 5, 5, 5, 5}));
  const Array half = Array::ones({3000}, float16, device());
  const InclusiveScanKernel sum(float16, "a + b");
  EXPECT_EQ(sum(half).to_doubles()[1999], 2000);
}

TEST_P(EagerScan, SaysWhatIsWrong) {
  const InclusiveScanKernel sum(int32, "a + b", {.name = "running"});
  const Array x = integers({2, 3});
  EXPECT_THAT(error_of([&] { sum(x, 2); }), ::testing::HasSubstr("running: axis 2 does not exist: x has 2 axes"));
  EXPECT_THAT(error_of([&] { sum(range({3})); }),
              ::testing::HasSubstr("running: the parameter \"const int * x\" wants elements of int32, it is given float32 (3,)"));
  EXPECT_THAT(error_of([&] {
                sum.into(x, integers({3, 2}));
              }),
              ::testing::HasSubstr("running: shapes differ: (2, 3) into (3, 2)"));
  EXPECT_THAT(
      error_of([&] { sum(Array::scalar(1, device())); }),
      ::testing::AnyOf(::testing::HasSubstr("x has no axis"), ::testing::HasSubstr("wants elements of int32")));
  EXPECT_THAT(error_of([] { ExclusiveScanKernel(int32, "a + b", ""); }),
              ::testing::HasSubstr("it has no neutral value"));
  const int line = __LINE__ + 1;
  const InclusiveScanKernel broken(int32, "a + c");
  const std::string error = error_of([&] { broken(x); });
  EXPECT_THAT(error, damo::testing::names_line("scan_kernel_test.cpp", line));
}

/// Scans of several values, along lines of all lengths: rows, columns, one long line.
class EagerScanOfMembers : public EagerScan {
 protected:
  /// Numbers between -2 and 2.
  Array noise(const Shape& shape, unsigned seed = 1) const {
    std::mt19937 random(seed);
    std::vector<float> values(static_cast<std::size_t>(shape.size()));
    for (float& value : values) value = static_cast<float>(random() % 4001) / 1000 - 2;
    return Array::from(values, shape, device());
  }
  static std::vector<std::pair<Shape, int>> forms() {
    return {{{0}, 0}, {{0, 3}, 1}, {{3, 0}, 1}, {{0, 3}, 0}, {{1}, 0}, {{1, 1}, 0}, {{7, 3}, 1}, {{7, 3}, 0}, {{300, 31}, 1}, {{31, 300}, 0}, {{3, 4097}, 1}, {{4097, 3}, 0}, {{5, 3, 7}, 1}, {{1000000}, 0}};
  }
  /// Calls act with the numbers in the arrays of each line's elements, in order.
  static void each_line(const Shape& shape, int axis, const std::function<void(const std::vector<std::size_t>&)>& act) {
    std::int64_t inner = 1, outer = 1;
    for (int i = 0; i < shape.rank(); ++i) (i < axis ? outer : inner) *= i == axis ? 1 : shape[i];
    const std::int64_t length = shape[axis];
    for (std::int64_t o = 0; o < outer; ++o) {
      for (std::int64_t k = 0; k < inner; ++k) {
        std::vector<std::size_t> at;
        for (std::int64_t i = 0; i < length; ++i) at.push_back(static_cast<std::size_t>((o * length + i) * inner + k));
        act(at);
      }
    }
  }
};

JoinDefinition running_moments() {
  return {.dtype_out = float64,
          .arguments = "const float* x, float scale",
          .name = "moments",
          .members = {{"count", int32, "1", "0", "count"}, {"mean", float32, "scale * x[i]", "0", "a.mean + apart * share"}, {"m2", float64, "0", "0", "a.m2 + b.m2 + double(apart) * apart * a.count * share"}},
          .before = "const int count = a.count + b.count; const float share = float(b.count) / (count > 0 ? count : 1), apart = b.mean - a.mean;"};
}

TEST_P(EagerScanOfMembers, AreRunningMeansAndVariances) {
  JoinDefinition of_variance = running_moments();
  of_variance.post = "a.m2 / n";
  const InclusiveScanKernel kernel(running_moments()), variance(of_variance);
  const ExclusiveScanKernel before(running_moments());
  for (const auto& [shape, axis] : forms()) {
    const Array x = noise(shape);
    const std::vector<Array> all = kernel.results_along(axis, x, 2.0f), earlier = before.results_along(axis, x, 2.0f);
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[0].dtype(), int32);
    EXPECT_EQ(all[2].dtype(), float64);
    EXPECT_EQ(all[1].shape(), shape);
    const Values given = x.to_doubles(), counts = all[0].to_doubles(), means = all[1].to_doubles(), squares = all[2].to_doubles(), variances = variance.along(axis, x, 2.0f).to_doubles();
    const Values counts_before = earlier[0].to_doubles(), means_before = earlier[1].to_doubles();
    each_line(shape, axis, [&](const std::vector<std::size_t>& at) {
      double n = 0, mean = 0, m2 = 0;
      for (std::size_t i : at) {
        ASSERT_EQ(counts_before[i], n);
        ASSERT_NEAR(means_before[i], mean, 1e-5);
        const double value = 2 * given[i], apart = value - mean;
        mean += apart / ++n;
        m2 += apart * (value - mean);
        ASSERT_EQ(counts[i], n);
        ASSERT_NEAR(means[i], mean, 1e-5) << to_string(shape) << " along " << axis << " element " << i;
        ASSERT_NEAR(squares[i], m2, 1e-5 * (m2 + 1)) << to_string(shape) << " along " << axis << " element " << i;
        ASSERT_NEAR(variances[i], m2 / n, 1e-5 * (m2 / n + 1));
      }
    });
  }
}

TEST_P(EagerScanOfMembers, AreRecurrences) {
  const JoinDefinition affine{.arguments = "const float* m, const float* c", .members = {{"m", float32, "0.45f * m[i]", "1", "a.m * b.m"}, {"h", float32, "c[i]", "0", "b.m * a.h + b.h"}}};
  const InclusiveScanKernel recurrence(affine);
  const ExclusiveScanKernel before(affine);
  for (const auto& [shape, axis] : forms()) {
    const Array m = noise(shape), c = noise(shape, 2);
    const Values factors = m.to_doubles(), addends = c.to_doubles(), states = recurrence.results_along(axis, m, c)[1].to_doubles(), earlier = before.results_along(axis, m, c)[1].to_doubles();
    each_line(shape, axis, [&](const std::vector<std::size_t>& at) {
      double h = 0;
      for (std::size_t i : at) {
        ASSERT_NEAR(earlier[i], h, 1e-4) << to_string(shape) << " along " << axis << " element " << i;
        h = 0.45 * factors[i] * h + addends[i];
        ASSERT_NEAR(states[i], h, 1e-4) << to_string(shape) << " along " << axis << " element " << i;
      }
    });
  }
  // Arrays that lie in any way, and broadcast.
  const Array m = noise({40, 30}).transpose(), c = noise({1, 80}, 2).slice({{}, {.step = -2}});
  const std::vector<Array> all = recurrence.results(m, c);
  ASSERT_EQ(all[1].shape(), (Shape{30, 40}));
  const Values factors = m.to_doubles(), addends = c.to_doubles(), states = all[1].to_doubles();
  double h = 0;
  for (std::size_t i = 0; i < states.size(); ++i) ASSERT_NEAR(states[i], h = (i % 40 == 0 ? 0 : 0.45 * factors[i] * h) + addends[i % 40], 1e-4);
}

TEST_P(EagerScanOfMembers, AreTheGreatestAndItsPlace) {
  const char* takes = "const bool takes_b = a.at < 0 || (b.at >= 0 && b.value > a.value);";
  const InclusiveScanKernel greatest({.arguments = "const float* x",
                                      .members = {{"value", float32, "x[i]", "0", "takes_b ? b.value : a.value"}, {"at", int64, "r", "-1", "takes_b ? b.at : a.at"}, {"number", int64, "i", "-1", "takes_b ? b.number : a.number"}},
                                      .before = takes});
  for (const auto& [shape, axis] : forms()) {
    const Array x = noise(shape);
    const std::vector<Array> all = greatest.results_along(axis, x);
    const Values given = x.to_doubles(), values = all[0].to_doubles(), places = all[1].to_doubles(), numbers = all[2].to_doubles();
    each_line(shape, axis, [&](const std::vector<std::size_t>& at) {
      std::size_t best = 0;
      for (std::size_t k = 0; k < at.size(); ++k) {
        if (given[at[k]] > given[at[best]]) best = k;
        ASSERT_EQ(values[at[k]], given[at[best]]) << to_string(shape) << " along " << axis;
        ASSERT_EQ(places[at[k]], static_cast<double>(best)) << to_string(shape) << " along " << axis;
        ASSERT_EQ(numbers[at[k]], static_cast<double>(at[best])) << to_string(shape) << " along " << axis;
      }
    });
  }
}

TEST_P(EagerScanOfMembers, BeginAnewWithSegments) {
  const InclusiveScanKernel sums({.arguments = "const float* x, const bool* begins",
                                  .members = {{"begins", bool_, "begins[i]", "false", "a.begins || b.begins"}, {"sum", float64, "x[i]", "0", "b.begins ? b.sum : a.sum + b.sum"}}});
  for (const auto& [shape, axis] : forms()) {
    const Array x = noise(shape), begins = gt(noise(shape, 3), 1.9f);
    const Values given = x.to_doubles(), flags = begins.to_doubles(), found = sums.results_along(axis, x, begins)[1].to_doubles();
    each_line(shape, axis, [&](const std::vector<std::size_t>& at) {
      double sum = 0;
      for (std::size_t i : at) ASSERT_NEAR(found[i], sum = (flags[i] != 0 ? 0 : sum) + given[i], 1e-9) << to_string(shape) << " along " << axis;
    });
  }
}

TEST_P(EagerScanOfMembers, TakeAllThatAReductionTakes) {
  // A map of several arrays and a number, halves, a post, a struct of the user's, neighbours by their address.
  const Array x = noise({50}), half = astype(x, float16);
  const InclusiveScanKernel products({.reduce = "a + b", .map = "scale * x[i] * float(y[i])", .arguments = "const float* x, const half* y, float scale", .post = "a / n"});
  const InclusiveScanKernel range({.neutral = "Range{1e30f, -1e30f}", .reduce = "Range{fminf(a.low, b.low), fmaxf(a.high, b.high)}", .map = "Range{x[i], x[i]}", .arguments = "const float* x",
                                   .preamble = "struct Range { float low, high; };", .post = "a.high - a.low", .accumulator = "Range"});
  const ExclusiveScanKernel steps({.neutral = "0", .reduce = "a + b", .map = "fabsf(x[i] - x[i > 0 ? i - 1 : 0])", .arguments = "const float* x"});
  const Values given = x.to_doubles(), halves = half.to_doubles(), means = products.along(0, x, half, 3.0f).to_doubles(), widths = range(x).to_doubles(), lengths = steps(x).to_doubles();
  const Array in_place = x.copy();
  steps.into(in_place, in_place);
  EXPECT_EQ(in_place.to_doubles(), lengths);
  double sum = 0, low = given[0], high = low, length = 0;
  for (std::size_t i = 0; i < given.size(); ++i) {
    ASSERT_NEAR(means[i], (sum += 3 * given[i] * halves[i]) / static_cast<double>(i + 1), 1e-4);
    low = std::min(low, given[i]), high = std::max(high, given[i]);
    ASSERT_NEAR(widths[i], high - low, 1e-6);
    ASSERT_NEAR(lengths[i], length, 1e-4);
    if (i > 0) length += std::abs(given[i] - given[i - 1]);
  }
}

TEST_P(EagerScanOfMembers, SayWhatIsWrong) {
  const Array x = noise({5});
  const InclusiveScanKernel moments(running_moments());
  EXPECT_THAT(error_of([&] { moments.along(0, x, 1.0f); }), ::testing::HasSubstr("ScanKernel moments has 3 results\n  results() and results_along() give them all; .post makes one of them"));
  EXPECT_THAT(error_of([&] { moments(x); }), ::testing::HasSubstr("ScanKernel moments has 3 results"));
  EXPECT_THAT(error_of([&] { moments.into(x, x); }), ::testing::HasSubstr("ScanKernel moments has 3 results"));
  EXPECT_THAT(error_of([&] { moments.results(x); }), ::testing::HasSubstr("moments: 1 arguments are given, it has 2 parameters"));
  EXPECT_THAT(error_of([&] { moments.results_along(1, x, 1.0f); }), ::testing::HasSubstr("moments: axis 1 does not exist"));
  const InclusiveScanKernel wide({.dtype_out = float64, .reduce = "a + b", .arguments = "const float* x", .name = "wide"});
  EXPECT_THAT(error_of([&] { wide.into(x, x); }), ::testing::HasSubstr("wide gives float64, it is to write into float32 (5,)"));
  const auto error = [](std::vector<JoinMember> members, SourceText neutral = {}, SourceText before = {}) {
    return error_of([&] { InclusiveScanKernel({.neutral = neutral, .arguments = "const float* x", .name = "several", .members = members, .before = before}); });
  };
  const JoinMember total{"total", float32, "x[i]", "0", "a.total + b.total"};
  EXPECT_THAT(error({total, total}), ::testing::HasSubstr("ScanKernel several has two members total"));
  EXPECT_THAT(error({{"total", float32, "x[i]", "", "a.total + b.total"}}), ::testing::HasSubstr("ScanKernel several: member total has no neutral value"));
  EXPECT_THAT(error({{"total", float8_e4m3, "x[i]", "0", "a.total + b.total"}}), ::testing::HasSubstr("member total"));
  EXPECT_THAT(error({total}, "0"), ::testing::HasSubstr("ScanKernel several: it has members and says what is joined beside them"));
  EXPECT_THAT(error_of([] { InclusiveScanKernel({.reduce = "a + b", .arguments = "const float* x", .before = "int c;"}); }), ::testing::HasSubstr("ScanKernel scan: it has statements before the rule of members, and no members"));
  EXPECT_THAT(error_of([] { ExclusiveScanKernel({.reduce = "a + b", .arguments = "const float* x"}); }), ::testing::HasSubstr("ScanKernel scan: it has no neutral value"));
  EXPECT_THAT(error_of([] { InclusiveScanKernel({.reduce = "a + b", .arguments = "const float* x, const float* y"}); }), ::testing::HasSubstr("ScanKernel scan: it has several arrays and no .map"));
  EXPECT_THAT(error_of([] { InclusiveScanKernel({.reduce = "a + b", .arguments = "float* x"}); }), ::testing::HasSubstr("ScanKernel scan: the argument \"float * x\" can be written"));
  EXPECT_THAT(error_of([] { InclusiveScanKernel({.reduce = "a + b", .arguments = "const float* x", .name = "a b"}); }), ::testing::HasSubstr("ScanKernel a b: a kernel cannot be called so"));
  const InclusiveScanKernel wrong({.arguments = "const float* x", .members = {{"total", float32, "x[i]", "0", "a.total + b.nothing"}}});
  EXPECT_THAT(error_of([&] { wrong.results(x); }), ::testing::HasSubstr("nothing"));
  EXPECT_THAT(error_of([&] { wrong.results(x); }), ::testing::HasSubstr("scan_kernel_test.cpp"));
}

DAMO_ON_EACH_DEVICE(EagerScan);
DAMO_ON_EACH_DEVICE(EagerScanOfMembers);

}  // namespace
}  // namespace damo
