// Made of the public ElementwiseKernel: one for each dtype, kept in the device's EagerKernels.
#include "ops/eager/index_kernels.hpp"

#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include <damo/array_shape.hpp>
#include <damo/array_sort.hpp>
#include <damo/elementwise_kernel.hpp>

#include "ops/eager/kept_kernels.hpp"
#include "ops/eager/kernels.hpp"
#include "ops/eager/overlap.hpp"
#include "ops/eager/snippet.hpp"
#include "ops/indexing/positions.hpp"
#include "runtime/array/array_layout.hpp"
#include "runtime/data_report.hpp"

namespace damo {
namespace {

SourceText text(std::string code) { return SourceText(std::move(code), nullptr, 0); }

enum class IndexKernel : std::uint32_t { kRange, kIntegerRange, kCheck, kScatter };

template <class Make>
std::shared_ptr<const ElementwiseKernel> kernel(const Array& array, IndexKernel index, DType a, DType b, Make make) {
  const std::uint32_t number =
      static_cast<std::uint32_t>(index) << 8 | static_cast<std::uint32_t>(a) << 4 | static_cast<std::uint32_t>(b);
  return EagerKernels::of(array.device().backend())->snippet(number, make);
}

std::shared_ptr<const ElementwiseKernel> range_kernel(const Array& out, IndexKernel index, const char* number) {
  const DType dtype = out.dtype();
  return kernel(out, index, dtype, dtype, [&] {
    const std::string type = c_type(dtype);
    return ElementwiseKernel(std::string(number) + " start, " + number + " step, " + type + "* z",
                             text("z[i] = (" + type + ")(start + i * step)"), {.name = "fill_range"});
  });
}

// Bytes are moved as they are: the dtype of elements does not matter, their size does.
std::string word(DType dtype) {
  static constexpr const char* names[] = {"unsigned char", "unsigned short", "", "unsigned int"};
  return itemsize(dtype) == 8 ? "unsigned long long" : names[itemsize(dtype) - 1];
}
DType word_dtype(DType dtype) {
  return itemsize(dtype) == 1 ? uint8 : itemsize(dtype) == 2 ? uint16 : itemsize(dtype) == 4 ? uint32 : uint64;
}
Array as_words(const Array& x) { return x.view(word_dtype(x.dtype()), x.shape(), x.strides(), 0); }

/// A device's reports of positions, by who asks, the axis and the positions' dtype.
class PositionReports final : public Companion {
 public:
  explicit PositionReports(Backend& backend) : backend_(backend) {}
  std::shared_ptr<DataReport> of(const std::string& user, int axis, CountsFromEnd counts, DType dtype) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<DataReport>& report = reports_[{user, axis, counts, dtype}];
    if (report) return report;
    report = std::make_shared<DataReport>(Device(&backend_), [user, axis, counts, dtype](std::int64_t position, std::int64_t extent) { return beyond_axis(user, reported_position(position, dtype), axis, extent, {}, counts); });
    if (!is_host(backend_)) backend_.watch(report);
    return report;
  }

 private:
  Backend& backend_;
  std::mutex mutex_;
  std::map<std::tuple<std::string, int, CountsFromEnd, DType>, std::shared_ptr<DataReport>> reports_;
};

/// A device's kernels that follow positions.
class WalkKernels final : public Companion {
 public:
  explicit WalkKernels(Backend& backend) : gathers_(backend), scatters_(backend), ordered_scatters_(backend) {}
  static std::shared_ptr<WalkKernels> of(Device device) { return device.backend().companion<WalkKernels>(); }
  static std::shared_ptr<WalkKernels> of(const Array& x) { return of(x.device()); }
  const Gather& gather(DType dtype, bool strided) {
    return gathers_.of({itemsize(dtype), strided}, [&](const CompileKernel& compile) { return Gather(compile, dtype, strided); });
  }
  const Scatter& scatter(DType dtype, ScatterKind kind) {
    return scatters_.of({dtype, kind}, [&](const CompileKernel& compile) { return Scatter(compile, dtype, kind); });
  }
  const OrderedScatter& ordered_scatter(DType dtype, ScatterKind kind) {
    return ordered_scatters_.of({dtype, kind}, [&](const CompileKernel& compile) { return OrderedScatter(compile, dtype, kind); });
  }

