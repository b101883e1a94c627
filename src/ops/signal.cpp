#include <damo/ops/signal.hpp>

#include <cmath>
#include <memory>

#include <damo/ops/conv.hpp>
#include <damo/ops/indexing.hpp>
#include <damo/ops/linalg.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/shape.hpp>
#include "graph/user_line.hpp"
#include "ops/both_worlds.hpp"
#include "ops/checked_shapes_op.hpp"
#include "ops/signal_of.hpp"

namespace damo {
namespace {

class ConvolvedOp final : public CheckedShapesOp {
 public:
  std::string name() const override { return "convolved"; }
  void require(std::span<const Shape> shapes) const override { require_convolved(shapes[0], shapes[1]); }
};

class AffineMapsOp final : public CheckedShapesOp {
 public:
  std::string name() const override { return "affine_maps"; }
  void require(std::span<const Shape> shapes) const override { require_transformed(shapes[1], shapes[0]); }
};

}  // namespace

Variable convolve(const Operand& x, const Operand& w, ConvolveMode mode) {
  const BuiltAt here(x.where());
  return asked("convolve", [&] {
    const Variable operands[] = {given_variable(x), given_variable(w)};
    return SignalOf<OfVariables>::convolve(checked_shapes(std::make_shared<const ConvolvedOp>(), operands, x.where()), operands[1], mode);
  }, x, w);
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
  return asked("spatial_transformer", [&] {
    const Variable operands[] = {given_variable(theta), given_variable(x)};
    return SignalOf<OfVariables>::spatial_transformer(operands[1], checked_shapes(std::make_shared<const AffineMapsOp>(), operands, x.where()), height, width);
  }, x, theta);
}
Variable separable_conv2d(const Operand& x, const Operand& depthwise, const Operand& pointwise, const ConvOptions& options) {
  const BuiltAt here(x.where());
  return asked("separable_conv2d", [&] { return SignalOf<OfVariables>::separable_conv2d(given_variable(x), given_variable(depthwise), given_variable(pointwise), options); }, x, depthwise, pointwise);
}

}  // namespace damo
