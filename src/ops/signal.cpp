#include <damo/ops/signal.hpp>

#include <cmath>

#include <damo/ops/conv.hpp>
#include <damo/ops/indexing.hpp>
#include <damo/ops/linalg.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/shape.hpp>
#include "graph/user_line.hpp"
#include "ops/both_worlds.hpp"
#include "ops/signal_of.hpp"

namespace damo {

Variable convolve(const Operand& x, const Operand& w, ConvolveMode mode) {
  const BuiltAt here(x.where());
  return asked("convolve", [&] { return SignalOf<OfVariables>::convolve(given_variable(x), given_variable(w), mode); }, x, w);
}
Variable bilinear_upsampling(const Operand& x, std::int64_t ratio) {
  const BuiltAt here(x.where());
  return asked("bilinear_upsampling", [&] { return SignalOf<OfVariables>::bilinear_upsampling(given_variable(x), ratio); }, x);
}
Variable images2neibs(const Operand& x, const PerAxis& window, const PerAxis& step) {
  const BuiltAt here(x.where());
  return asked("images2neibs", [&] { return SignalOf<OfVariables>::images2neibs(given_variable(x), window, step); }, x);
}
Variable spatial_transformer(const Operand& x, const Operand& theta, std::int64_t height, std::int64_t width) {
  const BuiltAt here(x.where());
  return asked("spatial_transformer", [&] { return SignalOf<OfVariables>::spatial_transformer(given_variable(x), given_variable(theta), height, width); }, x, theta);
}
Variable separable_conv2d(const Operand& x, const Operand& depthwise, const Operand& pointwise, const ConvOptions& options) {
  const BuiltAt here(x.where());
  return asked("separable_conv2d", [&] { return SignalOf<OfVariables>::separable_conv2d(given_variable(x), given_variable(depthwise), given_variable(pointwise), options); }, x, depthwise, pointwise);
}

}  // namespace damo
