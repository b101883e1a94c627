#include <damo/array_create.hpp>

#include <damo/array_decompositions.hpp>
#include <damo/array_math.hpp>

#include "ops/both_worlds.hpp"
#include "ops/create_checks.hpp"
#include "ops/diagonal.hpp"
#include "ops/eager/index_kernels.hpp"
#include "ops/padded_extent.hpp"
#include "ops/range_length.hpp"

namespace damo {

Array arange(Scalar start, Scalar stop, Scalar step, DType dtype, Device device) {
  const auto [count, of_integers] = range_length(start, stop, step);
  const Array out = Array::empty({count}, dtype, device);
  if (of_integers && !is_floating(dtype))
    fill_range(out, start.as_int(), step.as_int());
  else
    fill_range(out, start.as_double(), step.as_double());
  return out;
}

Array linspace(double start, double stop, std::int64_t count, DType dtype, Device device) {
  require_linspace_count(count);
  if (is_integer(dtype)) return astype(floor(linspace(start, stop, count, float64, device)), dtype);
  const Array out = Array::empty({count}, dtype, device);
  fill_range(out, start, count > 1 ? (stop - start) / static_cast<double>(count - 1) : 0.0);
  if (count > 1) assign(out.slice({{count - 1, count}}), stop);
  return out;
}

Array eye(std::int64_t rows, std::optional<std::int64_t> columns, std::int64_t diagonal, DType dtype, Device device) {
  const std::int64_t width = columns.value_or(rows);
  const Array out = asked_at_once("eye", [&] { return Array::zeros({rows, width}, dtype, device); });
  const std::int64_t far = near_diagonal(diagonal), top = far < 0 ? -far : 0, left = far > 0 ? far : 0;
  const std::int64_t length = std::min(rows - top, width - left);
  if (length > 0) assign(out.view(dtype, {length}, {width + 1}, top * width + left), 1);
  return out;
}

Array eye_like(const Array& x, std::int64_t diagonal, std::optional<DType> dtype) {
  require_axes("eye_like", x.rank(), 2);
  return eye(x.shape()[0], x.shape()[1], diagonal, dtype.value_or(x.dtype()), x.device());
}

Array tri(std::int64_t rows, std::optional<std::int64_t> columns, std::int64_t diagonal, DType dtype, Device device) {
  return tril(Array::ones({rows, columns.value_or(rows)}, dtype, device), diagonal);
}

Array diag(const Array& x, std::int64_t diagonal) {
  require_axes("diag", x.rank(), 1);
  const std::int64_t far = near_diagonal(diagonal), down = far < 0 ? -far : 0, right = far > 0 ? far : 0;
  const Array out = asked_at_once("diag", [&] {
    const std::int64_t width = padded_extent("diag", x.shape()[0], {right, down}, 0);
    return Array::zeros({width, width}, x.dtype(), x.device());
  }, x);
  const std::int64_t width = out.shape()[0];
  if (x.size() > 0) assign(out.view(x.dtype(), x.shape(), {width + 1}, down * width + right), x);
  return out;
}

Array empty_like(const Array& x, std::optional<DType> dtype) {
  return Array::empty(x.shape(), dtype.value_or(x.dtype()), x.device());
}
Array full_like(const Array& x, Scalar value, std::optional<DType> dtype) {
  return Array::full(x.shape(), value, dtype.value_or(x.dtype()), x.device());
}
Array shape_of(const Array& x) {
  const Shape& shape = given_array("shape_of", x).shape();
  return Array::from(std::vector<std::int64_t>(shape.begin(), shape.end()), x.device());
}
Array size_of(const Array& x) {
  const std::int64_t size = given_array("size_of", x).size();
  return Array::scalar(size, x.device());
}
Array zeros_like(const Array& x, std::optional<DType> dtype) { return full_like(x, 0, dtype); }
Array ones_like(const Array& x, std::optional<DType> dtype) { return full_like(x, 1, dtype); }

}  // namespace damo
