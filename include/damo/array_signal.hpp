// Signals and pictures of Arrays, at once: see ops/signal.hpp for what they mean. See tests/conv/signal_test.cpp.
#pragma once
#include <cstdint>

#include <damo/array.hpp>
#include <damo/ops/signal.hpp>

namespace damo {

Array convolve(const Array& x, const Array& w, ConvolveMode mode = ConvolveMode::kFull);
Array bilinear_upsampling(const Array& x, std::int64_t ratio);
Array images2neibs(const Array& x, const PerAxis& window, const PerAxis& step = {});
Array spatial_transformer(const Array& x, const Array& theta, std::int64_t height, std::int64_t width);
Array separable_conv2d(const Array& x, const Array& depthwise, const Array& pointwise, const ConvOptions& options = {});

}  // namespace damo
