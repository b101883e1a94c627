#include "runtime/kernel/layout.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "runtime/array/array_layout.hpp"
#include "runtime/kernel/short_integers.hpp"

namespace damo {
namespace {

constexpr std::int64_t kNarrowLimit = std::int64_t{1} << 31;
constexpr std::int64_t kNarrowPlaces = kNarrowLimit - (1 << 20);  // room for one step of a block past the end
constexpr std::int64_t kFlatTile = 1024;  // places along both axes, where one has few

Strides broadcast_strides(const Shape& space, ArrayLayout array) {
  Strides strides = Shape::filled(space.rank(), 0);
  const int missing = space.rank() - array.shape->rank();
  for (int i = 0; i < array.shape->rank(); ++i) {
    if ((*array.shape)[i] != 1) strides[missing + i] = (*array.strides)[i];
  }
  return strides;
}

bool can_merge(const std::vector<Strides>& strides, int outer, int inner, std::int64_t inner_extent) {
  return std::all_of(strides.begin(), strides.end(), [&](const Strides& s) { return s[outer] == s[inner] * inner_extent; });
}

/// These axes of the space, outermost first. apart: bit a of axis a, which collapses with no other.
CollapsedAxes collapse(const Shape& space, const std::vector<int>& axes, const std::vector<Strides>& full, std::uint32_t apart) {
  CollapsedAxes collapsed;
  collapsed.strides.resize(full.size());
  int last = -1;  // the axis appended last, which the next one may merge with
  for (int axis : axes) {
    collapsed.count *= space[axis];
    if (space[axis] == 1 && (apart >> axis & 1u) == 0) continue;
    const bool merges = last >= 0 && ((apart >> last | apart >> axis) & 1u) == 0 && can_merge(full, last, axis, space[axis]);
    if (merges) collapsed.extents[-1] *= space[axis];
    else collapsed.extents.push_back(space[axis]);
    for (std::size_t i = 0; i < full.size(); ++i) {
      if (merges) collapsed.strides[i][-1] = full[i][axis];
      else collapsed.strides[i].push_back(full[i][axis]);
    }
    last = axis;
  }
  if (collapsed.extents.empty()) {
    collapsed.extents.push_back(1);
    for (Strides& s : collapsed.strides) s.push_back(0);
  }
  return collapsed;
}

Access access_of(const Shape& extents, const Strides& strides) {
  const bool scalar = std::all_of(strides.begin(), strides.end(), [](std::int64_t s) { return s == 0; });
  if (is_contiguous(extents, strides)) return Access::kDense;  // one element too: index 0 is all there is
  if (scalar) return Access::kScalar;
  if (strides[-1] == 1) return Access::kRow;
  return strides[-1] == 0 ? Access::kRepeat : Access::kStrided;
}

/// Layout::tile_inner, or tile_other.
int few_places(std::int64_t extent) { return extent < kManyPlaces ? static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(extent))) : 0; }

/// The axis along which a strided array is contiguous, if a tile pays; -1 otherwise.
int tile_axis_of(const Shape& extents, const Strides& strides, std::int64_t shortest) {
  const std::int64_t inner = extents[-1];
  for (int axis = extents.rank() - 2; axis >= 0; --axis) {
    if (strides[axis] != 1) continue;
    const std::int64_t other = extents[axis], few = std::min(inner, other), many = std::max(inner, other);
    if (few >= shortest && (few >= kManyPlaces || many * few_places(few) >= kFlatTile)) return axis;
  }
  return -1;
}

bool reaches_limit(const Geometry& geometry) {
  if (geometry.count >= kNarrowLimit) return true;
  for (const Strides& strides : geometry.strides) {
    std::int64_t reach = 0;
    for (int i = 0; i < strides.rank(); ++i) reach += std::abs(strides[i]) * std::max<std::int64_t>(geometry.extents[i] - 1, 0);
    if (reach >= kNarrowLimit) return true;
  }
  return false;
}

}  // namespace

bool Layout::is_flat() const {
  return std::all_of(access.begin(), access.end(), [](Access a) { return a == Access::kDense || is_scalar(a); });
}

