// Elements by positions that are data: integer tensors.
//
//   take(table, words, 0)                 rows of a table: an embedding; its gradient adds up what a row was taken for
//   put(x, places, 0)                     x, but 0 at these places of all its elements
//   take_along_axis(x, argmax(x, 1, keepdims), 1)
//   put_along_axis(x, argmax(x, 1, keepdims), 0, 1)      x, but 0 where each row is greatest
//
// Positions: any integer dtype; negative ones count from the end. One that is not on the axis is an IndexError: on a CPU at the call,
// on a GPU from the next call of the function, or from whoever waits for the device (reading a result, synchronize); nothing is read
// beyond the axis until then. Gradients add in the order of the positions, so they are the same bits at every call.
// See tests/function/indexing_test.cpp.
#pragma once
#include <damo/variable.hpp>

namespace damo {

/// x's slices along the axis at positions, whose axes take its place: (a, n, b) at (i, j) along 1 is (a, i, j, b). x: any dtype. Without an axis: x's
/// elements in C order, of positions' shape. Each slice is read and written once. The gradient sorts the positions and writes each element of x's shape once.
Variable take(const Operand& x, const Operand& positions, int axis);
Variable take(const Operand& x, const Operand& positions);

/// x with values at positions among its elements in C order, of x's type: NumPy's put. positions: any shape; values: a number or a tensor that
/// broadcasts to it (ShapeError), of any dtype, cast to x's. Of several values for one place the last in C order stays. Arrays write into x itself. One
/// write of the values where x is nobody else's, else a copy of x before; the positions are sorted, but where a CPU takes them in their order.
Variable put(const Operand& x, const Operand& positions, const Operand& values);

/// z[i, j, k] = x[i, positions[i, j, k], k] along axis 1, and so on. positions: as many axes as x, the others as long as x's.
Variable take_along_axis(const Operand& x, const Operand& positions, int axis);

/// x with values there: z[i, positions[i, j, k], k] = values[i, j, k] along axis 1, and so on, where NumPy's writes into x itself. positions as take_along_axis has them; values: a number
/// or a tensor that broadcasts to their shape (ShapeError), of a dtype that x's takes in without loss of kind (TypeError otherwise: cast it). Of several values for one place the last
/// along the axis stays, the same at every call, and the others have no gradient. Of x's type. One write of the values where x is nobody else's, else a copy of x before; places are
/// counted by two or three passes over the positions and sorted, but where a CPU takes them in their order.
Variable put_along_axis(const Operand& x, const Operand& positions, const Operand& values, int axis);

/// 1 where the last axis, of length count, is the position, else 0: of positions (a, b) a tensor (a, b, count). Fuses as a row does:
/// where only other rows read it it is never in memory. A position that is none gives zeros.
Variable one_hot(const Operand& positions, std::int64_t count, DType dtype = float32);

}  // namespace damo
