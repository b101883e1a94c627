#include <damo/array_shape.hpp>

#include <algorithm>
#include <array>
#include <numeric>
#include <span>

#include <damo/array_math.hpp>

#include "graph/base/counted.hpp"
#include "ops/both_worlds.hpp"
#include "ops/concatenate_op.hpp"
#include "ops/dimshuffle_op.hpp"
#include "ops/eager/index_kernels.hpp"
#include "ops/eager/overlap.hpp"
#include "ops/indexing/positions.hpp"
#include "ops/padded_extent.hpp"
#include "ops/reshape_op.hpp"
#include "runtime/array/array_layout.hpp"

namespace damo {
namespace {

std::vector<Shape> shapes_of(std::span<const Array> arrays) {
  std::vector<Shape> shapes;
  for (const Array& array : arrays) shapes.push_back(array.shape());
  return shapes;
}

void require_positions(const char* name, const Array& x, const Array& positions) {
  given_array(name, x);
  given_array(name, positions);
  if (!is_integer(positions.dtype())) {
    throw TypeError(std::string(name) + ": positions are integers, these are " + describe(positions),
                    "astype(positions, int64)");
  }
  if (!(x.device() == positions.device()))
    throw DeviceError(std::string(name) + ": " + describe(x) + " with positions " + describe(positions),
                      "move one of them: x.to(device)");
}

/// x within what make(the padded shape) gives.
template <class Make>
Array padded(const Array& x, std::span<const PadWidth> widths, const Make& make) {
  if (static_cast<int>(widths.size()) != x.rank()) {
    throw ShapeError("pad: " + std::to_string(widths.size()) + " widths for " + counted_axes(x.rank()),
                     "give one for each axis; {} adds nothing");
  }
  Shape shape = x.shape();
  std::vector<Slice> inside;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const PadWidth& width = widths[static_cast<std::size_t>(axis)];
    if (width.before < 0 || width.after < 0) throw ShapeError("pad: a width is below 0", "slice makes an array smaller");
    const std::int64_t extent = padded_extent("pad", shape[axis], width, axis);
    inside.push_back({width.before, width.before + shape[axis]});
    shape[axis] = extent;
  }
  const Array around = make(shape);
  assign(around.slice(inside), x);
  return around;
}

}  // namespace

Array dimshuffle(const Array& x, std::span<const int> pattern) {
  given_array("dimshuffle", x);
  const DimShuffleOp op({pattern.begin(), pattern.end()});
  asked_at_once("dimshuffle", [&] { op.check(x.shape()); }, x);
  const Op::Layout layout = op.turned({x.shape(), x.strides(), 0});
  return x.view(x.dtype(), layout.shape, layout.strides, 0);
}

Array squeeze(const Array& x, const Axes& axes) {
  given_array("squeeze", x);
  const std::uint32_t mask = asked_at_once("squeeze", [&] { return axes.mask(x.rank(), "squeeze"); }, x);
  Shape shape;
  Strides strides;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if ((mask >> axis & 1u) && x.shape()[axis] == 1) continue;
    if ((mask >> axis & 1u) && !axes.is_all()) asked_at_once("squeeze", [&] { DimShuffleOp::require_one(x.shape(), axis); }, x);
    shape.push_back(x.shape()[axis]);
    strides.push_back(x.strides()[axis]);
  }
  return x.view(x.dtype(), shape, strides, 0);
}

Array expand_dims(const Array& x, int axis) {
  given_array("expand_dims", x);
  const int at = normalize_axis("expand_dims", axis, x.rank() + 1, "the result");
  Shape shape = x.shape();
  Strides strides = x.strides();
  shape.insert(at, 1);
  strides.insert(at, 0);
  return x.view(x.dtype(), shape, strides, 0);
}

Array flip(const Array& x, const Axes& axes) {
  given_array("flip", x);
  const std::uint32_t mask = axes.mask(x.rank(), "flip");
  std::vector<Slice> slices(static_cast<std::size_t>(x.rank()));
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (mask >> axis & 1u) slices[static_cast<std::size_t>(axis)].step = -1;
  }
  return x.slice(slices);
}

