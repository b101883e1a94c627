#include <damo/array_shape.hpp>

#include <damo/array_math.hpp>

#include "ops/eager/index_kernels.hpp"
#include "ops/eager/overlap.hpp"

namespace damo {
namespace {

int axis_of(const char* name, int axis, int rank) {
  const int real = axis < 0 ? axis + rank : axis;
  if (real < 0 || real >= rank) {
    throw ShapeError(std::string(name) + ": there is no axis " + std::to_string(axis) + " in an array of " +
                     std::to_string(rank) + " axes");
  }
  return real;
}

void require(const char* name, const Array& x) {
  if (!x) throw TypeError(std::string(name) + ": an Array is empty", "check the Array with if (array)");
}

void require_positions(const char* name, const Array& x, const Array& positions) {
  require(name, x);
  require(name, positions);
  if (!is_integer(positions.dtype())) {
    throw TypeError(std::string(name) + ": positions are integers, these are " + describe(positions),
                    "astype(positions, int64)");
  }
  if (!(x.device() == positions.device()))
    throw DeviceError(std::string(name) + ": " + describe(x) + " with positions " + describe(positions),
                      "move one of them: x.to(device)");
}

}  // namespace

Array squeeze(const Array& x, const Axes& axes) {
  require("squeeze", x);
  const std::uint32_t mask = axes.mask(x.rank(), "squeeze");
  Shape shape;
  Strides strides;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if ((mask >> axis & 1u) && x.shape()[axis] == 1) continue;
    if ((mask >> axis & 1u) && !axes.is_all())
      throw ShapeError("squeeze: axis " + std::to_string(axis) + " of " + to_string(x.shape()) +
                       " has another extent than 1");
    shape.push_back(x.shape()[axis]);
    strides.push_back(x.strides()[axis]);
  }
  return x.view(x.dtype(), shape, strides, 0);
}

Array expand_dims(const Array& x, int axis) {
  require("expand_dims", x);
  const int at = axis_of("expand_dims", axis, x.rank() + 1);
  Shape shape = x.shape();
  Strides strides = x.strides();
  shape.insert(at, 1);
  strides.insert(at, 0);
  return x.view(x.dtype(), shape, strides, 0);
}

Array flip(const Array& x, const Axes& axes) {
  require("flip", x);
  const std::uint32_t mask = axes.mask(x.rank(), "flip");
  std::vector<Slice> slices(static_cast<std::size_t>(x.rank()));
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (mask >> axis & 1u) slices[static_cast<std::size_t>(axis)].step = -1;
  }
  return x.slice(slices);
}

Array swap_axes(const Array& x, int a, int b) {
  require("swap_axes", x);
  std::vector<int> order;
  for (int axis = 0; axis < x.rank(); ++axis) order.push_back(axis);
  std::swap(order[static_cast<std::size_t>(axis_of("swap_axes", a, x.rank()))],
            order[static_cast<std::size_t>(axis_of("swap_axes", b, x.rank()))]);
  return x.permute(order);
}

Array contiguous(const Array& x) {
  require("contiguous", x);
  return x.is_contiguous() ? x : packed_copy(x);
}

Array ravel(const Array& x) { return contiguous(x).reshape({-1}); }

Array concatenate(std::span<const Array> arrays, int axis) {
  if (arrays.empty()) throw GraphError("concatenate: there are no arrays");
  std::vector<Promotable> dtypes;
  for (const Array& array : arrays) {
    require("concatenate", array);
    dtypes.push_back({array.dtype()});
  }
  const int along = axis_of("concatenate", axis, arrays.front().rank());
  Shape shape = arrays.front().shape();
  shape[along] = 0;
  for (const Array& array : arrays) {
    Shape rest = array.shape();
    if (array.rank() == shape.rank()) rest[along] = shape[along];
    if (!(rest == shape)) {
      throw ShapeError("concatenate: " + to_string(array.shape()) + " does not fit to " +
                       to_string(arrays.front().shape()) + " along axis " + std::to_string(along));
    }
    shape[along] += array.shape()[along];
  }
  const Array out = Array::empty(shape, result_type(dtypes), arrays.front().device());
  std::vector<Slice> slices(static_cast<std::size_t>(shape.rank()));
  std::int64_t at = 0;
  for (const Array& array : arrays) {
    const std::int64_t next = at + array.shape()[along];
    slices[static_cast<std::size_t>(along)] = {at, next};
    assign(out.slice(slices), array);
    at = next;
  }
  return out;
}

Array stack(std::span<const Array> arrays, int axis) {
  std::vector<Array> expanded;
  for (const Array& array : arrays) {
    if (array && !(array.shape() == arrays.front().shape())) {
      throw ShapeError("stack: shapes differ: " + to_string(arrays.front().shape()) + " and " +
                       to_string(array.shape()));
    }
    expanded.push_back(expand_dims(array, axis));
  }
  if (expanded.empty()) throw GraphError("stack: there are no arrays");
  return concatenate(expanded, axis);
}

Array take(const Array& x, const Array& positions, int axis) {
  require_positions("take", x, positions);
  const int along = axis_of("take", axis, x.rank());
  Shape shape;
  std::int64_t inner = 1;
  for (int i = 0; i < x.rank(); ++i) {
    if (i > along) inner *= x.shape()[i];
    if (i != along)
      shape.push_back(x.shape()[i]);
    else
      for (std::int64_t extent : positions.shape()) shape.push_back(extent);
  }
  const Array out = Array::empty(shape, x.dtype(), x.device());
  if (out.size() == 0) return out;
  if (x.shape()[along] == 0)
    throw ShapeError("take: there is nothing to take from axis " + std::to_string(along) + " of " +
                     to_string(x.shape()));
  gather(contiguous(x), contiguous(positions), out, x.shape()[along], inner);
  return out;
}

Array take(const Array& x, const Array& positions) {
  require("take", x);
  return take(ravel(x), positions, 0);
}

void put(const Array& x, const Array& positions, const Array& values) {
  require_positions("put", x, positions);
  require("put", values);
  check_writable("put", x);
  const Array wanted = values.to(x.device()).broadcast_to(positions.shape());
  const Array given = wanted.dtype() == x.dtype() ? wanted : astype(wanted, x.dtype());
  if (positions.size() == 0) return;
  const Array target = contiguous(x);
  scatter(target, contiguous(positions), given, x.size());
  if (target.data() != x.data()) copy_into(x, target);
}

}  // namespace damo
