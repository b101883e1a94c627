// Reductions along axes, against sums in double precision on the host.
#include <cmath>
#include <limits>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/array_math.hpp>
#include <damo/array_linalg.hpp>
#include <damo/array_reduce.hpp>
#include "ops/eager/reference.hpp"
#include "support/devices.hpp"

namespace damo {
namespace {

using testing::error_of;
using testing::groups_of;
using testing::noise;
using Values = std::vector<double>;

class EagerReduce : public testing::OnEachDevice {
 protected:
  Array random(const Shape& shape, DType dtype = float32) const {
    const Array values = Array::from(noise(shape.size()), shape, device());
    return dtype == float32 ? values : astype(values, dtype);
  }
  /// sum, max, argmax along the axes against the host's.
  void expect_all(const Array& x, const Axes& axes, double tolerance = 1e-5) {
    const std::uint32_t mask = axes.mask(x.rank(), "test");
    const auto groups = groups_of(x, mask);
    const Values sums = sum(x, axes).to_doubles(), greatest = max(x, axes).to_doubles(),
                 least = min(x, axes, true).to_doubles(), place = argmax(x, axes).to_doubles();
    ASSERT_EQ(sums.size(), groups.size()) << describe(x);
    for (std::size_t i = 0; i < groups.size(); ++i) {
      double expected = 0, scale = 1e-30;
      for (double value : groups[i]) expected += value, scale += std::abs(value);
      ASSERT_NEAR(sums[i], expected, tolerance * scale) << describe(x) << " output " << i;
      ASSERT_EQ(greatest[i], *std::max_element(groups[i].begin(), groups[i].end())) << describe(x) << " output " << i;
      ASSERT_EQ(place[i], std::max_element(groups[i].begin(), groups[i].end()) - groups[i].begin()) << describe(x) << " output " << i;
      ASSERT_EQ(least[i], *std::min_element(groups[i].begin(), groups[i].end())) << describe(x) << " output " << i;
    }
  }
};

TEST_P(EagerReduce, SumsAllElements) {
  for (std::int64_t size : {1, 2, 31, 97, 1024, 4099, 65537, (1 << 20) + 1}) expect_all(random({size}), {});
  EXPECT_EQ(sum(random({7, 3})).rank(), 0);
  EXPECT_EQ(sum(Array::scalar(2.5f, device())).to_doubles(), Values{2.5});
  EXPECT_EQ(sum(array({1, 2, 3}), {}, true).shape(), (Shape{1}));
}

TEST_P(EagerReduce, WorksAlongAnyAxes) {
  const Array x = random({7, 13, 19});
  for (const Axes& axes : {Axes(0), Axes(1), Axes(-1), Axes{0, 1}, Axes{1, 2}, Axes{0, 2}, Axes{0, 1, 2}})
    expect_all(x, axes);
  EXPECT_EQ(sum(x, 1).shape(), (Shape{7, 19}));
  EXPECT_EQ(sum(x, {0, -1}, true).shape(), (Shape{1, 13, 1}));
  EXPECT_EQ(sum(x, std::vector<int>{}).to_doubles(), x.to_doubles());
}

TEST_P(EagerReduce, WorksOnEveryShapeOfMatrix) {
  for (const Shape& shape : {Shape{1, 5000}, Shape{5000, 1}, Shape{3, 40000}, Shape{40000, 3}, Shape{700, 900},
                             Shape{2, 2}, Shape{5000, 17}, Shape{100, 5000}, Shape{5000, 40}}) {
    const Array x = random(shape);
    expect_all(x, 0);
    expect_all(x, 1);
  }
}

TEST_P(EagerReduce, ReadsAnyStrides) {
  const Array x = random({40, 60, 5});
  expect_all(x.transpose(), {});
  expect_all(x.transpose(), 0);
  expect_all(x.transpose(), {0, 2});
  expect_all(x.slice({{3, 40, 2}, {std::nullopt, std::nullopt, -3}}), {});
  expect_all(x.slice({{3, 40, 2}, {std::nullopt, std::nullopt, -3}}), {0, 2});
  expect_all(x.slice({{3, 40, 2}, {std::nullopt, std::nullopt, -3}}), 1);
  expect_all(random({1, 9}).broadcast_to({11, 9}), 0);
  expect_all(random({11, 1}).broadcast_to({11, 9}), 1);
  expect_all(random({11, 1}).broadcast_to({300, 11, 900}), {});
}

TEST_P(EagerReduce, TakesEveryDType) {
  for (DType dtype : {int8, int16, int32, int64, float16, bfloat16, float32, float64}) {
    const Array x = astype(array({-3, 2, -1, 1, 3, -2, 0, 0, 1}).reshape({3, 3}), dtype);
    const DType sums = is_floating(dtype) ? dtype : int64;
    EXPECT_EQ(sum(x, 0).dtype(), sums);
    EXPECT_EQ(sum(x, 0).to_doubles(), (Values{-2, 5, -2})) << name(dtype);
    EXPECT_EQ(prod(x, 1).to_doubles(), (Values{6, -6, 0})) << name(dtype);
    EXPECT_EQ(max(x, 1).dtype(), dtype);
    EXPECT_EQ(max(x, 1).to_doubles(), (Values{2, 3, 1})) << name(dtype);
    EXPECT_EQ(min(x).to_doubles(), Values{-3}) << name(dtype);
    EXPECT_EQ(argmax(x, 0).to_doubles(), (Values{1, 1, 2})) << name(dtype);
    EXPECT_NEAR(mean(x).to_doubles()[0], 1.0 / 9, 1e-3) << name(dtype);
    EXPECT_EQ(mean(x).dtype(), is_floating(dtype) ? dtype : float64);
    EXPECT_EQ(any(x, 1).to_vector<bool>(), (std::vector<bool>{true, true, true}));
    EXPECT_EQ(all(x, 1).to_vector<bool>(), (std::vector<bool>{true, true, false}));
  }
  for (DType dtype : {bool_, uint8, uint16, uint32, uint64}) {
    const Array x = astype(array({1, 0, 1, 1}), dtype);
    EXPECT_EQ(sum(x).dtype(), dtype == bool_ ? int64 : uint64);
    EXPECT_EQ(sum(x).to_doubles(), Values{3}) << name(dtype);
    EXPECT_EQ(max(x).to_doubles(), Values{1}) << name(dtype);
    EXPECT_EQ(min(x).to_doubles(), Values{0}) << name(dtype);
    EXPECT_EQ(argmin(x).to_doubles(), Values{1}) << name(dtype);
  }
}

TEST_P(EagerReduce, AccumulatesHalvesInFloat) {
  // A float16 accumulator would stay at 2048, a bfloat16 one at 256.
  EXPECT_EQ(sum(Array::ones({4096}, float16, device())).to_doubles(), Values{4096});
  EXPECT_EQ(sum(Array::ones({4096}, bfloat16, device())).to_doubles(), Values{4096});
  EXPECT_EQ(mean(Array::full({100000}, 2, float16, device())).to_doubles(), Values{2});
}

TEST_P(EagerReduce, LongFloatSumsStayAccurate) {
  const std::int64_t size = 1 << 22;  // one float accumulator would be wrong by 1 in 100
  const float tenth = sum(Array::full({size}, 0.1f, float32, device())).to_vector<float>()[0];
  EXPECT_NEAR(tenth, static_cast<double>(0.1f) * static_cast<double>(size), 1e-5 * static_cast<double>(tenth));
}

TEST_P(EagerReduce, GivesTheSameAtEveryCall) {
  const Array x = sin(range({1000003}));
  const float first = sum(x).to_vector<float>()[0];
  for (int i = 0; i < 5; ++i) EXPECT_EQ(sum(x).to_vector<float>()[0], first);
}

TEST_P(EagerReduce, NaNWinsAndTheFirstOfEqualsIsFound) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  std::vector<float> values = noise(3000);
  values[1234] = 100, values[2345] = 100;
  EXPECT_EQ(argmax(array(values)).to_doubles(), Values{1234});
  values[2000] = values[2001] = nan;
  const Array x = array(values);
  EXPECT_TRUE(std::isnan(max(x).to_doubles()[0]));
  EXPECT_TRUE(std::isnan(min(x).to_doubles()[0]));
  EXPECT_TRUE(std::isnan(sum(x).to_doubles()[0]));
  EXPECT_EQ(argmax(x).to_doubles(), Values{2000});
  EXPECT_EQ(argmin(x).to_doubles(), Values{2000});
  EXPECT_EQ(max(array({-inf, -inf})).to_doubles(), Values{-inf});
  EXPECT_EQ(argmax(array({-inf, -inf})).to_doubles(), Values{0});
  EXPECT_EQ(argmin(array({3, 1, 2, 1}).reshape({2, 2}), 0).to_doubles(), (Values{1, 0}));
  EXPECT_EQ(argmax(range({3, 4}).transpose()).to_doubles(), Values{11});
  EXPECT_EQ(argmax(range({3, 4}), 1, true).shape(), (Shape{3, 1}));
  EXPECT_EQ(argmax(range({3, 4, 5}), {0, 2}, true).to_doubles(), (Values{14, 14, 14, 14}));
  EXPECT_EQ(argmin(range({3, 4}), {}, true).shape(), (Shape{1, 1}));
}

TEST_P(EagerReduce, FindsTheGreatestAndItsPlaceAtOnce) {
  const Array x = array({3, 9, 9, 1, 2, -4, 0, 9, 7, 7, 5, 6}, {2, 3, 2});
  const auto expect = [&](const Array& of, const Axes& axes, bool keep, const Shape& shape, const Values& values, const Values& places) {
    const auto [found, positions] = max_and_argmax(of, axes, keep);
    EXPECT_EQ(found.shape(), shape);
    EXPECT_EQ(positions.shape(), shape);
    EXPECT_EQ(positions.dtype(), int64);
    EXPECT_EQ(found.dtype(), of.dtype());
    EXPECT_EQ(found.to_doubles(), values);
    EXPECT_EQ(positions.to_doubles(), places);
  };
  expect(x, {}, false, {}, {9}, {1});
  expect(x, 1, false, {2, 2}, {9, 9, 7, 9}, {1, 0, 1, 0});
  expect(x, {0, 2}, true, {1, 3, 1}, {9, 9, 6}, {1, 0, 3});
  expect(x.transpose(), {0, -1}, false, {3}, {9, 9, 6}, {2, 0, 3});
  expect(x.slice({{}, {std::nullopt, std::nullopt, -1}}), 1, false, {2, 2}, {9, 9, 7, 9}, {1, 2, 1, 2});
  expect(astype(x, int8), -1, false, {2, 3}, {9, 9, 2, 9, 7, 6}, {1, 0, 0, 1, 0, 1});
  expect(astype(x, float16), 0, true, {1, 3, 2}, {3, 9, 9, 7, 5, 6}, {0, 0, 0, 1, 1, 1});
  expect(Array::scalar(4.0f, device()), {}, false, {}, {4}, {0});
  expect(Array::empty({0, 3}, float32, device()), 1, false, {0}, {}, {});
  const auto [values, positions] = max_and_argmax(array({1, NAN, 5, NAN, 2, -INFINITY, -INFINITY, -INFINITY}, {2, 4}), 1);
  EXPECT_TRUE(std::isnan(values.to_doubles()[0]));
  EXPECT_EQ(values.to_doubles()[1], 2);
  EXPECT_EQ(positions.to_doubles(), (Values{1, 0}));
  EXPECT_THAT(error_of([&] { max_and_argmax(x, 3); }), ::testing::HasSubstr("max_and_argmax: "));
  EXPECT_THAT(error_of([&] { max_and_argmax(Array()); }), ::testing::HasSubstr("max_and_argmax: the Array is empty"));
  EXPECT_THAT(error_of([&] { max_and_argmax(Array::empty({3, 0}, float32, device()), 1); }),
              ::testing::HasSubstr("max_and_argmax: there is no element to choose in an array of shape (3, 0)"));
}

TEST_P(EagerReduce, NumbersTheElementsThatArgmaxChoosesFrom) {
  const Array x = random({2, 3, 2});
  EXPECT_EQ(index_along(x, 1).to_doubles(), (Values{0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(index_along(x.transpose(), 0).to_doubles(), (Values{0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(index_along(astype(x, float8_e4m3), {0, -1}).to_doubles(), (Values{0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3}));
  EXPECT_EQ(index_along(x, {}).to_doubles(), (Values{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(index_along(random({}), {}).to_doubles(), Values{0});
  EXPECT_EQ(index_along(random({2, 0}), 0).shape(), (Shape{2, 0}));
  EXPECT_EQ(index_along(x, 1).dtype(), int64);
  EXPECT_EQ(sum(cast(eq(index_along(x, {0, 2}), argmax(x, {0, 2}, true)), float32) * x, {0, 2}).to_doubles(), max(x, {0, 2}).to_doubles());
  EXPECT_THAT(error_of([&] { index_along(x, 3); }), ::testing::HasSubstr("index_along: "));
  EXPECT_THAT(error_of([&] { index_along(Array(), 0); }), ::testing::HasSubstr("index_along: the Array is empty"));
}

TEST_P(EagerReduce, ReducesNothing) {
  const Array none = range({0, 3});
  EXPECT_EQ(sum(none).to_doubles(), Values{0});
  EXPECT_EQ(sum(none, 0).to_doubles(), (Values{0, 0, 0}));
  EXPECT_EQ(sum(none, 1).shape(), (Shape{0}));
  EXPECT_EQ(prod(none).to_doubles(), Values{1});
  EXPECT_EQ(any(none).to_vector<bool>(), std::vector<bool>{false});
  EXPECT_EQ(all(none).to_vector<bool>(), std::vector<bool>{true});
  EXPECT_TRUE(std::isnan(mean(none).to_doubles()[0]));
  EXPECT_THAT(error_of([&] { max(none); }),
              ::testing::HasSubstr("max: there is no element to choose in an array of shape (0, 3)"));
  EXPECT_EQ(max(none, 1).shape(), (Shape{0}));
}

TEST_P(EagerReduce, GivesVarianceAndNorm) {
  const Array x = random({50, 300});
  const auto groups = groups_of(x, 1u << 1);
  const Values variances = var(x, 1).to_doubles(), deviations = stddev(x, 1, false, 1).to_doubles(),
               norms = norm(x, 1).to_doubles();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const double n = 300, center = std::accumulate(groups[i].begin(), groups[i].end(), 0.0) / n;
    double squares = 0, length = 0;
    for (double value : groups[i]) squares += (value - center) * (value - center), length += value * value;
    EXPECT_NEAR(variances[i], squares / n, 1e-5 * squares / n);
    EXPECT_NEAR(deviations[i], std::sqrt(squares / (n - 1)), 1e-5 * std::sqrt(squares));
    EXPECT_NEAR(norms[i], std::sqrt(length), 1e-5 * std::sqrt(length));
  }
  EXPECT_EQ(var(astype(x, float16)).dtype(), float16);
}

TEST_P(EagerReduce, GivesInnerProducts) {
  const Array x = random({1000}), y = random({2000}).slice({{std::nullopt, std::nullopt, 2}});
  const Values a = x.to_doubles(), b = y.to_doubles();
  EXPECT_NEAR(vdot(x, y).to_doubles()[0], std::inner_product(a.begin(), a.end(), b.begin(), 0.0), 1e-2);
  EXPECT_EQ(vdot(astype(x, int32), x).dtype(), float64);
  EXPECT_THAT(error_of([&] { vdot(x, x.slice({{0, 5}})); }), ::testing::HasSubstr("vdot: (1000,) and (5,) do not fit: axis 0 of the first has 1000 elements, axis 0 of the second 5"));
}

TEST_P(EagerReduce, NamesWrongAxes) {
  const Array x = range({2, 3});
  EXPECT_THAT(error_of([&] { sum(x, 2); }), ::testing::HasSubstr("sum: axis 2 does not exist: x has 2 axes"));
  EXPECT_THAT(error_of([&] { sum(x, {1, -1}); }), ::testing::HasSubstr("sum: axis 1 is named twice"));
  EXPECT_THAT(error_of([&] { argmin(x, -3); }), ::testing::HasSubstr("argmin: axis -3 does not exist"));
  EXPECT_THAT(error_of([&] { sum(Array()); }), ::testing::HasSubstr("sum: the Array is empty"));
}

TEST_P(EagerReduce, AccumulatesAndGivesWhatIsAsked) {
  std::vector<float> values(40, 1.0f);
  values[0] = 16777216.0f;
  const Array x = Array::from(values, {2, 20}, device());
  const Array wide = sum(x, {}, {.dtype = float64}), inner = sum(x, 1, {.keepdims = true, .acc_dtype = float64});
  EXPECT_EQ(wide.dtype(), float64);
  EXPECT_EQ(wide.to_doubles(), Values{16777255.0});
  EXPECT_EQ(inner.dtype(), float32);
  EXPECT_EQ(inner.shape(), (Shape{2, 1}));
  EXPECT_EQ(inner.to_doubles(), (Values{16777236.0, 20.0}));
  EXPECT_EQ(mean(x, 1, {.dtype = float64}).to_doubles(), (Values{16777235.0 / 20, 1}));
  EXPECT_EQ(prod(astype(x, float16), 1, {.acc_dtype = float64}).dtype(), float16);
  const Array i = Array::from(std::vector<std::int32_t>{2000000000, 2000000000, -7}, {3}, device());
  EXPECT_EQ(sum(i, 0, {.dtype = float32}).to_doubles(), Values{4e9});
  EXPECT_EQ(sum(i, 0, {.dtype = int32}).to_doubles(), Values{4000000000.0 - 7 - 4294967296.0});
  EXPECT_THAT(error_of<TypeError>([&] { sum(x, 0, {.dtype = int64}); }), ::testing::HasSubstr("sum of float32 is no integer: .dtype = int64"));
}

TEST_P(EagerReduce, GoesOverMoreThanTwoToThe31ElementsOfARepeatedOne) {
  const std::int64_t count = (std::int64_t{1} << 31) + 7;
  EXPECT_EQ(sum(Array::full({1}, 3.0f, int8, device()).broadcast_to({count})).to_vector<std::int64_t>(), std::vector<std::int64_t>{3 * count});
  EXPECT_EQ(mean(Array::full({1}, 0.5f, float32, device()).broadcast_to({count}), {}, {.acc_dtype = float64}).to_doubles(), Values{0.5});
}

DAMO_ON_EACH_DEVICE(EagerReduce);

}  // namespace
}  // namespace damo