std::string to_string(const Layout& layout) {
  static constexpr const char* names[] = {"scalar", "value", "dense", "row", "repeat", "strided", "transposed", "every-row", "steady", "interleaved"};
  std::string text = "r" + std::to_string(layout.rank) + (layout.wide ? " wide" : "") + (layout.in_place ? " in_place" : "") + (layout.joined ? " joined" : "");
  if (layout.tile_axis >= 0) text += " tile" + std::to_string(layout.tile_axis);
  if (layout.tile_inner > 0) text += " last of " + std::to_string(layout.tile_inner);
  if (layout.tile_other > 0) text += " of " + std::to_string(layout.tile_other);
  if (layout.places > 0) text += ", " + std::to_string(layout.places) + " places, " + std::to_string(layout.items) + " vectors of " + std::to_string(layout.vector) + (layout.aligned ? "," : ", not aligned,");
  for (std::size_t i = 0; i < layout.access.size(); ++i) text += (layout.is_taken(static_cast<int>(i)) ? " taken " : layout.frame_of(static_cast<int>(i)) ? " framed "
                                                                                                                                                          : " ") +
                                                                 std::string(layout.is_unbroken(static_cast<int>(i)) ? "unbroken " : "") + std::string(names[static_cast<int>(layout.access[i])]);
  if (!layout.digits.empty()) text += ", integers of";
  for (int digits : layout.digits) text += " " + std::to_string(digits);
  if (!layout.digits.empty()) text += " digits";
  if (layout.form == Form::kElements) return text;
  text += std::string(layout.form == Form::kRows ? ", rows" : ", columns") + " of r" + std::to_string(layout.reduced_rank) + ", " +
          std::to_string(layout.lanes) + " lanes of " + std::to_string(layout.items);
  if (layout.vector > 1) text += " vectors of " + std::to_string(layout.vector);
  if (layout.rows_each > 0) text += ", " + std::to_string(layout.rows_each) + " rows each";
  if (layout.beside > 0) text += ", " + std::to_string(layout.beside) + " beside each other";
  if (layout.cluster > 1) text += " in " + std::to_string(layout.cluster) + " blocks";
  if (layout.ahead > 0) text += " that stay, " + std::to_string(layout.ahead) + " ahead";
  text += layout.ends == Ends::kTiles ? ", even" : layout.ends == Ends::kVectors ? ", of vectors" : "";
  text += std::string(layout.turned ? ", turned" : "") + (layout.pieces ? ", in pieces" : "") + (layout.whole ? ", whole" : "") + (layout.staged ? ", staged" : "") + (layout.chunked ? ", in chunks" : "") + (layout.batched ? ", of some rows" : "") + (layout.aligned ? "" : ", not aligned");
  return text;
}

ByteRange range_of(const ArrayLayout& array, std::size_t item_bytes) {
  ByteRange range = byte_range(array.frame ? array.frame->extents : *array.shape, *array.strides, item_bytes);
  if (!array.taken || range.bytes() == 0) return range;
  const std::int64_t last = std::max<std::int64_t>(array.taken->extent - 1, 0) * array.taken->apart * static_cast<std::int64_t>(item_bytes);
  return {range.first + std::min<std::int64_t>(last, 0), range.last + std::max<std::int64_t>(last, 0)};
}

Geometry::Geometry(const Shape& space, std::span<const ArrayLayout> arrays, std::uint32_t reduced_axes, bool in_order, std::span<const int> across) {
  std::vector<Strides> full;
  for (const ArrayLayout& array : arrays) full.push_back(broadcast_strides(space, array));
  std::vector<int> axes[2];
  for (int axis = 0; axis < space.rank(); ++axis) axes[reduced_axes >> axis & 1u].push_back(axis);
  const auto moves = [&](const Strides& s) { return std::any_of(axes[1].begin(), axes[1].end(), [&](int axis) { return s[axis] != 0; }); };
  const auto is_taken_along = [&](const ArrayLayout& array) { return array.taken && moves(broadcast_strides(space, {&array.taken->shape, &array.taken->strides})); };
  std::size_t lead = 0;
  while (lead < full.size() && !moves(full[lead]) && !is_taken_along(arrays[lead])) ++lead;
  // A copy of what is taken would lie in the space's order.
  if (const auto leads = full.begin() + static_cast<std::ptrdiff_t>(lead); !in_order && leads != full.end() && !is_taken_along(arrays[lead])) {
    std::stable_sort(axes[1].begin(), axes[1].end(), [&](int a, int b) { return std::abs((*leads)[a]) > std::abs((*leads)[b]); });
  }
  const auto tells_apart = [&](const auto& strides, int axis) { return std::any_of(across.begin(), across.end(), [&](int array) { return strides[static_cast<std::size_t>(array)][axis] != 0; }); };
  std::stable_partition(axes[0].begin(), axes[0].end(), [&](int axis) { return tells_apart(full, axis); });
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (!arrays[i].taken) continue;
    taken.push_back({static_cast<int>(i), arrays[i].taken->apart, {}, {}});
    full.push_back(broadcast_strides(space, {&arrays[i].taken->shape, &arrays[i].taken->strides}));
  }
  std::uint32_t apart = 0;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const FrameLayout* frame = arrays[i].frame;
    if (!frame) continue;
    const int missing = space.rank() - frame->extents.rank();
    Strides before = Shape::filled(space.rank(), 0), extents = before;
    for (int axis = 0; axis < frame->extents.rank(); ++axis) {
      if (frame->extents[axis] == (*arrays[i].shape)[axis]) continue;
      const bool is_empty = frame->extents[axis] == 0;  // then no place is one of its
      before[missing + axis] = is_empty ? space[missing + axis] : frame->before[axis];
      extents[missing + axis] = is_empty ? 1 : frame->extents[axis];
      apart |= std::uint32_t{1} << (missing + axis);
    }
    full.push_back(std::move(before));
    full.push_back(std::move(extents));
    framed.push_back({{static_cast<int>(i), 0}, {}, {}, frame->bits});
  }
  static_cast<CollapsedAxes&>(*this) = collapse(space, axes[0], full, apart);
  reduced = collapse(space, axes[1], full, apart);
  for (auto of = framed.rbegin(); of != framed.rend(); ++of) {
    of->extents = std::move(strides.back());
    of->before = std::move(strides[strides.size() - 2]);
    for (int axis = 0; axis < of->extents.rank(); ++axis) of->axes |= static_cast<std::uint32_t>(of->extents[axis] != 0) << (of->extents.rank() - 1 - axis);
    strides.resize(strides.size() - 2);
    reduced.strides.resize(reduced.strides.size() - 2);
  }
  std::erase_if(framed, [](const FramedAxes& frame) { return frame.axes == 0; });  // there is nothing around it
  for (auto of = taken.rbegin(); of != taken.rend(); ++of) {
    of->kept = std::move(strides.back());
    of->reduced = std::move(reduced.strides.back());
    strides.pop_back();
    reduced.strides.pop_back();
  }
  for (int axis = 0; axis < extents.rank(); ++axis) joined *= tells_apart(strides, axis) ? 1 : extents[axis];
}

