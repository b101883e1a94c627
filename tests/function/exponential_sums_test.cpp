// Softmax and log-sum-exp in Functions over rows and columns so long that a GPU joins maxima and sums in one reading (runtime/kernel/exponential_sums.hpp): what they are, and what they are without that.
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

class ExponentialSums : public testing::OnEachDevice {
 protected:
  /// Softmax, its logarithm and the logarithm of the sum of exponentials, in functions of their own.
  std::vector<Array> of(const Array& given, int axis) const {
    const Variable x = input({given.dtype(), given.shape()}, "x");
    std::vector<Array> results;
    for (const Variable& result : {softmax(x, axis), log_softmax(x, axis), logsumexp(x, axis)}) results.push_back(function({x}, {result}, {.device = device()})(given));
    return results;
  }
  std::vector<Array> by_two_passes(const Array& given, int axis) const {
    const testing::Environment environment("DAMO_DISABLE", "join_exponentials");
    return of(given, axis);
  }
  Array elements(const Shape& shape, double first) const {
    std::vector<double> values(static_cast<std::size_t>(shape.size()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>((static_cast<std::int64_t>(i) * 2654435761 >> 7) % 8871) / 512 - 7;
    values[0] = first;
    return astype(Array::from(values, shape, device()), float32);
  }
};

TEST_P(ExponentialSums, OfLongRowsAndOfColumnsAreThoseOfFloat64) {
  for (const auto& [shape, axis] : {std::pair<Shape, int>{{3, 400009}, 1}, {{5003, 300}, 0}, {{1, 1050000}, 1}, {{40000, 65}, 0}}) {
    const Array x = elements(shape, 3.0);
    const Values values = x.to_doubles();
    const std::vector<Array> found = of(x, axis), plain = by_two_passes(x, axis);
    const Values softmaxes = found[0].to_doubles(), logarithms = found[1].to_doubles(), sums = found[2].to_doubles(), plain_softmaxes = plain[0].to_doubles();
    const std::int64_t length = shape[axis], rows = shape[1 - axis];
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto place = [&](std::int64_t k) { return static_cast<std::size_t>(axis == 1 ? row * length + k : k * rows + row); };
      double sum = 0;
      for (std::int64_t k = 0; k < length; ++k) sum += std::exp(values[place(k)]);
      ASSERT_NEAR(sums[static_cast<std::size_t>(row)], std::log(sum), 4e-6 * std::log(sum)) << to_string(shape) << " row " << row;
      for (std::int64_t k = 0; k < length; k += 97) {
        ASSERT_NEAR(softmaxes[place(k)] / (std::exp(values[place(k)]) / sum), 1, 4e-6) << to_string(shape) << " row " << row << " element " << k;
        ASSERT_NEAR(logarithms[place(k)], values[place(k)] - std::log(sum), 1e-5) << to_string(shape) << " row " << row << " element " << k;
        ASSERT_NEAR(softmaxes[place(k)] / plain_softmaxes[place(k)], 1, 4e-6) << to_string(shape) << " row " << row << " element " << k;
      }
    }
  }
}

TEST_P(ExponentialSums, OfWhatHasInfinitiesAreThoseOfTwoPasses) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const auto& [shape, axis] : {std::pair<Shape, int>{{3, 400009}, 1}, {{5003, 300}, 0}}) {
    for (double first : {infinity, -infinity, std::nan("")}) {
      const Array x = elements(shape, first);
      const std::vector<Array> found = of(x, axis), plain = by_two_passes(x, axis);
      for (std::size_t i = 0; i < found.size(); ++i) {
        const Values a = found[i].to_doubles(), b = plain[i].to_doubles();
        for (std::size_t k = 0; k < a.size(); ++k) {
          ASSERT_EQ(std::isnan(a[k]), std::isnan(b[k])) << i << " element " << k << ": " << a[k] << ", " << b[k];
          if (std::isinf(b[k])) ASSERT_EQ(a[k], b[k]) << i << " element " << k;
        }
      }
    }
  }
}

/// Wherever both stand, in what a thread reads at a time or not.
TEST_P(ExponentialSums, OfWhatHasInfinityAndNanAreNan) {
  constexpr std::int64_t kRows = 5003, kColumns = 300;
  Values values(kRows * kColumns, 0.5);
  for (std::int64_t column = 0; column < kColumns; ++column) {
    const std::int64_t row = column * 7 % 512;
    values[static_cast<std::size_t>(row * kColumns + column)] = column % 2 == 0 ? std::numeric_limits<double>::infinity() : std::nan("");
    values[static_cast<std::size_t>((row + 1 + column) * kColumns + column)] = column % 2 == 0 ? std::nan("") : std::numeric_limits<double>::infinity();
  }
  const Array x = astype(Array::from(values, {kRows, kColumns}, device()), float32);
  const Variable given = input({float32, {kRows, kColumns}}, "x"), greatest = max(given, 0, true), center = where(isfinite(greatest), greatest, 0.0);
  const Values sums = Array(function({given}, {sum(exp(given - center), 0)}, {.device = device()})(x)).to_doubles();
  for (std::size_t column = 0; column < sums.size(); ++column) ASSERT_TRUE(std::isnan(sums[column])) << column << ": " << sums[column];
}

TEST_P(ExponentialSums, OfSixteenBitsAreAccumulatedInFloat32) {
  for (DType dtype : {float16, bfloat16}) {
    const Array x = astype(elements({3, 400008}, 3.0), dtype);
    const Values found = of(x, 1)[2].to_doubles(), values = x.to_doubles();
    for (std::size_t row = 0; row < 3; ++row) {
      double sum = 0;
      for (std::size_t k = 0; k < 400008; ++k) sum += std::exp(values[row * 400008 + k]);
      EXPECT_NEAR(found[row] / std::log(sum), 1, dtype == float16 ? 1e-3 : 8e-3) << name(dtype);
    }
  }
}

DAMO_ON_EACH_DEVICE(ExponentialSums);

}  // namespace
}  // namespace damo
