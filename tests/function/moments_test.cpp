// Means and variances in Functions over rows and columns so long that a GPU joins them in one reading (runtime/kernel/moments.hpp): what they are, and what they are without that.
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "support/devices.hpp"
#include "support/scratch_directory.hpp"

namespace damo {
namespace {

using Values = std::vector<double>;

class Moments : public testing::OnEachDevice {
 protected:
  /// The mean, the variances of both kinds, and the elements less the one by the root of the other, of each row or column.
  std::vector<Array> of(const Array& given, int axis) const {
    const Variable x = input({given.dtype(), given.shape()}, "x"), centred = x - mean(x, axis, keepdims);
    const Function f = function({x}, {mean(x, axis), var(x, axis), var(x, axis, false, 1), centred * rsqrt(mean(sqr(centred), axis, keepdims) + 1e-5)}, {.device = device()});
    return f(given);
  }
  std::vector<Array> by_two_passes(const Array& given, int axis) const {
    const testing::Environment environment("DAMO_DISABLE", "join_moments");
    return of(given, axis);
  }
  /// About 10,000, of a deviation of about 1, in whole numbers of 256ths, so that float32 holds them.
  static double element(std::int64_t i) { return 1e4 + static_cast<double>((i * 2654435761 >> 7) % 887) / 256; }
  Array elements(const Shape& shape, DType dtype, double first) const {
    std::vector<double> values(static_cast<std::size_t>(shape.size()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = element(static_cast<std::int64_t>(i));
    values[0] = first;
    return astype(Array::from(values, shape, device()), dtype);
  }
};

TEST_P(Moments, OfLongRowsAndOfColumnsAreThoseOfFloat64) {
  for (const auto& [shape, axis] : {std::pair<Shape, int>{{3, 400009}, 1}, {{5003, 300}, 0}, {{1, 1050000}, 1}}) {
    const Array x = elements(shape, float32, 1e4);
    const Values values = x.to_doubles();
    const std::vector<Array> found = of(x, axis), plain = by_two_passes(x, axis);
    const Values means = found[0].to_doubles(), variances = found[1].to_doubles(), others = found[2].to_doubles(), plain_elements = plain[3].to_doubles(), norms = found[3].to_doubles();
    const std::int64_t length = shape[axis], rows = shape[1 - axis];
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto at = [&](std::int64_t k) { return values[static_cast<std::size_t>(axis == 1 ? row * length + k : k * rows + row)]; };
      double sum = 0, squares = 0;
      for (std::int64_t k = 0; k < length; ++k) sum += at(k) - 1e4;
      const double mean = 1e4 + sum / static_cast<double>(length);
      for (std::int64_t k = 0; k < length; ++k) squares += (at(k) - mean) * (at(k) - mean);
      const auto i = static_cast<std::size_t>(row);
      ASSERT_NEAR(means[i], mean, 1e-2) << to_string(shape) << " row " << row;
      ASSERT_NEAR(variances[i] / (squares / static_cast<double>(length)), 1, 5e-5) << to_string(shape) << " row " << row;
      ASSERT_NEAR(others[i] / (squares / static_cast<double>(length - 1)), 1, 5e-5) << to_string(shape) << " row " << row;
    }
    for (std::size_t i = 0; i < norms.size(); ++i) ASSERT_NEAR(norms[i], plain_elements[i], 2e-2) << to_string(shape) << " element " << i;
  }
}

TEST_P(Moments, OfWhatHasInfinitiesAreThoseOfNumPy) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const auto& [shape, axis] : {std::pair<Shape, int>{{3, 400009}, 1}, {{5003, 300}, 0}}) {
    for (double first : {infinity, -infinity, std::nan("")}) {
      const std::vector<Array> found = of(elements(shape, float32, first), axis);
      const double mean = found[0].to_doubles()[0];
      EXPECT_TRUE(std::isnan(first) ? std::isnan(mean) : mean == first) << mean;
      EXPECT_TRUE(std::isnan(found[1].to_doubles()[0]));
      EXPECT_FALSE(std::isnan(found[0].to_doubles()[1])) << "the next row";
      EXPECT_FALSE(std::isnan(found[1].to_doubles()[1]));
    }
  }
}

TEST_P(Moments, OfSixteenBitsAreAccumulatedInFloat32) {
  for (DType dtype : {float16, bfloat16}) {
    const Array x = astype((elements({3, 400009}, float64, 1e4) - 1e4) * 0.25, dtype);
    const Values means = of(x, 1)[0].to_doubles(), variances = of(x, 1)[1].to_doubles(), values = x.to_doubles();
    for (std::size_t row = 0; row < 3; ++row) {
      double sum = 0, squares = 0;
      for (std::size_t k = 0; k < 400009; ++k) sum += values[row * 400009 + k], squares += values[row * 400009 + k] * values[row * 400009 + k];
      const double mean = sum / 400009, variance = squares / 400009 - mean * mean, rounding = dtype == float16 ? 1e-3 : 8e-3;
      EXPECT_NEAR(means[row] / mean, 1, rounding) << name(dtype);
      EXPECT_NEAR(variances[row] / variance, 1, rounding) << name(dtype);
    }
  }
}

DAMO_ON_EACH_DEVICE(Moments);

}  // namespace
}  // namespace damo
