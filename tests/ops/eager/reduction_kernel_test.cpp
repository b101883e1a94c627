// ReductionKernels of C snippets, against the host.
#include <cmath>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/array_math.hpp>
#include <damo/reduction_kernel.hpp>
#include "ops/eager/reference.hpp"
#include "support/compiler_line.hpp"
#include "support/devices.hpp"

namespace damo {
namespace {

using testing::error_of;
using testing::groups_of;
using Values = std::vector<double>;

class EagerReductionKernel : public testing::OnEachDevice {
 protected:
  Array random(const Shape& shape) const { return Array::from(testing::noise(shape.size()), shape, device()); }
};

ReductionKernel inner_product() {
  return ReductionKernel({.dtype_out = float32,
                          .neutral = "0",
                          .reduce = "a+b",
                          .map = "x[i]*y[i]",
                          .arguments = "const float* x, const float* y",
                          .name = "inner"});
}

TEST_P(EagerReductionKernel, MapsAndReducesSeveralArrays) {
  const ReductionKernel inner = inner_product();
  for (std::int64_t size : {1, 97, 65537, (1 << 20) + 1}) {
    const Array x = random({size}), y = random({size}) + 1;
    const Values a = x.to_doubles(), b = y.to_doubles();
    const double expected = std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
    EXPECT_NEAR(inner(x, y).item().as_double(), expected, 1e-5 * 64 * static_cast<double>(size));
  }
}

TEST_P(EagerReductionKernel, WorksAlongAxesOfStridedArrays) {
  const ReductionKernel inner = inner_product();
  const Array x = random({30, 70}), y = random({70, 30}).transpose(), row = random({70});
  for (int axis : {0, 1}) {
    const auto products = groups_of(x * y, 1u << axis), rows = groups_of(x * row, 1u << axis);
    const Values found = inner.along(axis, false, x, y).to_doubles(),
                 found_rows = inner.along(axis, true, x, row).to_doubles();
    for (std::size_t i = 0; i < products.size(); ++i) {
      EXPECT_NEAR(found[i], std::accumulate(products[i].begin(), products[i].end(), 0.0), 1e-2);
      EXPECT_NEAR(found_rows[i], std::accumulate(rows[i].begin(), rows[i].end(), 0.0), 1e-2);
    }
  }
  EXPECT_EQ(inner.along(0, true, x, y).shape(), (Shape{1, 70}));
}

TEST_P(EagerReductionKernel, TakesNumbersPostAndPlaces) {
  const ReductionKernel norm({.dtype_out = float64,
                              .neutral = "0",
                              .reduce = "a + b",
                              .map = "pow((double)fabsf(x[i]), p)",
                              .arguments = "const float* x, double p",
                              .name = "norm",
                              .post = "pow(a / n, 0.5)"});
  EXPECT_NEAR(norm(array({1, -2, 3}), 2).item().as_double(), std::sqrt(14.0 / 3), 1e-9);
  const ReductionKernel places({.dtype_out = int64,
                                .neutral = "0",
                                .reduce = "a + b",
                                .map = "x[i] > 0 ? 1000 * i + r : 0",
                                .arguments = "const float* x"});
  const Array x = array({-1, 1, -1, -1, -1, 1}).reshape({2, 3});
  EXPECT_EQ(places(x).to_doubles(), Values{1001 + 5005});
  EXPECT_EQ(places.along(0, false, x).to_doubles(), (Values{0, 1000, 5001}));
  EXPECT_EQ(places.along(1, false, x.transpose()).to_doubles(), (Values{0, 2000, 5001}));
}

TEST_P(EagerReductionKernel, ReadsNeighboursInCOrder) {
  const ReductionKernel steps({.dtype_out = float32,
                               .neutral = "0",
                               .reduce = "a + b",
                               .map = "i > 0 ? fabsf(x[i] - x[i - 1]) : 0.0f",
                               .arguments = "const float* x"});
  EXPECT_EQ(steps(array({1, 4, 2, 9})).to_doubles(), Values{12});
  EXPECT_EQ(steps(array({9, 2, 4, 1}).slice({{std::nullopt, std::nullopt, -1}})).to_doubles(), Values{12});
}

TEST_P(EagerReductionKernel, KeepsAStructOfTheUsers) {
  const ReductionKernel spread({.dtype_out = float32,
                                .neutral = "Range{1e30f, -1e30f}",
                                .reduce = "Range{fminf(a.low, b.low), fmaxf(a.high, b.high)}",
                                .map = "Range{x[i], x[i]}",
                                .arguments = "const float* x",
                                .name = "spread",
                                .preamble = "struct Range { float low, high; };",
                                .post = "a.high - a.low",
                                .accumulator = "Range"});
  const Array x = random({300, 501});
  EXPECT_EQ(spread(x).to_doubles(), Values{15.5});
  const auto groups = groups_of(x, 1);
  const Values found = spread.along(0, false, x).to_doubles();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto [low, high] = std::minmax_element(groups[i].begin(), groups[i].end());
    EXPECT_EQ(found[i], *high - *low);
  }
}

/// Of the largest size, with a constructor and an alignment of its own, joined in every form: rows, columns, chunks of
/// both.
TEST_P(EagerReductionKernel, KeepsALargeStructThatIsConstructed) {
  const ReductionKernel moments({.dtype_out = float64,
                                 .neutral = "Moments()",
                                 .reduce = "joined(a, b)",
                                 .map = "Moments(x[i])",
                                 .arguments = "const float* x",
                                 .name = "moments",
                                 .preamble = R"(struct alignas(16) Moments {
                                   double power[8] = {};
                                   Moments() = default;
                                   __device__ explicit Moments(double x) { for (int k = 0; k < 8; ++k) power[k] = k == 0 ? 1 : power[k - 1] * x; }
                                 };
                                 __device__ Moments joined(Moments a, const Moments& b) { for (int k = 0; k < 8; ++k) a.power[k] += b.power[k]; return a; })",
                                 .post = "a.power[2] / a.power[0] + 1000 * n",
                                 .accumulator = "Moments"});
  for (const Shape& shape : {Shape{3, 30001}, Shape{40000, 3}, Shape{300, 40}, Shape{90, 130}}) {
    const Array x = random(shape);
    for (std::uint32_t mask : {1u, 2u, 3u}) {
      const auto groups = groups_of(x, mask);
      const Values found = (mask == 3 ? moments(x) : moments.along(mask == 1 ? 0 : 1, false, x)).to_doubles();
      ASSERT_EQ(found.size(), groups.size());
      for (std::size_t i = 0; i < groups.size(); ++i) {
        const double n = static_cast<double>(groups[i].size());
        ASSERT_NEAR(found[i],
                    std::inner_product(groups[i].begin(), groups[i].end(), groups[i].begin(), 0.0) / n + 1000 * n,
                    1e-9 * 1000 * n)
            << to_string(shape) << " " << mask;
      }
    }
  }
}

