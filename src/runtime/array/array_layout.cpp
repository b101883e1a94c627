#include "runtime/array/array_layout.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include <damo/array.hpp>

#include "runtime/backend.hpp"

namespace damo {
namespace {

struct Axis {
  std::int64_t extent, to, from;  // strides in elements
};

struct Axes {
  std::array<Axis, kMaxRank> axis;
  int count = 0;
};

// Axes of extent 1 dropped, the fastest of `to` last, neighbours that step as one axis merged.
Axes merged_axes(const Shape& shape, const Strides& to, const Strides& from) {
  Axes axes;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] != 1) axes.axis[axes.count++] = {shape[i], to[i], from[i]};
  }
  const auto magnitude = [](std::int64_t stride) { return stride < 0 ? -stride : stride; };
  std::sort(axes.axis.begin(), axes.axis.begin() + axes.count,
            [&](const Axis& a, const Axis& b) { return magnitude(a.to) > magnitude(b.to); });
  int kept = 0;
  for (int i = 0; i < axes.count; ++i) {
    const Axis& inner = axes.axis[i];
    Axis* outer = kept == 0 ? nullptr : &axes.axis[kept - 1];
    if (outer != nullptr && outer->to == inner.to * inner.extent && outer->from == inner.from * inner.extent) {
      *outer = {outer->extent * inner.extent, inner.to, inner.from};
    } else {
      axes.axis[kept++] = inner;
    }
  }
  axes.count = kept;
  return axes;
}

// Rows are the last axis, columns the one before. Tiles, as a transpose reads what it does not write in order: each
// cache line that is touched serves a whole tile.
template <std::size_t kBytes>
void copy_plane(const Axis& rows, const Axis& columns, std::byte* to, const std::byte* from) {
  constexpr std::int64_t kTile = 32, kSize = kBytes;
  for (std::int64_t row = 0; row < rows.extent; row += kTile) {
    const std::int64_t row_end = std::min(row + kTile, rows.extent);
    for (std::int64_t column = 0; column < columns.extent; column += kTile) {
      const std::int64_t column_end = std::min(column + kTile, columns.extent);
      for (std::int64_t i = row; i < row_end; ++i) {
        std::byte* t = to + (i * rows.to + column * columns.to) * kSize;
        const std::byte* f = from + (i * rows.from + column * columns.from) * kSize;
        for (std::int64_t j = column; j < column_end; ++j, t += columns.to * kSize, f += columns.from * kSize) {
          std::memcpy(t, f, kBytes);
        }
      }
    }
  }
}

void copy_plane(std::size_t item_bytes, const Axis& rows, const Axis& columns, std::byte* to, const std::byte* from) {
  if (columns.to == 1 && columns.from == 1) {
    const std::int64_t size = static_cast<std::int64_t>(item_bytes);
    for (std::int64_t i = 0; i < rows.extent; ++i) {
      std::memcpy(to + i * rows.to * size, from + i * rows.from * size,
                  item_bytes * static_cast<std::size_t>(columns.extent));
    }
    return;
  }
  switch (item_bytes) {
    case 1:
      return copy_plane<1>(rows, columns, to, from);
    case 2:
      return copy_plane<2>(rows, columns, to, from);
    case 4:
      return copy_plane<4>(rows, columns, to, from);
    default:
      return copy_plane<8>(rows, columns, to, from);
  }
}

}  // namespace

bool is_host(const Backend& backend) { return backend.kind() != DeviceKind::kCuda; }

ByteRange byte_range(const Shape& shape, const Strides& strides, std::size_t item_bytes) {
  std::int64_t lowest = 0, highest = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == 0) return {};
    (strides[i] < 0 ? lowest : highest) += (shape[i] - 1) * strides[i];
  }
  const std::int64_t size = static_cast<std::int64_t>(item_bytes);
  return {lowest * size, (highest + 1) * size};
}

bool is_dense(const Shape& shape, const Strides& strides) {
  std::array<std::pair<std::int64_t, std::int64_t>, kMaxRank> axes;  // stride, extent
  int count = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1) axes[count++] = {strides[i] < 0 ? -strides[i] : strides[i], shape[i]};
  }
  std::sort(axes.begin(), axes.begin() + count);
  std::int64_t expected = 1;
  for (int i = 0; i < count; ++i) {
    if (axes[i].first != expected) return false;
    expected *= axes[i].second;
  }
  return true;
}

std::string shared_places(const Shape& shape, const Strides& strides, const std::string& whose) {
  std::array<int, kMaxRank> axes;
  std::size_t count = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 0) return "";
    if (shape[axis] == 1) continue;
    if (strides[axis] == 0) return "axis " + std::to_string(axis) + " of " + whose + " is broadcast: its " + std::to_string(shape[axis]) + " elements are one";
    axes[count++] = axis;
  }
  const auto step = [&](int axis) { return strides[axis] < 0 ? -strides[axis] : strides[axis]; };
  std::sort(axes.begin(), axes.begin() + count, [&](int a, int b) { return step(a) < step(b); });
  std::int64_t reach = 0;
  for (const int axis : std::span(axes).first(count)) {
    if (step(axis) <= reach) {
      std::string steps;
      for (int each = 0; each < shape.rank(); ++each) steps += (each > 0 ? ", " : "") + std::to_string(strides[each]);
      return "elements of " + whose + " share places: its shape is " + to_string(shape) + ", its strides are (" + steps + ")";
    }
    reach += step(axis) * (shape[axis] - 1);
  }
  return "";
}

void copy_strided(std::size_t item_bytes, const Shape& shape, void* to, const Strides& to_strides, const void* from,
                  const Strides& from_strides) {
  if (shape.size() == 0) return;
  Axes axes = merged_axes(shape, to_strides, from_strides);
  while (axes.count < 2) {  // a plane needs two axes: put axes of extent 1 in front
    std::copy_backward(axes.axis.begin(), axes.axis.begin() + axes.count, axes.axis.begin() + axes.count + 1);
    axes.axis[0] = axes.count == 0 ? Axis{1, 1, 1} : Axis{1, 0, 0};
    ++axes.count;
  }
  // The plane's other axis is the one that reads fastest, so that a tile uses whole lines on both sides.
  const int outer = axes.count - 2;
  const auto fastest = std::min_element(
      axes.axis.begin(), axes.axis.begin() + outer + 1,
      [](const Axis& a, const Axis& b) { return (a.from < 0 ? -a.from : a.from) < (b.from < 0 ? -b.from : b.from); });
  if (axes.axis[outer + 1].from != 1) std::rotate(fastest, fastest + 1, axes.axis.begin() + outer + 1);
  std::array<std::int64_t, kMaxRank> index{};
  std::byte* t = static_cast<std::byte*>(to);
  const std::byte* f = static_cast<const std::byte*>(from);
  const std::int64_t size = static_cast<std::int64_t>(item_bytes);
  for (;;) {
    copy_plane(item_bytes, axes.axis[outer], axes.axis[outer + 1], t, f);
    int axis = outer - 1;
    for (; axis >= 0; --axis) {  // an odometer
      const Axis& a = axes.axis[axis];
      t += a.to * size;
      f += a.from * size;
      if (++index[axis] < a.extent) break;
      t -= a.to * size * a.extent;
      f -= a.from * size * a.extent;
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}

bool share_memory(const Array& a, const Array& b) {
  if (a.size() == 0 || b.size() == 0) return false;
  const auto [a_first, a_last] = a.address_range();
  const auto [b_first, b_last] = b.address_range();
  return a_first < b_last && b_first < a_last;
}

}  // namespace damo
