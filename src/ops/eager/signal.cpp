#include <damo/array_signal.hpp>

#include <cmath>

#include <damo/array_conv.hpp>
#include <damo/array_linalg.hpp>
#include <damo/array_shape.hpp>
#include <damo/array_subtensor.hpp>
#include "ops/both_worlds.hpp"
#include "ops/signal_of.hpp"

namespace damo {

Array convolve(const Array& x, const Array& w, ConvolveMode mode) {
  return asked_at_once("convolve", [&] { return contiguous(SignalOf<OfArrays>::convolve(given_array("convolve", x), given_array("convolve", w), mode)); }, x, w);
}
Array bilinear_upsampling(const Array& x, std::int64_t ratio) {
  return asked_at_once("bilinear_upsampling", [&] { return SignalOf<OfArrays>::bilinear_upsampling(given_array("bilinear_upsampling", x), ratio); }, x);
}
Array images2neibs(const Array& x, const PerAxis& window, const PerAxis& step) {
  return asked_at_once("images2neibs", [&] { return contiguous(SignalOf<OfArrays>::images2neibs(given_array("images2neibs", x), window, step)); }, x);
}
Array spatial_transformer(const Array& x, const Array& theta, std::int64_t height, std::int64_t width) {
  return asked_at_once("spatial_transformer", [&] { return SignalOf<OfArrays>::spatial_transformer(given_array("spatial_transformer", x), given_array("spatial_transformer", theta), height, width); }, x, theta);
}
Array separable_conv2d(const Array& x, const Array& depthwise, const Array& pointwise, const ConvOptions& options) {
  return asked_at_once("separable_conv2d", [&] {
    given_array("separable_conv2d", depthwise), given_array("separable_conv2d", pointwise);
    return SignalOf<OfArrays>::separable_conv2d(given_array("separable_conv2d", x), depthwise, pointwise, options);
  }, x, depthwise, pointwise);
}

}  // namespace damo
