// cumsum, cummax, ...: specs made of the built-in scans, kept by their number in the device's EagerKernels.
#include <damo/array_scan.hpp>

#include <damo/error.hpp>
#include "graph/base/computed_dtype.hpp"
#include "ops/eager/kernels.hpp"
#include "ops/reductions.hpp"

namespace damo {
namespace {

KernelSpec spec_of(ScanKind kind, DType x, DType result, ScanOptions options) {
  KernelSpec spec;
  spec.name = name_of(kind);
  spec.inputs = {x};
  spec.outputs = {result};
  spec.stores = {append_scan(spec, kind, {0}, x, result, options)};
  return spec;
}

Array cumulate(ScanKind kind, const Array& given, std::optional<int> axis, ScanOptions options) {
  const std::string name = name_of(kind);
  if (!given) throw TypeError(name + ": the Array is empty", "check the Array with if (array)");
  require_computed(name, given.dtype());
  const Array x = axis ? given : given.reshape({-1});
  const std::uint32_t mask = Axes(axis.value_or(0)).mask(x.rank(), name);
  const DType result = result_of(kind, x.dtype());
  const Array y = Array::empty(x.shape(), result, x.device());
  const std::uint32_t number = std::uint32_t{1} << 24 | static_cast<std::uint32_t>(kind) << 8 | static_cast<std::uint32_t>(x.dtype()) << 2 | options.reverse * 2u | options.exclusive;
  const auto kernel = EagerKernels::of(x.device().backend())->reducing(number, [&] { return spec_of(kind, x.dtype(), result, options); });
  const EagerInput inputs[] = {{&x, {}}};
  kernel->run(inputs, y, x.shape(), mask);
  return y;
}

}  // namespace

Array cumsum(const Array& x, std::optional<int> axis, ScanOptions options) { return cumulate(ScanKind::kSum, x, axis, options); }
Array cumprod(const Array& x, std::optional<int> axis, ScanOptions options) { return cumulate(ScanKind::kProd, x, axis, options); }
Array cummax(const Array& x, std::optional<int> axis, ScanOptions options) { return cumulate(ScanKind::kMax, x, axis, options); }
Array cummin(const Array& x, std::optional<int> axis, ScanOptions options) { return cumulate(ScanKind::kMin, x, axis, options); }
Array logcumsumexp(const Array& x, std::optional<int> axis, ScanOptions options) { return cumulate(ScanKind::kLogSumExp, x, axis, options); }

}  // namespace damo