Array swap_axes(const Array& x, int a, int b) {
  given_array("swap_axes", x);
  std::array<int, kMaxRank> order;
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<std::size_t>(normalize_axis("swap_axes", a, x.rank()))],
            order[static_cast<std::size_t>(normalize_axis("swap_axes", b, x.rank()))]);
  return x.permute(std::span(order).first(static_cast<std::size_t>(x.rank())));
}

Array contiguous(const Array& x) {
  given_array("contiguous", x);
  return x.is_contiguous() ? x : packed_copy(x);
}

Array specify_shape(const Array& x, const Shape& shape) {
  given_array("specify_shape", x);
  asked_at_once("specify_shape", [&] { specified_shape(x.shape(), shape); }, x);
  return x;
}

Array ravel(const Array& x) { return contiguous(x).reshape({-1}); }

Array concatenate(std::span<const Array> arrays, int axis) {
  std::vector<Promotable> dtypes;
  for (const Array& array : arrays) dtypes.push_back({given_array("concatenate", array).dtype()});
  const std::vector<Shape> shapes = shapes_of(arrays);
  const auto [along, shape] = asked_at_once("concatenate", [&] {
    const int axis_from_0 = concatenated_axis(shapes, axis);
    return std::pair(axis_from_0, side_by_side(shapes, axis_from_0));
  }, arrays);
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
  for (const Array& array : arrays) given_array("stack", array);
  const int at = asked_at_once("stack", [&] { return stacked_axis(shapes_of(arrays), axis); }, arrays);
  std::vector<Array> expanded;
  for (const Array& array : arrays) expanded.push_back(expand_dims(array, at));
  return concatenate(expanded, at);
}

Array flatten(const Array& x, int first, int last) {
  given_array("flatten", x);
  if (x.rank() == 0) return x.reshape({1});
  const auto [from, to] = asked_at_once("flatten", [&] { return flattened_axes(first, last, x.rank()); }, x);
  Shape shape, merged;
  for (int axis = 0; axis < x.rank(); ++axis) (axis >= from && axis <= to ? merged : shape).push_back(x.shape()[axis]);
  shape.insert(from, merged.size());
  return contiguous(x).reshape(shape);
}

std::vector<Array> split(const Array& x, std::span<const std::int64_t> sizes, int axis) {
  given_array("split", x);
  const int along = asked_at_once("split", [&] {
    const int axis_from_0 = normalize_axis("split", axis, x.rank());
    require_parts(sizes, axis_from_0, x.shape()[axis_from_0]);
    return axis_from_0;
  }, x);
  std::vector<Slice> slices(static_cast<std::size_t>(x.rank()));
  std::vector<Array> parts;
  std::int64_t first = 0;
  for (std::int64_t size : sizes) {
    slices[static_cast<std::size_t>(along)] = {first, first + size};
    parts.push_back(x.slice(slices));
    first += size;
  }
  return parts;
}

Array roll(const Array& x, std::int64_t shift, int axis) {
  given_array("roll", x);
  const int along = normalize_axis("roll", axis, x.rank());
  const std::int64_t extent = x.shape()[along];
  if (extent == 0) return x.copy();
  const std::int64_t by = (shift % extent + extent) % extent;
  const std::int64_t sizes[] = {extent - by, by};
  const std::vector<Array> parts = split(x, sizes, along);
  return concatenate({parts[1], parts[0]}, along);
}