 private:
  KeptKernels<std::pair<std::size_t, bool>, Gather> gathers_;
  KeptKernels<std::pair<DType, ScatterKind>, Scatter> scatters_;
  KeptKernels<std::pair<DType, ScatterKind>, OrderedScatter> ordered_scatters_;
};

}  // namespace

void fill_range(const Array& out, double start, double step) {
  if (out.dtype() != float32 && out.dtype() != float64) {  // C's conversion would not do
    const Array wide = Array::empty(out.shape(), float64, out.device());
    fill_range(wide, start, step);
    return copy_into(out, wide);
  }
  (*range_kernel(out, IndexKernel::kRange, "double"))(start, step, out);
}
void fill_range(const Array& out, std::int64_t start, std::int64_t step) {
  (*range_kernel(out, IndexKernel::kIntegerRange, "unsigned long long"))(static_cast<std::uint64_t>(start), static_cast<std::uint64_t>(step), out);
}

Array checked_positions(const char* user, const Array& positions, int axis, std::int64_t extent, std::int64_t otherwise, CountsFromEnd counts) {
  Backend& backend = positions.device().backend();
  const DType dtype = positions.dtype();
  const auto found = kernel(positions, IndexKernel::kCheck, dtype, dtype, [&] {
    return ElementwiseKernel("const " + c_type(dtype) + "* p, long long least, long long extent, long long otherwise, unsigned long long found_at, long long* z",
                             text("const long long at = p[i] > 0 && (long long)p[i] < 0 ? 0x7fffffffffffffff : (long long)p[i]; const bool is_there = at >= least && at < extent;"
                                  "if (!is_there) {"
                                  "  volatile long long* found = (volatile long long*)found_at;"
                                  "  found[1] = (long long)p[i]; found[2] = extent; found[0] = 1;"
                                  "}"
                                  "z[i] = !is_there ? otherwise : at < 0 ? at + extent : at"),
                             {.name = "check_positions"});
  });
  const std::shared_ptr<DataReport> report = backend.companion<PositionReports>()->of(user, axis, counts, dtype);
  const Array checked = found->results(positions, counts == CountsFromEnd::kYes ? -extent : std::int64_t{0}, extent, otherwise, static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(report->address())))[0];
  if (is_host(backend)) report->check();
  return checked;
}

void gather(const Array& x, const Array& positions, const Array& out, int axis, int axes, bool strided) { WalkKernels::of(x)->gather(x.dtype(), strided)(x, positions, out, axis, axes); }

void prepare_gather(Device device, DType dtype, bool strided) { WalkKernels::of(device)->gather(dtype, strided); }

void scatter(ScatterKind kind, const Array& y, const Array& positions, const Array& z, int axis, int axes, bool repeats) {
  if (repeats && scatters_in_order(z.device(), z.dtype())) return WalkKernels::of(z)->ordered_scatter(z.dtype(), kind)(y, positions, z, axis, axes);
  const Array flat = positions.reshape({-1}), order = repeats ? argsort(flat) : Array();
  WalkKernels::of(z)->scatter(z.dtype(), kind)(y, repeats ? take(flat, order) : flat, order, z, axis, axes);
}

void scatter(const Array& x, const Array& positions, const Array& values) {
  const auto found = kernel(x, IndexKernel::kScatter, word_dtype(x.dtype()), int64, [&] {
    const std::string type = word(x.dtype());
    return ElementwiseKernel("unsigned long long x_at, const long long* p, const " + type + "* v, unsigned char* written",
                             text("written[i] = p[i] >= 0; if (p[i] >= 0) ((" + type + "*)x_at)[p[i]] = v[i]"),
                             {.name = "scatter"});
  });
  found->results(static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(x.data())), positions, as_words(values));
}

}  // namespace damo
