// cumsum, cummax, ...: specs made of the built-in scans, kept by their number in the device's EagerKernels.
#include <damo/array_scan.hpp>

#include <damo/error.hpp>
#include "graph/base/computed_dtype.hpp"
#include "ops/eager/kernels.hpp"
#include "ops/reductions.hpp"

namespace damo {
namespace {

KernelSpec spec_of(ScanKind kind, DType x, const ReducedDTypes& dtypes, ScanOptions options) {
  KernelSpec spec;
  spec.name = name_of(kind);
  spec.inputs = {x};
  spec.outputs = {dtypes.result};
  spec.stores = {append_scan(spec, kind, {0}, x, dtypes.result, options, dtypes.accumulator)};
  return spec;
}

/// dtypes_for: what comes out for elements of a dtype, and in which it is computed.
template <class DTypesFor>
Array cumulate(ScanKind kind, const Array& given, std::optional<int> axis, ScanOptions options, const DTypesFor& dtypes_for) {
  const std::string name = name_of(kind);
  if (!given) throw TypeError(name + ": the Array is empty", "check the Array with if (array)");
  require_computed(name, given.dtype());
  const Array x = axis ? given : given.reshape({-1});
  const std::uint32_t mask = Axes(axis.value_or(0)).mask(x.rank(), name);
  const ReducedDTypes dtypes = dtypes_for(x.dtype());
  const Array y = Array::empty(x.shape(), dtypes.result, x.device());
  const std::uint32_t number = std::uint32_t{1} << 24 | static_cast<std::uint32_t>(kind) << 16 | static_cast<std::uint32_t>(dtypes.accumulator) << 12 | static_cast<std::uint32_t>(dtypes.result) << 8 |
                               static_cast<std::uint32_t>(x.dtype()) << 2 | options.reverse * 2u | options.exclusive;
  const auto kernel = EagerKernels::of(x.device().backend())->reducing(number, [&] { return spec_of(kind, x.dtype(), dtypes, options); });
  const EagerInput inputs[] = {{&x, {}}};
  kernel->run(inputs, y, x.shape(), mask);
  return y;
}

Array chosen(ScanKind kind, const Array& x, std::optional<int> axis, ScanOptions options) {
  return cumulate(kind, x, axis, options, [](DType dtype) { return ReducedDTypes{is_half(dtype) ? float32 : dtype, dtype}; });
}

Array accumulated(ScanKind kind, const Array& x, std::optional<int> axis, const CumulativeOptions& options) {
  return cumulate(kind, x, axis, {.reverse = options.reverse, .exclusive = options.exclusive}, [&](DType dtype) { return dtypes_of(kind, dtype, options); });
}

}  // namespace

Array cumsum(const Array& x, std::optional<int> axis, CumulativeOptions options) { return accumulated(ScanKind::kSum, x, axis, options); }
Array cumprod(const Array& x, std::optional<int> axis, CumulativeOptions options) { return accumulated(ScanKind::kProd, x, axis, options); }
Array cummax(const Array& x, std::optional<int> axis, ScanOptions options) { return chosen(ScanKind::kMax, x, axis, options); }
Array cummin(const Array& x, std::optional<int> axis, ScanOptions options) { return chosen(ScanKind::kMin, x, axis, options); }
Array logcumsumexp(const Array& x, std::optional<int> axis, CumulativeOptions options) { return accumulated(ScanKind::kLogSumExp, x, axis, options); }

}  // namespace damo