namespace {

void mark_taken(Layout& layout, const Geometry& geometry) {
  for (const TakenAxes& taken : geometry.taken) layout.taken.push_back(taken.array);
}

/// How a framed array lies within its frame. Nothing of it may be told from strides alone that is not so in the frame.
Access framed_access(Access access) { return access == Access::kRow || access == Access::kDense ? Access::kRow : Access::kStrided; }

}  // namespace

Layout classify(const Geometry& geometry, int first_output, std::int64_t shortest_tile) {
  Layout layout;
  layout.rank = geometry.extents.rank();
  layout.wide = reaches_limit(geometry) || geometry.longest_table >= kNarrowLimit;
  mark_taken(layout, geometry);
  layout.framed.assign(geometry.framed.begin(), geometry.framed.end());
  for (std::size_t i = 0; i < geometry.strides.size(); ++i) {
    Access access = access_of(geometry.extents, geometry.strides[i]);
    const bool is_taken = layout.is_taken(static_cast<int>(i));
    if (layout.frame_of(static_cast<int>(i))) {
      layout.access.push_back(framed_access(access));
      continue;
    }
    if (is_taken && access == Access::kDense) access = Access::kRow;  // one slice alone is found at its position too
    if (access == Access::kStrided && static_cast<int>(i) < first_output && !is_taken && layout.framed.empty()) {
      const int axis = tile_axis_of(geometry.extents, geometry.strides[i], shortest_tile);
      if (axis >= 0 && (layout.tile_axis < 0 || layout.tile_axis == axis)) {
        layout.tile_axis = axis;
        access = Access::kTransposed;
      }
    }
    layout.access.push_back(access);
  }
  if (layout.tile_axis >= 0) layout.tile_inner = few_places(geometry.extents[-1]), layout.tile_other = few_places(geometry.extents[layout.tile_axis]);
  return layout;
}

namespace {

bool is_zero(const Strides& strides) {
  return std::all_of(strides.begin(), strides.end(), [](std::int64_t s) { return s == 0; });
}

/// Whether positions along reduced axes say which slice of an array that is taken an element lies in.
bool moves_at_positions(const Geometry& geometry, std::size_t array) {
  return std::any_of(geometry.taken.begin(), geometry.taken.end(), [&](const TakenAxes& taken) { return static_cast<std::size_t>(taken.array) == array && !is_zero(taken.reduced); });
}

std::int64_t reach(const CollapsedAxes& axes, std::size_t array) {
  std::int64_t sum = 0;
  for (int i = 0; i < axes.extents.rank(); ++i) sum += std::abs(axes.strides[array][i]) * std::max<std::int64_t>(axes.extents[i] - 1, 0);
  return sum;
}

/// Whether neighbours of the first array that the reduction goes along lie along a kept axis.
bool has_columns(const Geometry& geometry) {
  for (std::size_t i = 0; i < geometry.strides.size(); ++i) {
    const std::int64_t kept = std::abs(geometry.strides[i][-1]), reduced = std::abs(geometry.reduced.strides[i][-1]);
    if (reduced != 0) return kept != 0 && kept < reduced;
    if (moves_at_positions(geometry, i)) return kept != 0;  // from slice to slice
  }
  return false;
}

}  // namespace

