// The GPU's text of an ElementwiseKernel, run by the CPU: its logic is tested where there is no GPU.
#include <optional>

#include <gtest/gtest.h>

#include <damo/array_math.hpp>
#include <damo/module.hpp>
#include "ops/eager/elementwise_text.hpp"
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
  std::optional<Device> device_;
};

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
    module.kernel("damo_scaled")({.grid = {1}, .block = {256}}, arguments);
    const Values in = x.to_doubles(), out = y.to_doubles();
    for (std::size_t i = 0; i < in.size(); ++i)
      ASSERT_EQ(out[i], in[i] < 0 ? 7 : 2 * in[i] + n - static_cast<double>(i)) << n << " " << i;
  }
}

}  // namespace
}  // namespace damo
