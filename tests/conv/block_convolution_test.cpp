// Damo's own kernels for GPUs in blocks against its plain ones, which tests/conv/conv_test.cpp holds against loops. Their text is CUDA C, so both run on each device.
#include "runtime/library/block_convolution.hpp"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "runtime/library/direct_convolution.hpp"
#include "support/devices.hpp"

namespace damo {
namespace {

class BlockConvolutions : public testing::OnEachDevice {
 protected:
  Array some(std::int64_t size, DType dtype) {
    std::vector<double> values(static_cast<std::size_t>(size));
    for (double& value : values) value = std::uniform_real_distribution<double>(-1, 1)(random_);
    return astype(Array::from(values, {size}, device()), dtype);
  }

  static void run(PreparedConvolution& convolution, const Array& x, const Array& w, const Array& y) {
    const auto bytes = static_cast<std::int64_t>(convolution.workspace_bytes());
    const Array workspace = bytes > 0 ? Array::empty({bytes}, uint8, x.device()) : Array();
    convolution.run({x.data(), w.data(), y.data()}, workspace ? workspace.data() : nullptr, nullptr);
  }

  /// c: but for its role, dtype and out.
  void expect_as_plain(Convolution c, ConvolutionRole role, DType dtype) {
    c.role = role;
    c.dtype = dtype;
    for (std::size_t i = 0; i < 3; ++i) c.out[i] = (c.in[i] + 2 * c.padding[i] - c.dilation[i] * (c.kernel[i] - 1) - 1) / c.stride[i] + 1;
    ASSERT_TRUE(fits_blocks(c));
    const std::int64_t sizes[] = {c.input_size(), c.weight_size(), c.output_size()};
    Array of_blocks[3], plain[3];
    for (std::size_t i = 0; i < 3; ++i) of_blocks[i] = some(sizes[i], dtype), plain[i] = astype(of_blocks[i], float64).copy();
    run(*block_convolution(device().backend(), c), of_blocks[0], of_blocks[1], of_blocks[2]);
    Convolution wide = c;
    wide.dtype = float64;
    run(*direct_convolution(device().backend(), wide), plain[0], plain[1], plain[2]);
    const std::size_t result = role == ConvolutionRole::kForward ? 2 : role == ConvolutionRole::kInputGradient ? 0 : 1;
    const std::vector<double> got = of_blocks[result].to_doubles(), want = plain[result].to_doubles();
    const double terms = std::sqrt(static_cast<double>(role == ConvolutionRole::kWeightGradient ? c.batch * product_of(c.out) : std::max(c.channels, c.outputs) * product_of(c.kernel)));
    const double sum = dtype == float64 ? 1e-14 : 2e-6, last = dtype == float16 ? 0x1p-11 : 0;
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], sum * terms + last * (std::fabs(want[i]) + 1e-3)) << "role " << static_cast<int>(role) << " element " << i << " of " << got.size();
  }

  std::mt19937 random_{3};
};
DAMO_ON_EACH_DEVICE(BlockConvolutions);

constexpr ConvolutionRole kRoles[] = {ConvolutionRole::kForward, ConvolutionRole::kInputGradient, ConvolutionRole::kWeightGradient};

TEST_P(BlockConvolutions, AgreeWithPlainKernels) {
  const Convolution two_groups{.batch = 3, .groups = 2, .channels = 5, .outputs = 37, .in = {1, 13, 11}, .kernel = {1, 3, 2}, .stride = {1, 2, 1}, .dilation = {1, 1, 2}, .padding = {0, 1, 1}};
  for (const ConvolutionRole role : kRoles) expect_as_plain(two_groups, role, float32);
  if (device().backend().kind() != DeviceKind::kCuda) return;  // each is a compile of a second
  const Convolution lenet{.batch = 128, .channels = 20, .outputs = 50, .in = {1, 12, 12}, .kernel = {1, 5, 5}};
  const Convolution three_axes{.batch = 2, .channels = 6, .outputs = 70, .in = {5, 6, 7}, .kernel = {3, 2, 3}, .stride = {2, 1, 3}, .padding = {1, 0, 2}};
  const Convolution pointwise{.batch = 5, .channels = 130, .outputs = 33, .in = {1, 7, 9}};
  for (const Convolution& c : {lenet, three_axes, pointwise}) {
    for (const ConvolutionRole role : kRoles) {
      expect_as_plain(c, role, float32);
      if (HasFatalFailure()) return;
    }
  }
  for (const ConvolutionRole role : kRoles) {
    for (const DType dtype : {float64, float16}) expect_as_plain(two_groups, role, dtype);
  }
}

TEST_P(BlockConvolutions, AddPartsOfALongSumInOrder) {
  const Convolution c{.batch = 6, .channels = 4, .outputs = 5, .in = {1, 20, 22}, .kernel = {1, 3, 2}};
  Convolution sized = c;
  sized.role = ConvolutionRole::kWeightGradient;
  sized.out = {1, 18, 21};
  EXPECT_GT(block_workspace_bytes(sized), static_cast<std::size_t>(sized.weight_size()) * sizeof(float));
  expect_as_plain(c, ConvolutionRole::kWeightGradient, float32);
}

}  // namespace
}  // namespace damo
