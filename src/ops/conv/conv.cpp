#include <damo/ops/conv.hpp>

#include <memory>

#include <damo/ops/cast.hpp>
#include <damo/ops/reduce.hpp>
#include "ops/conv/conv_op.hpp"
#include "ops/conv/pool_op.hpp"
#include "ops/conv/pictures.hpp"
#include "graph/user_line.hpp"
#include "ops/gradient_parts.hpp"

namespace damo {
namespace {

Variable value_of(const Operand& x) { return x.as(x.is_number() ? result_type(std::vector{x.promotable()}) : x.promotable().dtype); }

/// Both in the dtype to which they are promoted.
template <class Options>
Variable convolved(ConvolutionRole role, const char* name, int axes, const Operand& x, const Operand& w, const Options& options) {
  const WindowForm form = asked(name, [&] { return WindowForm::of(name, axes, options); }, x, w);
  const Variable operands[] = {value_of(x), value_of(w)};
  const SourceLine line = x.where();
  const DType dtype = require_pictures(form, std::span<const Variable>(operands), line);
  const Variable inputs[] = {cast_at(operands[0], dtype, line), cast_at(operands[1], dtype, line)};
  return std::make_shared<const ConvolutionOp>(role, form)->apply(inputs, line).output();
}

template <class Options>
Variable pooled(PoolingRole role, const std::string& name, int axes, const Operand& x, const PerAxis& window, const Options& options, bool counts_padding = true) {
  Extents3 kernel{};
  const WindowForm form = asked(name, [&] { return WindowForm::of(name, axes, window, options.stride, options.padding, kernel); }, x);
  const Variable operand = value_of(x);
  require_pictures(form, std::span<const Variable>(&operand, 1), x.where());
  return std::make_shared<const PoolOp>(role, form, kernel, counts_padding)->apply(std::span(&operand, 1), x.where()).output();
}

}  // namespace

Variable conv1d(const Operand& x, const Operand& w, const ConvOptions& options) { return convolved(ConvolutionRole::kForward, "conv1d", 1, x, w, options); }
Variable conv2d(const Operand& x, const Operand& w, const ConvOptions& options) { return convolved(ConvolutionRole::kForward, "conv2d", 2, x, w, options); }
Variable conv3d(const Operand& x, const Operand& w, const ConvOptions& options) { return convolved(ConvolutionRole::kForward, "conv3d", 3, x, w, options); }

Variable conv_transpose1d(const Operand& x, const Operand& w, const ConvTransposeOptions& options) {
  return convolved(ConvolutionRole::kInputGradient, "conv_transpose1d", 1, x, w, options);
}
Variable conv_transpose2d(const Operand& x, const Operand& w, const ConvTransposeOptions& options) {
  return convolved(ConvolutionRole::kInputGradient, "conv_transpose2d", 2, x, w, options);
}
Variable conv_transpose3d(const Operand& x, const Operand& w, const ConvTransposeOptions& options) {
  return convolved(ConvolutionRole::kInputGradient, "conv_transpose3d", 3, x, w, options);
}

Variable max_pool1d(const Operand& x, const PerAxis& window, const PoolOptions& options) { return pooled(PoolingRole::kMax, "max_pool1d", 1, x, window, options); }
Variable max_pool2d(const Operand& x, const PerAxis& window, const PoolOptions& options) { return pooled(PoolingRole::kMax, "max_pool2d", 2, x, window, options); }
Variable max_pool3d(const Operand& x, const PerAxis& window, const PoolOptions& options) { return pooled(PoolingRole::kMax, "max_pool3d", 3, x, window, options); }

Variable avg_pool1d(const Operand& x, const PerAxis& window, const AvgPoolOptions& options) { return pooled(PoolingRole::kMean, "avg_pool1d", 1, x, window, options, options.count_include_pad); }
Variable avg_pool2d(const Operand& x, const PerAxis& window, const AvgPoolOptions& options) { return pooled(PoolingRole::kMean, "avg_pool2d", 2, x, window, options, options.count_include_pad); }
Variable avg_pool3d(const Operand& x, const PerAxis& window, const AvgPoolOptions& options) { return pooled(PoolingRole::kMean, "avg_pool3d", 3, x, window, options, options.count_include_pad); }

Variable global_avg_pool(const Operand& x) {
  const Variable operand = value_of(x);
  return mean(At(x.where())(operand), spatial_axes("global_avg_pool", operand, x.where()));
}

}  // namespace damo
