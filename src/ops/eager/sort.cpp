#include <damo/array_sort.hpp>

#include <memory>
#include <optional>
#include <utility>

#include <damo/array_create.hpp>
#include <damo/array_math.hpp>
#include <damo/array_shape.hpp>
#include "graph/base/computed_dtype.hpp"
#include "ops/eager/index_kernels.hpp"
#include "ops/eager/kept_kernels.hpp"
#include "ops/eager/kernels.hpp"
#include "ops/lower.hpp"
#include "ops/promotion.hpp"
#include "ops/sort/searchsorted_op.hpp"
#include "ops/sort/sort_kernels.hpp"
#include "runtime/backend.hpp"

namespace damo {
namespace {

/// A device's kernels that sort, by dtype.
class SortKernels final : public Companion {
 public:
  explicit SortKernels(Backend& backend) : device_(&backend), sorts_(backend) {}
  static std::shared_ptr<SortKernels> of(const Array& x) { return x.device().backend().companion<SortKernels>(); }
  const RowSort& sort(DType dtype, bool has_order) {
    return sorts_.of({dtype, has_order}, [&](const CompileKernel& compile) { return RowSort(device_, compile, dtype, has_order); });
  }

 private:
  Device device_;
  KeptKernels<std::pair<DType, bool>, RowSort> sorts_;
};

/// x with the axis last; which of the result's is that.
struct Lines {
  Lines(const char* name, const Array& given, int asked) : x(given) {
    if (!x) throw TypeError(std::string(name) + ": x is an empty Array", "give it elements");
    require_computed(name, x.dtype());
    axis = normalize_axis(name, asked, x.rank());
  }
  Array last_to_axis(const Array& y) const { return swap_axes(y, axis, -1); }
  /// Along the last axis: of all places, or of the first so many.
  Array order(bool descending, std::optional<std::int64_t> wanted = {}) const {
    const Array lines = last_to_axis(x).contiguous();
    const std::int64_t count = std::max<std::int64_t>(lines.shape()[-1], 1), rows = lines.size() / count;
    Shape shape = lines.shape();
    if (wanted) shape[shape.rank() - 1] = *wanted;
    const Array order = Array::empty(shape, int64, x.device());
    const std::shared_ptr<SortKernels> kernels = SortKernels::of(x);
    const RowSort& sort = kernels->sort(x.dtype(), true);
    if (wanted) sort.first(lines, rows, count, *wanted, descending, order);
    else sort(lines, rows, count, descending, {}, order);
    return order;
  }
  /// x's elements in order, likewise.
  Array sorted(bool descending) const {
    const Array lines = last_to_axis(x).contiguous(), sorted = Array::empty(lines.shape(), x.dtype(), x.device());
    const std::int64_t count = std::max<std::int64_t>(lines.shape()[-1], 1);
    SortKernels::of(x)->sort(x.dtype(), false)(lines, lines.size() / count, count, descending, sorted, {});
    return sorted;
  }
  /// x's elements at such places, likewise.
  Array at(const Array& order) const {
    const Array lines = last_to_axis(x).contiguous(), out = Array::empty(order.shape(), x.dtype(), x.device());
    if (out.size() == 0) return out;
    const std::int64_t count = lines.shape()[-1], taken = order.shape()[-1], rows = order.size() / taken;
    const Array begins = arange(0, rows * count, count, int64, x.device()).reshape({rows, 1});
    gather(lines.reshape({rows * count}), contiguous(add(order.contiguous().reshape({rows, taken}), begins)).reshape({rows * taken}), out.reshape({rows * taken}), 0, 1);
    return out;
  }

  Array x;
  int axis = 0;
};

/// The kernel of that search on the device of x.
std::shared_ptr<EagerKernel> search_kernel(const Array& x, DType dtype, bool right) {
  const std::uint32_t number = std::uint32_t{2} << 24 | static_cast<std::uint32_t>(dtype) << 1 | static_cast<std::uint32_t>(right);  // as no reduction's and no scan's is
  return EagerKernels::of(x.device().backend())->reducing(number, [&] {
    const auto op = std::make_shared<const SearchsortedOp>(right);
    const Variable inputs[] = {input({dtype, {kUnknown}}), input({dtype, {kUnknown}})};
    return lower(*op, op->apply(inputs, {}));
  });
}

}  // namespace

Array argsort(const Array& x, int axis, bool descending) {
  const Lines lines("argsort", x, axis);
  return lines.last_to_axis(lines.order(descending)).contiguous();
}

Array sort(const Array& x, int axis, bool descending) {
  const Lines lines("sort", x, axis);
  return lines.last_to_axis(lines.sorted(descending)).contiguous();
}

ArrayTopK topk(const Array& x, std::int64_t count, int axis, bool largest) {
  const Lines lines("topk", x, axis);
  const std::int64_t extent = x.shape()[lines.axis];
  if (count < 0) throw ShapeError("topk: the count is " + std::to_string(count), "ask for 0 elements or more");
  if (count > extent) throw ShapeError("topk: " + std::to_string(count) + " elements of lines of " + std::to_string(extent), "ask for as many as there are, or fewer");
  const Array order = lines.order(largest, count);
  return {lines.last_to_axis(lines.at(order)).contiguous(), lines.last_to_axis(order).contiguous()};
}

Array searchsorted(const Array& sorted, const Array& values, bool right) {
  for (const Array* x : {&sorted, &values}) require_computed("searchsorted", x->dtype());
  if (sorted.rank() != 1) throw ShapeError("searchsorted: the sorted elements have " + std::to_string(sorted.rank()) + " axes, not 1: " + describe(sorted), "flatten them, or search each line by itself");
  const DType dtype = result_type(std::vector<Promotable>{{sorted.dtype()}, {values.dtype()}});
  require_computed("searchsorted", dtype);
  if (!(sorted.device() == values.device())) throw DeviceError("searchsorted: operands lie on " + sorted.device().name() + " and " + values.device().name(), "move one of them: x.to(device)");
  const auto as = [&](const Array& x) { return x.dtype() == dtype ? x : astype(x, dtype); };
  const Array places = Array::empty(values.shape(), int64, values.device()), table = as(sorted).contiguous(), keys = as(values);
  const EagerInput inputs[] = {{&table, {}}, {&keys, {}}};
  search_kernel(values, dtype, right)->run(inputs, places);
  return places;
}

}  // namespace damo
