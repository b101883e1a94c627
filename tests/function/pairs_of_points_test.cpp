// Reductions of a few elements of arrays that are stretched against each other, as distances of all pairs of points are: a GPU's thread has a row where it lies (runtime/cuda/run_schedule.hpp). Against loops
// over the elements in float64.
#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "support/noise.hpp"

namespace damo {
namespace {

using Values = std::vector<double>;

class PairsOfPoints : public testing::NoiseOnEachDevice {
 protected:
  PairsOfPoints() : NoiseOnEachDevice(1) {}

  /// Of points in so many dimensions, seen from where `view` puts them.
  template <class View>
  void expect_distances(DType dtype, std::int64_t dimensions, const View& view) {
    const std::int64_t points = 83, centers = 64;  // more pairs than warps of a GPU
    const Array x = view(noise({points, dimensions}, dtype)), c = view(noise({centers, dimensions}, dtype));
    const Variable points_in = input({dtype, {kUnknown, kUnknown}}, "points"), centers_in = input({dtype, {kUnknown, kUnknown}}, "centers");
    const Variable apart = expand_dims(points_in, 1) - centers_in, squares = sum(sqr(apart), 2);
    const Function f = function({points_in, centers_in}, {squares, max(abs(apart), 2), argmin(squares, 1), softmax(apart, 2), cumsum(softmax(apart, 2), 2)}, {.device = device()});
    const Results found = f(x, c);
    const Values of_points = x.to_doubles(), of_centers = c.to_doubles(), sums = found[0].to_doubles(), greatest = found[1].to_doubles(), nearest = found[2].to_doubles(), shares = found[3].to_doubles(), prefixes = found[4].to_doubles();
    const double rounding = dtype == float32 ? 1e-5 : 0.05;
    for (std::int64_t i = 0; i < points; ++i) {
      double least = std::numeric_limits<double>::infinity();
      for (std::int64_t j = 0; j < centers; ++j) {
        double sum_of = 0, most = 0, exponentials = 0;
        Values differences;
        for (std::int64_t k = 0; k < dimensions; ++k) differences.push_back(of_points[i * dimensions + k] - of_centers[j * dimensions + k]);
        for (double difference : differences) {
          sum_of += difference * difference;
          most = std::max(most, std::abs(difference));
          exponentials += std::exp(difference);
        }
        const std::int64_t at = i * centers + j;
        ASSERT_NEAR(sums[at], sum_of, rounding * (1 + sum_of)) << dimensions << " dimensions, points " << i << " and " << j << "\n"
                                                               << f.explain();
        ASSERT_NEAR(greatest[at], most, rounding * (1 + most)) << dimensions << " dimensions, points " << i << " and " << j;
        double prefix = 0;
        for (std::int64_t k = 0; k < dimensions; ++k) {
          const double share = std::exp(differences[k]) / exponentials;
          prefix += share;
          ASSERT_NEAR(shares[at * dimensions + k], share, rounding) << dimensions << " dimensions, points " << i << " and " << j;
          ASSERT_NEAR(prefixes[at * dimensions + k], prefix, rounding) << dimensions << " dimensions, points " << i << " and " << j;
        }
        least = std::min(least, sums[at]);
      }
      ASSERT_EQ(sums[i * centers + static_cast<std::int64_t>(nearest[i])], least) << "of the distances that were found";
    }
  }
};

TEST_P(PairsOfPoints, AreAsFarAsLoopsSay) {
  for (DType dtype : {float32, bfloat16}) {
    for (std::int64_t dimensions : {1, 2, 3, 5, 7, 8, 15, 17}) {
      expect_distances(dtype, dimensions, [](const Array& x) { return x; });
    }
  }
}

TEST_P(PairsOfPoints, LieAsTheyLike) {
  expect_distances(float32, 3, [](const Array& x) { return flip(x, 0); });
  expect_distances(float32, 5, [](const Array& x) { return flip(x, 1); });
  expect_distances(bfloat16, 3, [this](const Array& x) { return transpose(contiguous(transpose(x))); });
}

TEST_P(PairsOfPoints, OfNothingAreNothing) {
  const Variable x = input({float32, {kUnknown, kUnknown}}, "x"), y = input({float32, {kUnknown, kUnknown}}, "y");
  const Function f = function({x, y}, {sum(sqr(expand_dims(x, 1) - y), 2)}, {.device = device()});
  EXPECT_THAT(f(Array::zeros({90, 0}, float32, device()), Array::zeros({64, 0}, float32, device()))[0].to_doubles(), ::testing::Each(0.0)) << "sums of no dimensions";
  EXPECT_EQ(f(Array::zeros({0, 3}, float32, device()), Array::zeros({64, 3}, float32, device()))[0].shape(), (Shape{0, 64}));
}

DAMO_ON_EACH_DEVICE(PairsOfPoints);

}  // namespace
}  // namespace damo