Array tile(const Array& x, std::span<const std::int64_t> counts) {
  given_array("tile", x);
  return asked_at_once("tile", [&] {
    // x: (a, b). Each axis gets one of its own for the count, (1, a, 1, b), which stretches; then the pairs become one.
    const int rank = std::max(x.rank(), static_cast<int>(counts.size()));
    Shape apart, stretched;
    for (int axis = 0; axis < rank; ++axis) {
      const int of_x = axis - (rank - x.rank()), of_counts = axis - (rank - static_cast<int>(counts.size()));
      const std::int64_t count = of_counts < 0 ? 1 : counts[static_cast<std::size_t>(of_counts)], extent = of_x < 0 ? 1 : x.shape()[of_x];
      if (count < 0) throw ShapeError("tile: a count is " + std::to_string(count), "counts are 0 or more");
      apart.push_back(1), apart.push_back(extent);
      stretched.push_back(count), stretched.push_back(extent);
    }
    const Array copies = contiguous(x.reshape(apart).broadcast_to(stretched));
    Shape tiled;
    for (int axis = 0; axis < rank; ++axis) tiled.push_back(Shape{stretched[2 * axis], stretched[2 * axis + 1]}.size());
    return copies.reshape(tiled);
  }, x);
}

Array repeat(const Array& x, std::int64_t count, int axis) {
  given_array("repeat", x);
  return asked_at_once("repeat", [&] {
    const int along = normalize_axis("repeat", axis, x.rank());
    if (count < 0) throw ShapeError("repeat: the count is " + std::to_string(count), "it is 0 or more");
    Shape stretched = x.shape();
    stretched.insert(along + 1, count);
    const Array copies = contiguous(expand_dims(x, along + 1).broadcast_to(stretched));
    Shape repeated = x.shape();
    repeated[along] = Shape{x.shape()[along], count}.size();
    return copies.reshape(repeated);
  }, x);
}

Array pad(const Array& x, std::span<const PadWidth> widths, Scalar value) {
  given_array("pad", x);
  if (is_integer(value.dtype()) && is_integer(x.dtype()) && !value.fits(x.dtype())) {
    throw TypeError("pad: " + to_string(value) + " does not fit " + std::string(name(x.dtype())), "astype x to a wider dtype");
  }
  return padded(x, widths, [&](const Shape& shape) { return Array::full(shape, value, x.dtype(), x.device()); });
}

Array pad(const Array& x, std::span<const PadWidth> widths, const Array& value) {
  given_array("pad", x);
  given_array("pad", value);
  if (value.rank() != 0) throw ShapeError("pad: the value is " + describe(value), "give a number, or an Array of rank 0");
  return padded(x, widths, [&](const Shape& shape) {
    const Array filled = Array::empty(shape, x.dtype(), x.device());
    assign(filled, value);
    return filled;
  });
}

Array take(const Array& x, const Array& positions, int axis) {
  return asked_at_once("take", [&] {
    require_positions("take", x, positions);
    const int along = normalize_axis("take", axis, x.rank());
    const Array out = Array::empty(taken_shape(x.shape(), positions.shape(), along, 1), x.dtype(), x.device());
    if (out.size() == 0) return out;
    if (x.shape()[along] == 0) refuse_empty_axis("take", along);
    gather(contiguous(x), contiguous(checked_positions("take", positions, along, x.shape()[along], 0)), out, along, 1);
    return out;
  }, x, positions);
}

Array take(const Array& x, const Array& positions) {
  given_array("take", x);
  return take(ravel(x), positions, 0);
}

void put(const Array& x, const Array& positions, const Array& values) {
  require_positions("put", x, positions);
  given_array("put", values);
  require_fits_part("put", positions.shape(), values.shape(), values.shape());
  check_writable("put", x);
  const Array moved = values.to(x.device());
  // A place may be written before a value is read from it, even where both are the same Array: positions come in any order.
  const Array given = (moved.dtype() == x.dtype() && !share_memory(x, moved) ? moved : packed_copy(moved, x.dtype())).broadcast_to(positions.shape());
  if (positions.size() == 0) return;
  const Array target = contiguous(x);
  const Array at = contiguous(checked_positions("put", positions, 0, x.size(), -1));
  scatter(ScatterKind::kSet, given, at, ravel(target), 0, 1, true);
  if (target.data() != x.data()) copy_into(x, target);
}

}  // namespace damo
