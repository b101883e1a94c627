// Damo's own kernels for GPUs in blocks. Their text is CUDA C, so they run on each device.
#include "runtime/library/block_convolution.hpp"

#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "plain_convolutions.hpp"

namespace damo {
namespace {

class BlockConvolutions : public testing::ConvolutionsAsPlain {
 protected:
  void expect_as_plain(const Convolution& c, ConvolutionRole role, DType dtype) { ConvolutionsAsPlain::expect_as_plain(block_convolution, c, role, dtype); }
};
DAMO_ON_EACH_DEVICE(BlockConvolutions);

TEST_P(BlockConvolutions, AgreeWithPlainKernels) {
  const Convolution two_groups{.batch = 3, .groups = 2, .channels = 5, .outputs = 37, .in = {1, 13, 11}, .kernel = {1, 3, 2}, .stride = {1, 2, 1}, .dilation = {1, 1, 2}, .padding = {0, 1, 1}};
  for (const ConvolutionRole role : testing::kConvolutionRoles) expect_as_plain(two_groups, role, float32);
  if (device().backend().kind() != DeviceKind::kCuda) return;  // each is a compile of a second
  const Convolution lenet{.batch = 128, .channels = 20, .outputs = 50, .in = {1, 12, 12}, .kernel = {1, 5, 5}};
  const Convolution three_axes{.batch = 2, .channels = 6, .outputs = 70, .in = {5, 6, 7}, .kernel = {3, 2, 3}, .stride = {2, 1, 3}, .padding = {1, 0, 2}};
  const Convolution pointwise{.batch = 5, .channels = 130, .outputs = 33, .in = {1, 7, 9}};
  for (const Convolution& c : {lenet, three_axes, pointwise}) {
    for (const ConvolutionRole role : testing::kConvolutionRoles) {
      expect_as_plain(c, role, float32);
      if (HasFatalFailure()) return;
    }
  }
  for (const ConvolutionRole role : testing::kConvolutionRoles) {
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
