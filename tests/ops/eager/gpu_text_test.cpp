// The GPU's texts of reductions, run by the CPU, whose compiler knows shared memory and barriers: their logic
// is tested where there is no GPU.
#include <numeric>

#include <gtest/gtest.h>

#include <damo/array_math.hpp>
#include <damo/module.hpp>
#include "ops/eager/elementwise_text.hpp"
#include "ops/reductions.hpp"
#include "ops/eager/reduction.hpp"
#include "ops/eager/reference.hpp"
#include "ops/eager/snippet.hpp"
#include "support/devices.hpp"

namespace damo {
namespace {

using Values = std::vector<double>;

class GpuTextOnCpu : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      device_ = cpu();
    } catch (const DeviceError& error) {
      GTEST_SKIP() << "needs the CPU back end: " << error.what();
    }
  }
  Array integers(const Shape& shape) const {
    return astype(Array::from(testing::noise(shape.size()), shape, *device_) * 2, int32);
  }

  /// Sums of the axes of `mask`, from `neutral`, of map(x[i], r), and the number of elements added.
  Values sums(const Array& x, std::uint32_t mask, const std::string& map, const std::string& neutral) {
    ReductionDefinition definition;
    definition.name = "sums";
    definition.parameters = parse_parameters("const int* x");
    definition.accumulator = "long long";
    definition.accumulator_bytes = 8;
    definition.neutral = {neutral, nullptr, 0};
    definition.reduce = {"a + b", nullptr, 0};
    definition.map = {map, nullptr, 0};
    definition.post = {"a + n", nullptr, 0};
    definition.result = int64;
    Reduction reduction(std::move(definition));
    reduction.use_gpu_text();
    const Array arrays[] = {x};
    const Array out = Array::empty(reduced_shape(x.shape(), mask, false), int64, *device_);
    reduction.run(device_->backend(), arrays, {}, x.shape(), mask, out);
    return out.to_doubles();
  }

  /// With places the sum counts positions too, so that r and i must be right.
  void expect_sums(const Array& x, std::uint32_t mask, bool with_places) {
    const Values found = sums(x, mask, with_places ? "x[i] * 7LL + r" : "x[i] * 7LL", "0");
    const auto groups = testing::groups_of(x, mask);
    ASSERT_EQ(found.size(), groups.size());
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const double n = static_cast<double>(groups[i].size()), places = with_places ? n * (n - 1) / 2 : 0;
      ASSERT_EQ(found[i], 7 * std::accumulate(groups[i].begin(), groups[i].end(), 0.0) + places + n)
          << describe(x) << " mask " << mask << " output " << i;
    }
  }
  std::optional<Device> device_;
};

TEST_F(GpuTextOnCpu, ReducesWholeArraysAndRows) {
  for (std::int64_t size : {1, 5, 97, 4096, 4097, 100003}) expect_sums(integers({size}), 1, size % 2 == 0);
  expect_sums(integers({5, 10000}), 2, true);
  expect_sums(integers({600, 7}), 2, false);
  expect_sums(integers({3000, 100}), 2, true);
  expect_sums(integers({12, 10, 14}), 5, true);
  expect_sums(integers({12, 10, 14}).transpose(), 7, false);
}

TEST_F(GpuTextOnCpu, ReducesColumns) {
  expect_sums(integers({700, 45}), 1, true);
  expect_sums(integers({9000, 3}), 1, false);
  expect_sums(integers({10, 300}), 1, true);
  expect_sums(integers({6, 40, 50}), 3, true);
  expect_sums(integers({6, 40, 50}), 2, true);
}

/// Four neighbours a thread, and the last thread's fewer.
TEST_F(GpuTextOnCpu, WritesNeighboursOfOneThread) {
  ElementwiseSnippet snippet{.name = "scaled", .parameters = parse_parameters("float a, const float* x, float* y")};
  snippet.operation = {"if (x[i] < 0) return; y[i] = a * x[i] + n - i", nullptr, 0};
  const std::string text = elementwise_text(snippet, {.dense = {true, true}, .width = 4});
  const Module module(*device_, text);
  struct Arguments {
    float a;
    alignas(8) const void* x;
    const void* y;
    alignas(8) long long n;
  };
  for (int n : {1, 3, 4, 5, 8, 1023}) {
    const Array x = Array::from(testing::noise(n), *device_), y = Array::full({n}, 7.0, float32, *device_);
    const Arguments arguments{2, x.data(), y.data(), n};
    module.kernel("scaled")({.grid = {1}, .block = {256}}, arguments);
    const Values in = x.to_doubles(), out = y.to_doubles();
    for (std::size_t i = 0; i < in.size(); ++i)
      ASSERT_EQ(out[i], in[i] < 0 ? 7 : 2 * in[i] + n - static_cast<double>(i)) << n << " " << i;
  }
}

TEST_F(GpuTextOnCpu, GivesOneNeutralValueOfNothing) {
  EXPECT_EQ(sums(integers({0, 3}), 3, "x[i]", "5"), Values{5});
  EXPECT_EQ(sums(integers({0, 3}), 1, "x[i]", "5"), (Values{5, 5, 5}));
  EXPECT_EQ(sums(integers({40, 0}), 2, "x[i]", "5"), Values(40, 5));
}

}  // namespace
}  // namespace damo
