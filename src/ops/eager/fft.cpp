#include <damo/array_fft.hpp>

#include <cmath>

#include <damo/array_math.hpp>
#include <damo/array_shape.hpp>
#include "graph/base/computed_dtype.hpp"
#include "ops/eager/kept_kernels.hpp"
#include "ops/fourier/fourier_steps.hpp"

namespace damo {
namespace {

/// A device's kernels beside its library's, by dtype.
class SpectrumKernels final : public Companion {
 public:
  explicit SpectrumKernels(Backend& backend) : halves_(backend) {}
  const HalfSpectrum& half(DType dtype) {
    return halves_.of(dtype, [&](const CompileKernel& compile) { return HalfSpectrum(compile, dtype); });
  }

 private:
  KeptKernels<DType, HalfSpectrum> halves_;
};

struct FourierArrays {
  using Value = Array;

  int rank(const Array& v) const { return v.rank(); }
  DType dtype_of(const Array& v) const { return v.dtype(); }
  Array cast(const Array& v, DType dtype) const { return astype(v, dtype); }
  Array view(const Array& v, const std::vector<int>& pattern) const { return dimshuffle(v, pattern); }
  Array apply(const std::string& user, const FourierForm& form, const Array& v) const {
    const Array out = Array::empty(form.shape(user, v.shape()), v.dtype(), v.device());
    const auto kernels = v.device().backend().companion<SpectrumKernels>();
    transform(form, weighs(form) ? &kernels->half(v.dtype()) : nullptr, contiguous(v), out);
    return out;
  }
  Array divided(const Array& v, const Array& counted, std::uint32_t axes, bool root) const {
    double count = 1;
    for (int axis = 0; axis < counted.rank(); ++axis) count *= axes >> axis & 1u ? static_cast<double>(counted.shape()[axis]) : 1.0;
    return v / (root ? std::sqrt(count) : count);
  }
};

const Array& numbers(const char* user, const Array& x) {
  if (!x) throw TypeError(std::string(user) + ": x is an empty Array", "check the Array with if (array)");
  require_computed(user, x.dtype());
  return x;
}

template <class Work>
Array transformed(const char* user, const Array& x, FftNorm norm, Work work) {
  const FourierArrays ops;
  return work(FourierSteps<FourierArrays>(ops, user, norm), numbers(user, x));
}

}  // namespace

Array rfft(const Array& x, int axis, FftNorm norm) {
  return transformed("rfft", x, norm, [&](const auto& steps, const Array& given) { return steps.from_real(given, axis); });
}
Array irfft(const Array& x, std::optional<std::int64_t> extent, int axis, FftNorm norm) {
  return transformed("irfft", x, norm, [&](const auto& steps, const Array& given) { return steps.to_real(given, extent, axis); });
}
Array fft(const Array& x, int axis, FftNorm norm) {
  return transformed("fft", x, norm, [&](const auto& steps, const Array& given) { return steps.complex(given, axis, false); });
}
Array ifft(const Array& x, int axis, FftNorm norm) {
  return transformed("ifft", x, norm, [&](const auto& steps, const Array& given) { return steps.complex(given, axis, true); });
}
Array rfftn(const Array& x, const Axes& axes, FftNorm norm) {
  return transformed("rfftn", x, norm, [&](const auto& steps, const Array& given) { return steps.from_real(given, axes); });
}
Array irfftn(const Array& x, std::optional<std::int64_t> extent, const Axes& axes, FftNorm norm) {
  return transformed("irfftn", x, norm, [&](const auto& steps, const Array& given) { return steps.to_real(given, extent, axes); });
}
Array fftn(const Array& x, const Axes& axes, FftNorm norm) {
  return transformed("fftn", x, norm, [&](const auto& steps, const Array& given) { return steps.complex(given, axes, false); });
}
Array ifftn(const Array& x, const Axes& axes, FftNorm norm) {
  return transformed("ifftn", x, norm, [&](const auto& steps, const Array& given) { return steps.complex(given, axes, true); });
}

}  // namespace damo
