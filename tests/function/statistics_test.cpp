// Order statistics, counts and what is different, of Variables and of Arrays, against NumPy 2.3 (values written down).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include <damo/damo.hpp>
#include "support/devices.hpp"

namespace damo {
namespace {

using testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Values = std::vector<double>;
constexpr double kUnbounded = std::numeric_limits<double>::infinity(), kNoNumber = std::numeric_limits<double>::quiet_NaN();

class Statistics : public testing::OnEachDevice {
 protected:
  Array of(const Values& values, const Shape& shape) const { return Array::from(values, shape, device()); }
  Array of(const Values& values) const { return Array::from(values, device()); }
  template <class T>
  Array integers(const std::vector<T>& values) const { return Array::from(values, device()); }
  static void expect_same(const Values& got, const Values& want) {
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(std::fabs(got[i] - want[i]) < 1e-14 * std::fabs(want[i]) + 1e-300 || got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i]))) << i << ": " << got[i] << ", not " << want[i];
  }
};

TEST_P(Statistics, MediansAndQuantilesAreNumPys) {
  const Array x = of({3, 1, 2, 7, 9, 5, 5, 1}, {2, 4});
  expect_same(median(x).to_doubles(), {4});
  expect_same(median(x, 0).to_doubles(), {6, 3, 3.5, 4});
  EXPECT_EQ(median(x, 1, keepdims).shape(), (Shape{2, 1}));
  EXPECT_EQ(median(x, {}, keepdims).shape(), (Shape{1, 1}));
  const Variable v = matrix("x", float64);
  const Function f = function({v}, {median(v), median(v, 1), quantile(v, 0.3), quantile(v, 0.3, 1), quantile(v, 0.9, 0), quantile(v, 1, -1), quantile(v, 0), ptp(v, 1)}, options());
  const Results results = f(x);
  const Values want[] = {{4}, {2.5, 5}, {2.1}, {1.9, 4.6}, {8.4, 4.6, 4.7, 6.4}, {7, 9}, {1}, {6, 8}};
  for (std::size_t i = 0; i < results.size(); ++i) expect_same(results[i].to_doubles(), want[i]);
  expect_same(quantile(x, 0.3, 1).to_doubles(), {1.9, 4.6});
  expect_same(ptp(x, 1).to_doubles(), {6, 8});
  expect_same(f(of({1, 2, kNoNumber, 4}, {1, 4}))[1].to_doubles(), {kNoNumber});
  expect_same(median(of({kUnbounded, kUnbounded, 1, kUnbounded})).to_doubles(), {kUnbounded});
  expect_same(quantile(of({-kUnbounded, -kUnbounded, 1, 2}), 0.25).to_doubles(), {-kUnbounded});
  EXPECT_EQ(median(integers<std::int8_t>({1, 2})).dtype(), float64);
  expect_same(median(astype(of({1, 2048, 2050, 7}), float16)).to_doubles(), {1028});
  EXPECT_THAT(error_of([&] { quantile(v, 1.5); }), HasSubstr("quantile: q is 1.5"));
  EXPECT_THAT(error_of([&] { median(of({}, {0})); }), HasSubstr("median: axis 0 of x has no elements"));
  EXPECT_THAT(error_of([&] { ptp(gt(v, 1.0)); }), HasSubstr("ptp takes numbers, not bool"));
  const Array apart = of({3, 1, 2, 7, 9, 4, 5, 1}, {2, 4});  // equals are kinks
  const GradientCase cases[] = {{"median", [](std::span<const Variable> in) { return median(in[0], 1); }, {apart}}, {"quantile", [](std::span<const Variable> in) { return quantile(in[0], 0.3, 1); }, {apart}},
                                {"ptp", [](std::span<const Variable> in) { return ptp(in[0], 1); }, {apart}},
                                {"bincount", [](std::span<const Variable> in) { return sqr(bincount(argsort(in[0]), in[1])); }, {of({0, 2, 2.25, 1}), of({0.5, 1.5, 2, 3})}}};
  verify_grad(cases, {.device = device()});
}

