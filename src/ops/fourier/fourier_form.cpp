#include "ops/fourier/fourier_form.hpp"

#include <algorithm>

#include <damo/error.hpp>
#include "ops/indexing/take_kernels.hpp"
#include "runtime/memory/workspace.hpp"

namespace damo {
namespace {

// Pairs of half spectra of `extent` real numbers each; the first, and the last of an even extent, are their own mirror images.
constexpr const char* kHalfSpectrum = R"(
template <class T>
__global__ void half_spectrum(const T* from, T* to, long long count, long long pairs, long long extent, T factor) {
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    const long long k = i % pairs;
    const bool single = k == 0 || 2 * k == extent;
    const T re = from[2 * i], im = from[2 * i + 1];
    to[2 * i] = single ? re : re * factor;
    to[2 * i + 1] = single ? (T)0 : im * factor;
  }
}
)";

void require_pairs(const std::string& user, const Shape& x) {
  if (x.rank() == 0 || (x[-1] != 2 && x[-1] != kUnknown)) {
    throw ShapeError(user + ": complex numbers have a last axis of extent 2, real and imaginary part; x has the shape " + to_string(x), "stack({real, imaginary}, -1) makes them");
  }
}

}  // namespace

Shape FourierForm::shape(const std::string& user, const Shape& x) const {
  const bool from_real = kind == FourierKind::kRealToComplex;
  if (!from_real) require_pairs(user, x);
  const int last = x.rank() - (from_real ? 1 : 2);
  for (int axis = last - rank + 1; axis <= last; ++axis) {
    if (x[axis] == 0) throw ShapeError(user + ": an axis without elements has no spectrum: x has the shape " + to_string(x), "give it elements, or leave it out for empty arrays");
  }
  Shape to = x;
  if (kind == FourierKind::kRealToComplex) {
    to[last] = x[last] == kUnknown ? kUnknown : x[last] / 2 + 1;
    to.push_back(2);
  }
  if (kind == FourierKind::kComplexToReal) {
    to.erase(last + 1);
    if (extent >= 0 && x[last] != kUnknown && extent / 2 + 1 != x[last]) {
      throw ShapeError(user + ": the half spectrum of " + std::to_string(extent) + " numbers has " + std::to_string(extent / 2 + 1) + " pairs, x has " + std::to_string(x[last]),
                       "give the extent that x comes from, slice x or pad it");
    }
    if (extent < 0 && x[last] == 1) throw ShapeError(user + ": one pair is the half spectrum of one number, or of none", "say which: give the extent");
    to[last] = extent >= 0 ? extent : x[last] == kUnknown ? kUnknown : 2 * (x[last] - 1);
  }
  return to;
}

HalfSpectrum::HalfSpectrum(const CompileKernel& compile, DType dtype) : kernel_(compile(kHalfSpectrum, dtype == float64 ? "half_spectrum<double>" : "half_spectrum<float>")), dtype_(dtype) {}

void HalfSpectrum::operator()(const Array& from, const Array& to, std::int64_t extent, double factor) const {
  const std::int64_t count = from.size() / 2;
  kernel_(elements_launch(count), from, to, count, extent / 2 + 1, extent, Scalar(factor).cast(dtype_));
}

bool weighs(const FourierForm& form) { return form.kind == FourierKind::kComplexToReal || (form.kind == FourierKind::kRealToComplex && form.reversed); }

namespace {

FourierTransform transform_of(const FourierForm& form, DType dtype, const Shape& x, const Shape& out) {
  const Shape& real = form.kind == FourierKind::kComplexToReal ? out : x;
  const int end = real.rank() - (form.kind == FourierKind::kComplex ? 1 : 0);
  FourierTransform t{form.kind, form.inverse, dtype, form.rank};
  for (int axis = 0; axis < end; ++axis) {
    if (axis < end - form.rank) t.count *= real[axis];
    else t.extents[static_cast<std::size_t>(axis - end + form.rank)] = real[axis];
  }
  return t;
}

}  // namespace

void transform(const FourierForm& form, const HalfSpectrum* half, const Array& x, const Array& out) {
  if (out.size() == 0) return;
  const FourierTransform t = transform_of(form, x.dtype(), x.shape(), out.shape());
  const auto library = FourierLibrary::of(x.device().backend());
  Array from = x;
  if (form.kind == FourierKind::kComplexToReal) {
    from = Array::empty(x.shape(), x.dtype(), x.device());
    (*half)(x, from, t.extent(), form.reversed ? 0.5 : 1);
  }
  library->engine().run(t, from.data(), out.data());
  if (form.kind == FourierKind::kRealToComplex && form.reversed) (*half)(out, out, t.extent(), 2);
}

std::size_t transform_bytes(Backend& backend, const FourierForm& form, DType dtype, const Shape& x, const Shape& out) {
  if (out.size() == 0) return 0;
  WorkspaceNeed need;
  if (form.kind == FourierKind::kComplexToReal) need.take(static_cast<std::size_t>(x.size()) * itemsize(dtype));
  need.pass(FourierLibrary::of(backend)->engine().workspace_bytes(transform_of(form, dtype, x, out)));
  return need.bytes();
}

}  // namespace damo
