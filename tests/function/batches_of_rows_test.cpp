// Rows that are joined across in batches, as those of a channel by its weight: one kernel reads them once, whatever axes the batches lie along. Which graphs become such:
// tests/ops/rewrites/reduce_in_steps_test.cpp.
#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "support/noise.hpp"

namespace damo {
namespace {

using Values = std::vector<double>;

class BatchesOfRows : public testing::NoiseOnEachDevice {
 protected:
  BatchesOfRows() : NoiseOnEachDevice(1) {}
  Options with(bool fuse) const { return {.fuse = fuse, .device = device(), .allow_unused_inputs = true}; }

  /// Results of the fused graph are those of its ops one by one in float64. Gives the number of kernels that go over batches.
  int expect_what_float64_gives(const std::vector<Variable>& inputs, const std::vector<Variable>& outputs, const std::vector<Variable>& wide_inputs, const std::vector<Variable>& wide, const std::vector<Array>& arrays, double tolerance) {
    std::vector<Array> wide_arrays;
    for (const Array& array : arrays) wide_arrays.push_back(astype(array, float64));
    const Function fused = function(inputs, outputs, with(true)), plain = function(wide_inputs, wide, with(false));
    const Results found = fused.call(arrays), expected = plain.call(wide_arrays);
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].shape(), expected[i].shape());
      const Values a = found[i].to_doubles(), b = expected[i].to_doubles();
      for (std::size_t k = 0; k < a.size(); ++k) {
        EXPECT_NEAR(a[k], b[k], tolerance * std::max(1.0, std::abs(b[k]))) << "result " << i << " element " << k << "\n"
                                                                           << fused.explain();
        if (HasFailure()) return 0;
      }
    }
    int batched = 0;
    for (const KernelInfo& kernel : fused.kernels()) batched += kernel.layout.find("of some rows") != std::string::npos ? 1 : 0;
    return batched;
  }
};

Variable normed(const Variable& x, const Axes& axes) {
  const Variable centered = x - mean(x, axes, keepdims);
  return centered * rsqrt(mean(sqr(centered), axes, keepdims) + 1e-3);
}

TEST_P(BatchesOfRows, GradientsOfNormsByWeightsOfTheirOwn) {
  struct Norm {
    Shape dims, weight;
    Axes axes;
    int batched;
  };
  const Norm norms[] = {
      {{12, 5, 64}, {5, 64}, {2}, 1},               // heads
      {{5, 12, 33}, {5, 1, 33}, {2}, 1},            // batches that come first
      {{2, 9, 3, 4, 20}, {3, 4, 1}, {3, 4}, 1},     // of groups of channels, over two axes
      {{20, 6, 128}, {6, 1}, {2}, 0},               // channels alone: a row's own sum
      {{3, 10, 2, 4, 40}, {3, 1, 2, 1, 1}, {4}, 0}  // likewise, between axes that are joined
  };
  for (const Norm& norm : norms) {
    const auto graph = [&](DType dtype) {
      const Variable x = input({dtype, norm.dims}), w = input({dtype, norm.weight}), g = input({dtype, norm.dims});
      return std::pair(std::vector{x, w, g}, lop(std::vector{normed(x, norm.axes) * w}, std::vector{g}, std::vector{x, w}));
    };
    const auto [inputs, outputs] = graph(float32);
    const auto [wide_inputs, wide] = graph(float64);
    EXPECT_EQ(expect_what_float64_gives(inputs, outputs, wide_inputs, wide, {noise(norm.dims), noise(norm.weight), noise(norm.dims)}, 2e-4), norm.batched) << to_string(norm.dims);
  }
}

TEST_P(BatchesOfRows, GreatestAndMeansOfThem) {
  const auto graph = [](DType dtype) {
    const Variable x = input({dtype, {4, 17, 3, 50}}), y = normed(x, {3});
    return std::pair(std::vector{x}, std::vector{y, max(y, {1}), mean(sqr(y), {1}, keepdims), sum(y, {1})});
  };
  const auto [inputs, outputs] = graph(float32);
  const auto [wide_inputs, wide] = graph(float64);
  EXPECT_EQ(expect_what_float64_gives(inputs, outputs, wide_inputs, wide, {noise({4, 17, 3, 50})}, 1e-4), 1);
}

TEST_P(BatchesOfRows, AsManyAsThreadsHaveOrNot) {
  for (const Shape& dims : {Shape{16, 8, 8}, Shape{64, 8, 8}, Shape{200, 8, 64}, Shape{17, 8, 1024}, Shape{31, 16, 128}}) {
    const auto graph = [&](DType dtype) {
      const Variable x = input({dtype, dims});
      return std::pair(std::vector{x}, std::vector{sum(x, 2), sum(x, 0)});
    };
    const auto [inputs, outputs] = graph(float32);
    const auto [wide_inputs, wide] = graph(float64);
    EXPECT_EQ(expect_what_float64_gives(inputs, outputs, wide_inputs, wide, {noise(dims)}, 1e-4), 1) << to_string(dims);
  }
}

/// Shapes, axes of rows and of what is joined, and results drawn at random.
TEST_P(BatchesOfRows, AnySetsOfAxes) {
  int batched = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const auto one_of = [&](std::initializer_list<int> list) { return *(list.begin() + random() % list.size()); };
    const int rank = one_of({3, 4, 4, 5}), lead = 1 + static_cast<int>(random() % static_cast<unsigned>(rank - 1));
    Shape dims;
    dims.push_back(8 + static_cast<int>(random() % 12));
    for (int axis = 1; axis + 1 < rank; ++axis) dims.push_back(one_of({1, 2, 3, 5, 8}));
    dims.push_back(one_of({1, 3, 8, 33, 64, 200}));
    std::vector<int> of_rows, of_across;
    for (int axis = lead; axis < rank; ++axis) of_rows.push_back(axis);
    for (int axis = 0; axis < rank; ++axis) {
      if (axis == 0 || random() % 4 == 0) of_across.push_back(axis);
    }
    const auto graph = [&](DType dtype) {
      const Variable x = input({dtype, dims}), g = input({dtype, dims}), y = normed(x, Axes(of_rows));
      return std::pair(std::vector{x, g}, std::vector{y * g, sum(y * g, Axes(of_across)), max(g - y, Axes(of_across), keepdims), mean(g, Axes(of_across))});
    };
    const auto [inputs, outputs] = graph(float32);
    const auto [wide_inputs, wide] = graph(float64);
    batched += expect_what_float64_gives(inputs, outputs, wide_inputs, wide, {noise(dims), noise(dims)}, 2e-4);
    ASSERT_FALSE(HasFailure()) << "seed " << seed << " dims " << to_string(dims);
  }
  EXPECT_GE(batched, 3);
}

DAMO_ON_EACH_DEVICE(BatchesOfRows);

}  // namespace
}  // namespace damo
