// Which kernels read an array amid its frame (FrameLayout), as `pad` would put it: elements are gone through as they lie, without tiles and turns, and not of several members in one launch; and the target's text can (Dialect::finds_frames).
// An element's place along each framed axis then says whether it is the array's or the value, for which nothing is read. A vector is moved as a whole where places before the array and its own are whole vectors along the last axis
// (ArgumentBlock), else as many elements a block apart. In a kernel with such an array none goes through tiles (classify), so whether one follows is known before arrays are.
// Who binds a kernel gives no other one such an array; BoundKernel refuses it.
// Tests: tests/runtime/kernel/framed_test.cpp, tests/function/pad_fusion_test.cpp.
#pragma once
#include "runtime/kernel/dialect.hpp"
#include "runtime/kernel/layout.hpp"
#include "runtime/kernel/spec.hpp"

namespace damo {

/// Whether code for the layout reads all arrays of the geometry that are framed; so it does where none is.
inline bool follows_frames(const KernelSpec& spec, const Layout& layout, const Geometry& geometry, const Dialect& dialect) {
  return geometry.framed.empty() || (dialect.finds_frames() && layout.form == Form::kElements && layout.tile_axis < 0 && !layout.joined && !spec.loop && !spec.reduces());
}

}  // namespace damo
