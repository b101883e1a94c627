// Convolutions as products of a library.
#include "runtime/library/unfolded_convolution.hpp"

#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "plain_convolutions.hpp"
#include "runtime/library/matrix_library.hpp"

namespace damo {
namespace {

class UnfoldedConvolutions : public testing::ConvolutionsAsPlain {
 protected:
  void SetUp() override {
    ConvolutionsAsPlain::SetUp();
    if (!IsSkipped() && !MatrixLibrary::of(device().backend())->has(float32)) GTEST_SKIP() << "needs a library of matrix products";
  }
  void expect_as_plain(const Convolution& c, ConvolutionRole role, DType dtype) { ConvolutionsAsPlain::expect_as_plain(unfolded_convolution, c, role, dtype); }
};
DAMO_ON_EACH_DEVICE(UnfoldedConvolutions);

TEST_P(UnfoldedConvolutions, AgreeWithPlainKernels) {
  const Convolution uneven{.batch = 3, .channels = 5, .outputs = 7, .in = {1, 13, 11}, .kernel = {1, 3, 2}, .stride = {1, 2, 1}, .dilation = {1, 1, 2}, .padding = {0, 1, 1}};
  for (const ConvolutionRole role : testing::kConvolutionRoles) expect_as_plain(uneven, role, float32);
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
  for (const ConvolutionRole role : testing::kConvolutionRoles) expect_as_plain(uneven, role, float64);
}

TEST(FitsUnfolded, LeavesGroupsHalvesAndHugeMatricesToOthers) {
  Convolution c{.batch = 2, .channels = 3, .outputs = 4, .in = {1, 8, 8}, .kernel = {1, 3, 3}, .out = {1, 6, 6}};
  EXPECT_TRUE(fits_unfolded(c));
  Convolution other = c;
  other.groups = 3;
  EXPECT_FALSE(fits_unfolded(other));
  other = c, other.dtype = float16;
  EXPECT_FALSE(fits_unfolded(other));
  other = c, other.batch = 1 << 20;
  EXPECT_FALSE(fits_unfolded(other));
}

}  // namespace
}  // namespace damo
