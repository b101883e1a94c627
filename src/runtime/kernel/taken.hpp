// Which kernels find the slices of a taken array where its positions say, and which are given a copy that lies in C order.
//
// In a kernel's space a taken array has the strides of its slices, and positions have one element a slice: what is read lies at positions[p] * apart + what its strides say. So a kernel
// follows positions where each row of its innermost loop, or each row that it reduces, lies in one slice: it then finds the row once, and reads it as it reads any other. Of columns it finds the slice anew with each element of the
// column, for all neighbouring columns that a thread has: a sum of what is taken reads each slice once. The condition:
//   - elements are gone through as they lie (Form::kElements without tiles, and not of several members in one launch), or rows are reduced one by one (Form::kRows without runs and tiles), or columns (Form::kColumns
//     without tiles, blocks that read ahead, clusters, rows that are turned, and pieces): not scans, not joins across rows, and not what CUDA C of a user's reduces;
//   - positions have one element for a whole row: none lies along the innermost axis of elements, nor along one that is reduced, nor of columns along the innermost one that is kept;
//   - neighbours along that axis are neighbours in the slice (Access::kRow), and no fewer than kLeastSliceBytes: of shorter rows finding them takes longer than reading them from a copy.
// A kernel that follows positions computes what it would of a copy, in the same order but for sums on a GPU of rows that lie without gaps in a copy and are short (Layout::rows_each), or begin within a vector.
// It reads a slice as often as positions name it, as who writes a copy does, and each element as often as it would read the copy: so it spares the writing of the copy, and a reading. Who binds a kernel asks, and makes the copy otherwise (ops/kernel_thunk.cpp); BoundKernel refuses what no kernel follows.
// Tests: tests/runtime/kernel/taken_test.cpp, tests/function/take_fusion_test.cpp.
#pragma once
#include <algorithm>
#include <cstdint>

#include "runtime/kernel/layout.hpp"
#include "runtime/kernel/spec.hpp"

namespace damo {

inline constexpr std::int64_t kLeastSliceBytes = 64;  ///< that lie beside each other: a line of the cache

/// Whether code for the layout finds all arrays of the geometry that are taken; so it does where none is.
inline bool follows_positions(const KernelSpec& spec, const Layout& layout, const Geometry& geometry) {
  if (geometry.taken.empty()) return true;
  const bool elements = layout.form == Form::kElements, columns = layout.form == Form::kColumns;
  if (elements ? layout.tile_axis >= 0 || layout.joined || spec.loop : layout.rows_each > 0 || layout.beside > 0 || spec.scans() || spec.users_text) return false;
  if (columns && (layout.turned || layout.pieces || layout.ahead > 0 || layout.cluster > 1 || spec.joins_across())) return false;
  const std::int64_t along = elements || columns ? geometry.extents[-1] : geometry.reduced.extents[-1];
  return std::all_of(geometry.taken.begin(), geometry.taken.end(), [&](const TakenAxes& taken) {
    const bool moves = elements || columns ? taken.kept[-1] != 0 : std::any_of(taken.reduced.begin(), taken.reduced.end(), [](std::int64_t stride) { return stride != 0; });
    return !moves && layout.access[static_cast<std::size_t>(taken.array)] == Access::kRow && along * spec.element_bytes(taken.array) >= kLeastSliceBytes;
  });
}

}  // namespace damo
