#include <damo/array_create.hpp>

#include <cmath>

#include <damo/array_math.hpp>

#include "ops/eager/index_kernels.hpp"

namespace damo {
namespace {

__extension__ typedef __int128 Wide;  // holds the distance of any two integers

Wide wide(const Scalar& integer) {
  return integer.dtype() == uint64 ? Wide(static_cast<std::uint64_t>(integer.as_int())) : Wide(integer.as_int());
}

}  // namespace

Array arange(Scalar start, Scalar stop, Scalar step, DType dtype, Device device) {
  if (step.as_double() == 0) throw OptionError("arange: the step is 0");
  const bool integers = !is_floating(start.dtype()) && !is_floating(stop.dtype()) && !is_floating(step.dtype());
  double count = std::ceil((stop.as_double() - start.as_double()) / step.as_double());
  if (integers) {
    const Wide distance = wide(stop) - wide(start), by = wide(step);
    count = (distance > 0) == (by > 0) ? static_cast<double>((distance + by + (by > 0 ? -1 : 1)) / by) : 0;
  }
  if (!(count < 0x1p62)) throw ShapeError("arange: the range has no end", "give finite numbers");
  const Array out = Array::empty({static_cast<std::int64_t>(std::max(count, 0.0))}, dtype, device);
  if (integers && !is_floating(dtype))
    fill_range(out, start.as_int(), step.as_int());
  else
    fill_range(out, start.as_double(), step.as_double());
  return out;
}

Array linspace(double start, double stop, std::int64_t count, DType dtype, Device device) {
  if (count < 0) throw ShapeError("linspace: " + std::to_string(count) + " numbers cannot be made");
  const Array out = Array::empty({count}, dtype, device);
  fill_range(out, start, count > 1 ? (stop - start) / static_cast<double>(count - 1) : 0.0);
  if (count > 1) assign(out.slice({{count - 1, count}}), stop);
  return out;
}

Array eye(std::int64_t rows, std::optional<std::int64_t> columns, int diagonal, DType dtype, Device device) {
  const std::int64_t width = columns.value_or(rows);
  const Array out = Array::zeros({rows, width}, dtype, device);
  const std::int64_t top = diagonal < 0 ? -std::int64_t{diagonal} : 0, left = diagonal > 0 ? diagonal : 0;
  const std::int64_t length = std::min(rows - top, width - left);
  if (length > 0) assign(out.view(dtype, {length}, {width + 1}, top * width + left), 1);
  return out;
}

Array empty_like(const Array& x, std::optional<DType> dtype) {
  return Array::empty(x.shape(), dtype.value_or(x.dtype()), x.device());
}
Array full_like(const Array& x, Scalar value, std::optional<DType> dtype) {
  return Array::full(x.shape(), value, dtype.value_or(x.dtype()), x.device());
}
Array zeros_like(const Array& x, std::optional<DType> dtype) { return full_like(x, 0, dtype); }
Array ones_like(const Array& x, std::optional<DType> dtype) { return full_like(x, 1, dtype); }

}  // namespace damo
