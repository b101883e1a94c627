// What tests of one way to convolve have in common.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "runtime/library/convolution.hpp"
#include "runtime/library/direct_convolution.hpp"
#include "support/devices.hpp"

namespace damo::testing {

inline constexpr ConvolutionRole kConvolutionRoles[] = {ConvolutionRole::kForward, ConvolutionRole::kInputGradient, ConvolutionRole::kWeightGradient};

/// Holds convolutions by one way against Damo's plain kernels in float64, which tests/conv/conv_test.cpp holds against loops.
class ConvolutionsAsPlain : public OnEachDevice {
 protected:
  using Make = std::shared_ptr<PreparedConvolution> (*)(Backend& backend, const Convolution& convolution);

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
  void expect_as_plain(Make make, Convolution c, ConvolutionRole role, DType dtype) {
    c.role = role;
    c.dtype = dtype;
    for (std::size_t i = 0; i < 3; ++i) c.out[i] = (c.in[i] + 2 * c.padding[i] - c.dilation[i] * (c.kernel[i] - 1) - 1) / c.stride[i] + 1;
    const std::shared_ptr<PreparedConvolution> made = make(device().backend(), c);
    ASSERT_TRUE(made);
    const std::int64_t sizes[] = {c.input_size(), c.weight_size(), c.output_size()};
    Array got_of[3], plain[3];
    for (std::size_t i = 0; i < 3; ++i) got_of[i] = some(sizes[i], dtype), plain[i] = astype(got_of[i], float64).copy();
    run(*made, got_of[0], got_of[1], got_of[2]);
    Convolution wide = c;
    wide.dtype = float64;
    run(*direct_convolution(device().backend(), wide), plain[0], plain[1], plain[2]);
    const std::size_t result = role == ConvolutionRole::kForward ? 2 : role == ConvolutionRole::kInputGradient ? 0 : 1;
    const std::vector<double> got = got_of[result].to_doubles(), want = plain[result].to_doubles();
    const double terms = std::sqrt(static_cast<double>(role == ConvolutionRole::kWeightGradient ? c.batch * product_of(c.out) : std::max(c.channels, c.outputs) * product_of(c.kernel)));
    const double sum = dtype == float64 ? 1e-14 : 2e-6, last = dtype == float16 ? 0x1p-11 : 0;
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], sum * terms + last * (std::fabs(want[i]) + 1e-3)) << "role " << static_cast<int>(role) << " element " << i << " of " << got.size();
  }

  std::mt19937 random_{3};
};

}  // namespace damo::testing