/// Arguments and types of the user's are called as he likes, the number of an element is right in any order of memory,
/// and whole arrays lie beside elements.
TEST_P(EagerReductionKernel, LeavesNamesToTheUser) {
  const ReductionKernel weighted(
      {.dtype_out = float64,
       .neutral = "T{0}",
       .reduce = "T{a.value + b.value}",
       .map = "T{(double)x0[i] * u64[i % N] + r * v0[i]}",
       .arguments = "const half* x0, const int8_t* u64, double r, const bool* v0",
       .preamble = "struct T { double value; }; struct Arguments {}; struct place {};\n#define N 5\n#define A(x) x",
       .post = "a.value",
       .accumulator = "T"});
  const Array x = astype(random({6, 50}).transpose(), float16),
              u = Array::from<std::int8_t>({1, -2, 3, -4, 5, 6}, {1, 6}, device()), v = random({50, 1}) > 0;
  const Values a = x.to_doubles(), b = u.broadcast_to({50, 6}).to_doubles(), c = v.to_doubles();
  Values expected(50);
  for (std::size_t i = 0; i < 300; ++i) expected[i / 6] += a[i] * b[i % 5] + 0.5 * c[i / 6];
  EXPECT_EQ(weighted.along(1, false, x, u, 0.5, v).to_doubles(), expected);
}

