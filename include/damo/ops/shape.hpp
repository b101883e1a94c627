// Ops that change the shape. The first group are views, no kernel and no copy: elementwise ops read them where they lie. The
// second put tensors together: one write of the result. Parts by position are in ops/subtensor.hpp; Arrays have the same names
// in array_shape.hpp. Axes may be negative. All have gradients. ShapeError for axes that do not exist and extents that do not
// fit: when the graph is built where types tell, else at the call. See tests/ops/shape_test.cpp and tests/function/shape_test.cpp.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include <damo/axes.hpp>
#include <damo/variable.hpp>

namespace damo {

/// Axis i of the result is axis pattern[i] of x, or a new axis of extent 1 for kNewAxis. An axis that the pattern leaves
/// out must have the static extent 1. x: any dtype, rank r. Throws ShapeError for an axis that is missing, repeated, or
/// left out with another extent. Theano's dimshuffle.
Variable dimshuffle(const Operand& x, std::span<const int> pattern);
inline Variable dimshuffle(const Operand& x, std::initializer_list<int> pattern) {
  return dimshuffle(x, std::span(pattern.begin(), pattern.size()));
}
/// All axes in reverse order.
Variable transpose(const Operand& x);
/// A new axis of extent 1 at axis in [-rank-1, rank].
Variable expand_dims(const Operand& x, int axis);

/// Without those axes, whose types say 1; without all such unless told.
Variable squeeze(const Operand& x, const Axes& axes = {});
Variable swap_axes(const Operand& x, int a, int b);
/// Backwards along the axes.
Variable flip(const Operand& x, const Axes& axes = {});
/// x of that shape, where axes have its extents or 1, or are new on the left. An extent of -1: that of x.
Variable broadcast_to(const Operand& x, const Shape& shape);
/// The elements in C order in another shape of as many; one extent may be -1, what is left. Copies what is not contiguous.
Variable reshape(const Operand& x, const Shape& shape);
/// The axes from first to last as one; all of them: NumPy's ravel. Of rank 0: one element. Copies what is not contiguous.
Variable flatten(const Operand& x, int first = 0, int last = -1);
inline Variable ravel(const Operand& x) { return flatten(x); }
/// Parts of these sizes along an axis, which they fill.
std::vector<Variable> split(const Operand& x, std::span<const std::int64_t> sizes, int axis = 0);
inline std::vector<Variable> split(const Operand& x, std::initializer_list<std::int64_t> sizes, int axis = 0) {
  return split(x, std::span(sizes.begin(), sizes.size()), axis);
}

/// x in C order: x itself where its value is contiguous, else a copy. For ops whose kernels index without strides.
Variable contiguous(const Operand& x);

/// Along an axis that exists; the other extents agree. Of the promoted dtype. GraphError for no tensors.
Variable concatenate(std::span<const Variable> tensors, int axis = 0, SourceLine where = {__builtin_FILE(), __builtin_LINE()});
inline Variable concatenate(std::initializer_list<Variable> tensors, int axis = 0, SourceLine where = {__builtin_FILE(), __builtin_LINE()}) {
  return concatenate(std::span(tensors.begin(), tensors.size()), axis, where);
}
/// Along a new axis; all shapes are equal.
Variable stack(std::span<const Variable> tensors, int axis = 0, SourceLine where = {__builtin_FILE(), __builtin_LINE()});
inline Variable stack(std::initializer_list<Variable> tensors, int axis = 0, SourceLine where = {__builtin_FILE(), __builtin_LINE()}) {
  return stack(std::span(tensors.begin(), tensors.size()), axis, where);
}
/// Moved by shift along an axis; what leaves it comes in at the other end.
Variable roll(const Operand& x, std::int64_t shift, int axis);
/// x counts times side by side along each axis, aligned at the last; more counts than axes add axes on the left.
Variable tile(const Operand& x, std::span<const std::int64_t> counts);
inline Variable tile(const Operand& x, std::initializer_list<std::int64_t> counts) { return tile(x, std::span(counts.begin(), counts.size())); }
/// Each element along the axis count times in a row.
Variable repeat(const Operand& x, std::int64_t count, int axis);
/// widths of each axis, of a value before and after x. value: a number, or a Variable of rank 0.
Variable pad(const Operand& x, std::span<const PadWidth> widths, const Operand& value = 0);
inline Variable pad(const Operand& x, std::initializer_list<PadWidth> widths, const Operand& value = 0) {
  return pad(x, std::span(widths.begin(), widths.size()), value);
}

}  // namespace damo
