// Softmax (src/ops/eager/softmax.cpp), its kin and positions along an axis, of Arrays, against loops on the host.
#include <damo/array_softmax.hpp>

#include <cmath>
#include <limits>

#include <gmock/gmock.h>

#include <damo/array_indexing.hpp>
#include <damo/array_math.hpp>
#include "support/devices.hpp"

namespace damo {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using damo::testing::error_of;

class EagerSoftmax : public damo::testing::OnEachDevice {};

TEST_P(EagerSoftmax, IsExactForGreatAndInfiniteElements) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> values{1000, 1001, 999, -2, 0.5, -1};
  std::vector<double> soft, logarithms, sums, losses;
  const std::vector<std::int64_t> labels{2, 0};
  for (std::size_t row = 0; row < 2; ++row) {
    const double* x = values.data() + 3 * row;
    const double greatest = std::max({x[0], x[1], x[2]}), sum = greatest + std::log(std::exp(x[0] - greatest) + std::exp(x[1] - greatest) + std::exp(x[2] - greatest));
    for (int i = 0; i < 3; ++i) soft.push_back(std::exp(x[i] - sum)), logarithms.push_back(x[i] - sum);
    sums.push_back(sum);
    losses.push_back(sum - x[labels[row]]);
  }
  const Array x = Array::from(values, {2, 3}, device()), at = Array::from(labels, device());
  EXPECT_THAT(softmax(x).to_doubles(), Pointwise(DoubleNear(1e-13), soft));
  EXPECT_THAT(softmax(x.transpose(), 0).transpose().to_doubles(), Pointwise(DoubleNear(1e-13), soft));
  EXPECT_THAT(log_softmax(x).to_doubles(), Pointwise(DoubleNear(1e-12), logarithms));
  EXPECT_THAT(logsumexp(x, 1).to_doubles(), Pointwise(DoubleNear(1e-12), sums));
  EXPECT_EQ(logsumexp(x, 1, true).shape(), (Shape{2, 1}));
  EXPECT_THAT(logsumexp(Array::from(std::vector<double>{-infinity, -infinity, 1, infinity}, {2, 2}, device()), 1).to_doubles(), ElementsAre(-infinity, infinity));
  EXPECT_THAT(cross_entropy(x, at).to_doubles(), Pointwise(DoubleNear(1e-12), losses));
  EXPECT_EQ(softmax(astype(x, bfloat16)).dtype(), bfloat16);
}

TEST_P(EagerSoftmax, TakesAlongAnAxisAndMarksPositions) {
  const Array x = range({2, 3}), at = Array::from(std::vector<std::int32_t>{2, 2, 0, -1}, {2, 2}, device());
  EXPECT_THAT(take_along_axis(x, at, 1).to_vector<float>(), ElementsAre(2, 2, 3, 5));
  EXPECT_THAT(take_along_axis(x.transpose(), Array::from(std::vector<std::int64_t>{1, 0}, {1, 2}, device()), 0).to_vector<float>(), ElementsAre(1, 3));
  EXPECT_THAT(one_hot(Array::from(std::vector<std::int32_t>{2, 0, 7}, device()), 3).to_vector<float>(), ElementsAre(0, 0, 1, 1, 0, 0, 0, 0, 0));
}

TEST_P(EagerSoftmax, NamesWhatDoesNotFit) {
  const Array x = range({2, 3});
  const auto labels = [&](std::vector<std::int64_t> values) { return Array::from(values, device()); };
  EXPECT_THAT(error_of([&] { softmax(Array()); }), HasSubstr("softmax: x is an empty Array"));
  EXPECT_THAT(error_of([&] { cross_entropy(x, labels({0, 3})).to_doubles(); device().synchronize(); }), HasSubstr("cross_entropy: position 3 is not on axis 1, whose extent is 3"));
  EXPECT_THAT(error_of([&] { cross_entropy(x, labels({0, -1})).to_doubles(); device().synchronize(); }), HasSubstr("cross_entropy: position -1 is not on axis 1"));
  EXPECT_THAT(error_of([&] { cross_entropy(x, range({2})); }), HasSubstr("cross_entropy: labels are integers, or probabilities"));
  EXPECT_THAT(error_of([&] { cross_entropy(x, labels({0, 1, 2})); }), HasSubstr("cross_entropy: positions of shape (3, 1) do not fit to x of shape (2, 3) along axis 1"));
  EXPECT_THAT(error_of([&] { cross_entropy(range({0, 3}), labels({})); }), HasSubstr("cross_entropy: there are no rows: the extent of axis 0 of the logits is 0"));
  EXPECT_THAT(error_of([&] { sigmoid_cross_entropy(range({0, 3}), range({0, 3})); }), HasSubstr("sigmoid_cross_entropy: there are no rows"));
  EXPECT_THAT(error_of([&] { take_along_axis(x, labels({0}), 1); }), HasSubstr("take_along_axis: positions of shape (1,) do not fit to x of shape (2, 3) along axis 1"));
  EXPECT_THAT(error_of([&] { one_hot(x, 3); }), HasSubstr("one_hot: positions are integers"));
  EXPECT_THAT(error_of([&] { one_hot(labels({1}), -1); }), HasSubstr("one_hot: the count is -1"));
}

DAMO_ON_EACH_DEVICE(EagerSoftmax);

}  // namespace
}  // namespace damo