TEST_P(EagerReductionKernel, ReducesNoAxisAndNumbers) {
  const ReductionKernel sum(
      {.dtype_out = float32, .neutral = "0", .reduce = "a + b", .arguments = "const float* x", .post = "a + n"});
  EXPECT_EQ(sum(array({7}).reshape(Shape{})).to_doubles(), Values{8});
  EXPECT_EQ(sum.along(Axes(std::vector<int>{}), true, array({7, 9})).to_doubles(), (Values{8, 10}));
}

TEST_P(EagerReductionKernel, AccumulatesHalvesInFloat) {
  const ReductionKernel sum({.dtype_out = float16,
                             .neutral = "0",
                             .reduce = "a + b",
                             .map = "(float)x[i]",
                             .arguments = "const half* x",
                             .name = "half_sum"});
  EXPECT_EQ(sum(Array::ones({4096}, float16, device())).to_doubles(), Values{4096});
}

TEST_P(EagerReductionKernel, GivesTheNeutralValueOfNothing) {
  const ReductionKernel sum({.dtype_out = int32, .neutral = "5", .reduce = "a + b", .arguments = "const int* x"});
  EXPECT_EQ(sum(Array::zeros({0, 3}, int32, device())).to_doubles(), Values{5});
  EXPECT_EQ(sum.along(0, false, Array::zeros({0, 3}, int32, device())).to_doubles(), (Values{5, 5, 5}));
}

TEST_P(EagerReductionKernel, SaysWhatIsWrong) {
  const ReductionKernel inner = inner_product();
  const Array x = range({4});
  EXPECT_THAT(error_of([&] { inner(x); }), ::testing::HasSubstr("inner: 1 arguments are given, it has 2 parameters"));
  EXPECT_THAT(error_of([&] { inner(x, 2); }),
              ::testing::HasSubstr("the parameter \"const float * y\" wants an Array, it is given a number"));
  EXPECT_THAT(error_of([&] { inner(x, astype(x, float64)); }),
              ::testing::HasSubstr("wants elements of float32, it is given float64 (4,)"));
  EXPECT_THAT(error_of([&] { inner(x, range({3})); }), ::testing::HasSubstr("inner: cannot broadcast (4,) with (3,)"));
  EXPECT_THAT(error_of([&] { inner.along(1, false, x, x); }), ::testing::HasSubstr("inner: axis 1 does not exist"));
  EXPECT_THAT(error_of([] { ReductionKernel({.neutral = "0", .reduce = "a+b", .arguments = "float* x"}); }),
              ::testing::HasSubstr("\"float * x\" can be written"));
  EXPECT_THAT(error_of([] { ReductionKernel({.neutral = "0", .arguments = "const float* x"}); }),
              ::testing::HasSubstr("it has no rule to join two values"));
  const int line = __LINE__ + 1;
  const ReductionKernel broken({.neutral = "0", .reduce = "a + nothing", .arguments = "const float* x"});
  EXPECT_THAT(error_of([&] { broken(x); }), damo::testing::names_line("reduction_kernel_test.cpp", line));
}

ReductionKernel moments(std::string post = "") {
  return ReductionKernel({.dtype_out = float64,
                          .arguments = "const float* x, float scale",
                          .name = "moments",
                          .post = SourceText(std::move(post)),
                          .members = {{"count", int32, "1", "0", "a.count + b.count"}, {"mean", float32, "scale * x[i]", "0", "a.mean + apart * share"}, {"m2", float64, "0", "0", "a.m2 + b.m2 + double(apart) * apart * a.count * share"}},
                          .before = "const int count = a.count + b.count; const float share = float(b.count) / (count > 0 ? count : 1), apart = b.mean - a.mean;"});
}

