#include <damo/array_conv.hpp>

#include <damo/array_math.hpp>
#include <damo/array_reduce.hpp>
#include "graph/base/computed_dtype.hpp"
#include "graph/base/environment.hpp"
#include "ops/conv/conv_op.hpp"
#include "ops/conv/pictures.hpp"
#include "ops/conv/pool_op.hpp"

namespace damo {
namespace {

void require_arrays(const WindowForm& form, std::span<const Array> arrays) {
  for (const Array& array : arrays) {
    if (!array) throw TypeError(form.name + ": an operand is an empty Array", "check the Array with if (array)");
    require_computed(form.name, array.dtype());
    if (!(array.device() == arrays[0].device())) {
      throw DeviceError(form.name + ": operands lie on " + arrays[0].device().name() + " and " + array.device().name(), "move one of them: x.to(device)");
    }
  }
}

Array convolved(ConvolutionRole role, const WindowForm& form, const Array& x, const Array& w) {
  const Array operands[] = {x, w};
  require_arrays(form, operands);
  const DType dtype = require_pictures(form, std::span<const Array>(operands), {});
  const auto as = [&](const Array& array) { return (array.dtype() == dtype ? array : astype(array, dtype)).contiguous(); };
  const Array inputs[] = {as(x), as(w)};
  const Shape shape = role == ConvolutionRole::kForward ? form.convolved(x.shape(), w.shape()) : form.transposed(x.shape(), w.shape());
  const Array out = Array::empty(shape, dtype, x.device());
  convolve(role, form, is_switched_on("DAMO_TF32"), inputs, out);
  return out;
}

template <class Options>
Array pooled(PoolingRole role, std::string name, int axes, const Array& x, const PerAxis& window, const Options& options, bool counts_padding = true) {
  Extents3 kernel{};
  const WindowForm form = WindowForm::of(std::move(name), axes, window, options.stride, options.padding, kernel);
  require_arrays(form, std::span(&x, 1));
  require_pictures(form, std::span<const Array>(&x, 1), {});
  const PoolOp op(role, form, kernel, counts_padding);
  const Shape shape = x.shape();
  const Array from = x.contiguous(), out = Array::empty(op.shape(std::span(&shape, 1)), x.dtype(), x.device());
  if (out.size() > 0) op.prepared(x.device().backend(), x.dtype(), shape)->run(from.data(), nullptr, out.data(), nullptr);
  return out;
}

}  // namespace

Array conv1d(const Array& x, const Array& w, const ConvOptions& options) { return convolved(ConvolutionRole::kForward, WindowForm::of("conv1d", 1, options), x, w); }
Array conv2d(const Array& x, const Array& w, const ConvOptions& options) { return convolved(ConvolutionRole::kForward, WindowForm::of("conv2d", 2, options), x, w); }
Array conv3d(const Array& x, const Array& w, const ConvOptions& options) { return convolved(ConvolutionRole::kForward, WindowForm::of("conv3d", 3, options), x, w); }

Array conv_transpose1d(const Array& x, const Array& w, const ConvTransposeOptions& options) {
  return convolved(ConvolutionRole::kInputGradient, WindowForm::of("conv_transpose1d", 1, options), x, w);
}
Array conv_transpose2d(const Array& x, const Array& w, const ConvTransposeOptions& options) {
  return convolved(ConvolutionRole::kInputGradient, WindowForm::of("conv_transpose2d", 2, options), x, w);
}
Array conv_transpose3d(const Array& x, const Array& w, const ConvTransposeOptions& options) {
  return convolved(ConvolutionRole::kInputGradient, WindowForm::of("conv_transpose3d", 3, options), x, w);
}

Array max_pool1d(const Array& x, const PerAxis& window, const PoolOptions& options) { return pooled(PoolingRole::kMax, "max_pool1d", 1, x, window, options); }
Array max_pool2d(const Array& x, const PerAxis& window, const PoolOptions& options) { return pooled(PoolingRole::kMax, "max_pool2d", 2, x, window, options); }
Array max_pool3d(const Array& x, const PerAxis& window, const PoolOptions& options) { return pooled(PoolingRole::kMax, "max_pool3d", 3, x, window, options); }

Array avg_pool1d(const Array& x, const PerAxis& window, const AvgPoolOptions& options) { return pooled(PoolingRole::kMean, "avg_pool1d", 1, x, window, options, options.count_include_pad); }
Array avg_pool2d(const Array& x, const PerAxis& window, const AvgPoolOptions& options) { return pooled(PoolingRole::kMean, "avg_pool2d", 2, x, window, options, options.count_include_pad); }
Array avg_pool3d(const Array& x, const PerAxis& window, const AvgPoolOptions& options) { return pooled(PoolingRole::kMean, "avg_pool3d", 3, x, window, options, options.count_include_pad); }

Array global_avg_pool(const Array& x) {
  if (!x) throw TypeError("global_avg_pool: x is an empty Array", "check the Array with if (array)");
  return mean(x, spatial_axes("global_avg_pool", x, {}));
}

}  // namespace damo
