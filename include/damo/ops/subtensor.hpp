// Parts of a tensor by position, and tensors in which a part is another one. What Python writes in brackets (index.hpp); Arrays have the same in
// array_subtensor.hpp:
//
//   subtensor(x, {0, {1, 5}, {}})            x[0, 1:5, :]     rank one less for each position
//   subtensor(x, {{std::nullopt, std::nullopt, -1}})   x[::-1]
//   subtensor(x, {i, {}, j})                 x[i, :, j]       i, j: tensors of integers
//   set_subtensor(x, {{2, 4}}, y)            x, but y at x[2:4]
//   inc_subtensor(x, {i, j}, y)              x, with y added at each x[i, j], as often as it is named
//
// Slices are clipped to the axis, as Python's; a position must be on it: ShapeError when the graph is built where the extent is
// known, else at the call. Negative positions and bounds count from the end. Of positions, slices, new axes and ellipses a subtensor is a view: no
// kernel, no memory. The two others are functions: x stays as it is where somebody else needs it, and is written in place where nobody does.
//
// Tensors among the indices are NumPy's advanced indexing: integers of any dtype stretch to a common shape, where their types say 1, and each place in it
// names one element of their axes; a mask stands for nonzero(mask). The common shape takes the place of these axes, or stands in front where a slice, a
// new axis or an ellipsis lies between them; beside tensors a position counts as one. A position beyond its axis is an IndexError: on a CPU at the
// call, on a GPU from the next call of the function or from whoever waits for the device. Where elements are named more than once, set_subtensor
// keeps the last in C order, and inc_subtensor adds all in this order: the same bits at every call. Both, and the gradient of such a subtensor, sort
// the positions. See tests/ops/shape_test.cpp, tests/function/shape_test.cpp and tests/function/advanced_indexing_test.cpp.
#pragma once
#include <initializer_list>
#include <span>

#include <damo/index.hpp>
#include <damo/variable.hpp>

namespace damo {

/// x: any dtype, at least as many axes as indices; axes beyond them are kept whole. ShapeError for more indices than axes, a step
/// of 0, a position beyond the axis, and integers whose shapes do not fit together; TypeError for tensors that are neither integers nor bools. With tensors
/// the elements are copied, each read and written once; their positions are first checked, a kernel a tensor.
Variable subtensor(const Operand& x, std::span<const AnyIndex<Variable>> indices);
Variable subtensor(const Operand& x, std::span<const Index> indices);
inline Variable subtensor(const Operand& x, std::initializer_list<AnyIndex<Variable>> indices) {
  return subtensor(x, std::span(indices.begin(), indices.size()));
}

/// x with y in the place of x[indices]. y: a number or a tensor that broadcasts to that part, of a dtype that x's takes in without
/// loss of kind (TypeError otherwise: cast it). Of x's type. One write of the part where x is nobody else's, else a copy of x before; with tensors among
/// the indices, and slices or separated axes besides, the part is copied twice more.
Variable set_subtensor(const Operand& x, std::span<const AnyIndex<Variable>> indices, const Operand& y);
Variable set_subtensor(const Operand& x, std::span<const Index> indices, const Operand& y);
inline Variable set_subtensor(const Operand& x, std::initializer_list<AnyIndex<Variable>> indices, const Operand& y) {
  return set_subtensor(x, std::span(indices.begin(), indices.size()), y);
}
/// x with y added to x[indices]; otherwise as set_subtensor. x: not bool. What is added at repeated positions of float16 and bfloat16 is added up in float32.
Variable inc_subtensor(const Operand& x, std::span<const AnyIndex<Variable>> indices, const Operand& y);
Variable inc_subtensor(const Operand& x, std::span<const Index> indices, const Operand& y);
inline Variable inc_subtensor(const Operand& x, std::initializer_list<AnyIndex<Variable>> indices, const Operand& y) {
  return inc_subtensor(x, std::span(indices.begin(), indices.size()), y);
}

}  // namespace damo