TEST_P(EagerReductionKernel, JoinsSeveralValuesOfWhichEachIsAResult) {
  const ReductionKernel kernel = moments(), variance = moments("a.m2 / n");
  for (const Shape& shape : {Shape{30, 70}, Shape{3, 100001}, Shape{100001, 3}, Shape{1, 1}}) {
    const Array x = random(shape), turned = random({shape[1], shape[0]}).transpose();
    for (const Array& given : {x, turned}) {
      for (int axis : {0, 1}) {
        const auto groups = groups_of(given, 1u << axis);
        const std::vector<Array> all = kernel.results_along(axis, false, given, 2.0f);
        ASSERT_EQ(all.size(), 3u);
        EXPECT_EQ(all[0].dtype(), int32);
        EXPECT_EQ(all[2].dtype(), float64);
        EXPECT_EQ(all[1].shape(), (Shape{shape[1 - axis]}));
        const Values counts = all[0].to_doubles(), means = all[1].to_doubles(), squares = all[2].to_doubles(), variances = variance.along(axis, true, given, 2.0f).to_doubles();
        for (std::size_t i = 0; i < groups.size(); ++i) {
          const auto n = static_cast<double>(groups[i].size());
          double mean = 0, m2 = 0;
          for (double value : groups[i]) mean += 2 * value / n;
          for (double value : groups[i]) m2 += (2 * value - mean) * (2 * value - mean);
          ASSERT_EQ(counts[i], n);
          ASSERT_NEAR(means[i], mean, 1e-5);
          ASSERT_NEAR(squares[i], m2, 1e-5 * (m2 + 1));
          ASSERT_NEAR(variances[i], m2 / n, 1e-5 * (m2 / n + 1));
        }
      }
    }
  }
  const std::vector<Array> all = kernel.results(random({70}), 1.0f), none = kernel.results_along(1, true, random({2, 0}), 1.0f);
  EXPECT_EQ(all[0].item().as_int(), 70);
  EXPECT_EQ(none[0].to_doubles(), (Values{0, 0}));
  EXPECT_EQ(none[1].shape(), (Shape{2, 1}));
  EXPECT_EQ(inner_product().results(random({5}), random({5})).size(), 1u);
}

TEST_P(EagerReductionKernel, TellsWhatIsWrongWithMembers) {
  const Array x = random({5});
  EXPECT_THAT(error_of([&] { moments()(x, 1.0f); }), ::testing::HasSubstr("ReductionKernel moments has 3 results\n  results() and results_along() give them all; .post makes one of them"));
  const auto error = [](std::vector<JoinMember> members, SourceText neutral = {}, SourceText before = {}) {
    return error_of([&] { ReductionKernel({.neutral = neutral, .arguments = "const float* x", .name = "several", .members = members, .before = before}); });
  };
  const JoinMember total{"total", float32, "x[i]", "0", "a.total + b.total"};
  EXPECT_THAT(error({total, total}), ::testing::HasSubstr("ReductionKernel several has two members total"));
  const int line = __LINE__ + 1;
  const std::string keyword = error({{"class", float32, "x[i]", "0", "a.total + b.total"}});
  EXPECT_THAT(keyword, ::testing::HasSubstr("ReductionKernel several has a member \"class\", which is a word of C++\n  in ReductionKernel several at "));
  EXPECT_THAT(keyword, damo::testing::names_line("reduction_kernel_test.cpp", line));
  EXPECT_THAT(error_of([] { ReductionKernel({.neutral = "0", .reduce = "a + b", .arguments = "const float* double"}); }), ::testing::HasSubstr("it has no name"));
  EXPECT_THAT(error_of([] { ReductionKernel({.neutral = "0", .reduce = "a + b", .arguments = "const float* damo_value"}); }), ::testing::HasSubstr("a parameter is called damo_value, which is one of Damo's names"));
  EXPECT_THAT(error({{"total", float32, "x[i]", "", "a.total + b.total"}}), ::testing::HasSubstr("ReductionKernel several: member total has no neutral value"));
  EXPECT_THAT(error({{"total", float8_e4m3, "x[i]", "0", "a.total + b.total"}}), ::testing::HasSubstr("member total"));
  EXPECT_THAT(error({total}, "0"), ::testing::HasSubstr("ReductionKernel several: it has members and says what is joined beside them"));
  EXPECT_THAT(error_of([] { ReductionKernel({.neutral = "0", .reduce = "a + b", .arguments = "const float* x", .before = "int c;"}); }), ::testing::HasSubstr("it has statements before the rule of members, and no members"));
  const ReductionKernel wrong({.arguments = "const float* x", .members = {{"total", float32, "x[i]", "0", "a.total + b.nothing"}}});
  EXPECT_THAT(error_of([&] { wrong.results(x); }), ::testing::HasSubstr("nothing"));
  EXPECT_THAT(error_of([&] { wrong.results(x); }), ::testing::HasSubstr("reduction_kernel_test.cpp"));
}

DAMO_ON_EACH_DEVICE(EagerReductionKernel);

}  // namespace
}  // namespace damo