Layout classify_reducing(const Geometry& geometry) {
  Layout layout;
  layout.rank = geometry.extents.rank();
  layout.reduced_rank = geometry.reduced.extents.rank();
  layout.form = has_columns(geometry) ? Form::kColumns : Form::kRows;
  layout.wide = geometry.longest_table >= kNarrowLimit || geometry.count >= kNarrowPlaces || geometry.reduced.count >= kNarrowPlaces;
  layout.batched = geometry.joined < geometry.count;
  mark_taken(layout, geometry);
  for (std::size_t i = 0; i < geometry.strides.size(); ++i) {
    const Strides &kept = geometry.strides[i], &reduced = geometry.reduced.strides[i];
    layout.wide |= reach(geometry, i) + reach(geometry.reduced, i) >= kNarrowLimit;
    if (is_zero(reduced) && !moves_at_positions(geometry, i)) layout.access.push_back(is_zero(kept) ? Access::kScalar : Access::kRepeat);
    else layout.access.push_back((layout.form == Form::kRows ? reduced[-1] : kept[-1]) == 1 ? Access::kRow : Access::kStrided);
  }
  return layout;
}

void mark_every_row(Layout& layout, const Geometry& geometry, int inputs) {
  if (layout.form != Form::kRows || geometry.count < 2) return;
  for (std::size_t i = 0; i < static_cast<std::size_t>(inputs); ++i) {
    if (layout.access[i] == Access::kRow && is_zero(geometry.strides[i]) && !layout.is_taken(static_cast<int>(i))) layout.access[i] = Access::kEveryRow;
  }
}

void mark_steady(Layout& layout, const Geometry& geometry, int inputs) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(inputs); ++i) {
    const Strides& innermost = layout.form == Form::kRows ? geometry.reduced.strides[i] : geometry.strides[i];
    if (layout.access[i] == Access::kStrided && innermost[-1] == 0) layout.access[i] = Access::kSteady;
  }
}

void mark_unbroken(Layout& layout, const Geometry& geometry) {
  const Shape& extents = geometry.reduced.extents;
  layout.unbroken.clear();
  if (layout.form != Form::kRows || extents.rank() < 2) return;
  for (std::size_t i = 0; i < layout.access.size(); ++i) {
    if (layout.access[i] != Access::kRow && layout.access[i] != Access::kEveryRow) continue;
    const Strides& strides = geometry.reduced.strides[i];
    bool composes = true;
    for (int axis = extents.rank() - 1; axis > 0; --axis) composes &= strides[axis - 1] == strides[axis] * extents[axis];
    if (composes) layout.unbroken.push_back(static_cast<int>(i));
  }
}

namespace {

constexpr std::int64_t kSmallCount = 1 << 16;  // below it a compile costs more than thousands of slower calls

bool serves(Access code, Access data, bool small) {
  if (code == data) return true;
  switch (code) {
    case Access::kRow: return data == Access::kDense;
    case Access::kRepeat: return data == Access::kScalar;
    case Access::kStrided: return small;
    default: return false;
  }
}

}  // namespace

bool serves(const Layout& code, const Layout& data, std::int64_t count) {
  if (code == data) return true;
  if (code.tile_axis >= 0 || data.tile_axis >= 0 || code.form != Form::kElements || data.form != Form::kElements) return false;
  if (code.joined || data.joined || code.rank < data.rank || (data.wide && !code.wide) || code.access.size() != data.access.size()) return false;
  if (code.taken != data.taken || code.framed != data.framed || code.aligned != data.aligned || !digits_serve(code.digits, data.digits)) return false;
  // Code that may not assume that its arrays are apart is right for all, and slower.
  if (code.in_place != data.in_place && (data.in_place || count >= kSmallCount)) return false;
  if (count <= 1) return true;  // element 0 of everything
  for (std::size_t i = 0; i < data.access.size(); ++i) {
    if (!serves(code.access[i], data.access[i], count < kSmallCount)) return false;
  }
  return true;
}

Geometry with_rank(Geometry geometry, int rank) {
  while (geometry.extents.rank() < rank) {
    geometry.extents.insert(0, 1);
    for (Strides& strides : geometry.strides) strides.insert(0, 0);
    for (TakenAxes& taken : geometry.taken) taken.kept.insert(0, 0);
    for (FramedAxes& frame : geometry.framed) frame.before.insert(0, 0), frame.extents.insert(0, 0);
  }
  return geometry;
}

}  // namespace damo