TEST_P(Statistics, BincountCountsFromZeroToTheGreatest) {
  const Array x = integers<int>({1, 4, 1, 0, 4, 4}), weights = of({0.5, 1, 2, 3, 4, 5});
  EXPECT_THAT(bincount(x).to_vector<std::int64_t>(), ElementsAre(1, 2, 0, 0, 3));
  EXPECT_THAT(bincount(x, 7).to_vector<std::int64_t>(), ElementsAre(1, 2, 0, 0, 3, 0, 0));
  EXPECT_THAT(bincount(x, weights).to_vector<double>(), ElementsAre(3, 2.5, 0, 0, 10));
  EXPECT_EQ(bincount(integers<int>({})).size(), 0);
  const Variable v = vector("x", int32), w = vector("w", float64);
  const Function f = function({v, w}, {bincount(v), bincount(v, 2), bincount(v, w)}, options());
  for (int call = 0; call < 2; ++call) {
    const Results results = f(x, weights);
    EXPECT_THAT(results[0].to_vector<std::int64_t>(), ElementsAre(1, 2, 0, 0, 3));
    EXPECT_THAT(results[2].to_vector<double>(), ElementsAre(3, 2.5, 0, 0, 10));
    const Results none = f(integers<int>({}), of({}, {0}));
    EXPECT_EQ(none[0].size(), 0);
    EXPECT_THAT(none[1].to_vector<std::int64_t>(), ElementsAre(0, 0));
  }
  EXPECT_THAT(error_of([&] { bincount(integers<int>({1, -3})); }), HasSubstr("bincount: x has the element -3"));
  EXPECT_THAT(error_of([&] { f(integers<int>({1, -3}), of({1, 1})); }), HasSubstr("bincount: x has the element -3"));
  const auto greatest = integers<std::int64_t>({std::numeric_limits<std::int64_t>::max()});
  EXPECT_THAT(error_of([&] { bincount(greatest); }), HasSubstr("more than 2^63 bytes"));
  const Variable l = vector("l", int64);
  EXPECT_THAT(error_of([&] { function({l}, {bincount(l)}, options())(greatest); }), HasSubstr("more than 2^63 bytes"));
  EXPECT_THAT(error_of([&] { bincount(vector("y")); }), HasSubstr("bincount: x is float32, whose elements number no bins"));
}

TEST_P(Statistics, UniqueTellsEachValueOnceWhereAndHowOften) {
  const Array x = of({3, 1, kNoNumber, 3, -0.0, kNoNumber, 0, 3}, {2, 4});
  const UniqueArrays eager = unique(x);
  expect_same(eager.values.to_doubles(), {0, 1, 3, kNoNumber});
  EXPECT_THAT(eager.positions.to_vector<std::int64_t>(), ElementsAre(4, 1, 0, 2));
  EXPECT_THAT(eager.inverse.to_vector<std::int64_t>(), ElementsAre(2, 1, 3, 2, 0, 3, 0, 2));
  EXPECT_THAT(eager.counts.to_vector<std::int64_t>(), ElementsAre(2, 1, 3, 2));
  const Variable v = matrix("x", float64);
  const Unique parts = unique(v);
  const Function f = function({v}, {parts.values, parts.positions, parts.inverse, parts.counts}, options());
  const Results results = f(x);
  expect_same(results[0].to_doubles(), eager.values.to_doubles());
  EXPECT_EQ(results[1].to_doubles(), eager.positions.to_doubles());
  EXPECT_EQ(results[2].to_doubles(), eager.inverse.to_doubles());
  EXPECT_EQ(results[3].to_doubles(), eager.counts.to_doubles());
  EXPECT_EQ(f(of({}, {0, 3}))[0].size(), 0);
  EXPECT_THAT(unique(integers<std::uint8_t>({7, 7, 255, 0})).values.to_vector<std::uint8_t>(), ElementsAre(0, 7, 255));
  EXPECT_THAT(unique(Array::scalar(5, device())).counts.to_doubles(), ElementsAre(1));
}

TEST_P(Statistics, ConfusionMatricesCountPairsOfLabels) {
  const Array actual = integers<int>({2, 0, 2, 2, 0, 1}), predicted = integers<int>({0, 0, 2, 2, 0, 2});
  const ConfusionMatrixArrays eager = confusion_matrix(actual, predicted);
  EXPECT_THAT(eager.matrix.to_vector<std::int64_t>(), ElementsAre(2, 0, 0, 0, 0, 1, 1, 0, 2));
  EXPECT_THAT(eager.labels.to_vector<int>(), ElementsAre(0, 1, 2));
  const Variable a = vector("a", int32), p = vector("p", int32);
  const ConfusionMatrix parts = confusion_matrix(a, p);
  const Results results = function({a, p}, {parts.matrix, parts.labels}, options())(actual, predicted);
  EXPECT_EQ(results[0].shape(), (Shape{3, 3}));
  EXPECT_EQ(results[0].to_doubles(), eager.matrix.to_doubles());
  EXPECT_THAT(error_of([&] { confusion_matrix(vector("x"), p); }), HasSubstr("confusion_matrix: labels are integers or bools, not float32"));
}

DAMO_ON_EACH_DEVICE(Statistics);

}  // namespace
}  // namespace damo
