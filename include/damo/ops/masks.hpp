// Elements by a tensor of bools. Arrays have the same names in array_masks.hpp.
//
//   nonzero(x)                          where x is not 0: a vector of positions for each axis, in C order
//   subtensor(x, gt(x, 0.0))            x[x > 0]: rank 1
//   set_subtensor(x, isnan(x), 0.0)     x with 0 in the place of NaN
//   inc_subtensor(x, mask, y)           x with y's rows added where the mask is true
//
// A mask has the extents of x's first axes, as many as it has: ShapeError when the graph is built where both are known, else at the call; it does not
// stretch. How many elements are true is known at the call alone: what such a result goes into is planned when that is known, and the call waits
// once for the device. All have gradients but by masks. See tests/function/masks_test.cpp.
#pragma once
#include <vector>

#include <damo/variable.hpp>

namespace damo {

/// int64 (count,) of each axis: positions of the elements that are not 0 (NaN is not), false of bools. x: any dtype but 8-bit floats (TypeError), rank 1 or more. Cost: a prefix sum of
/// int64 over x's size, and a pass over it.
std::vector<Variable> nonzero(const Operand& x);
/// int64 (count,): the same as numbers in C order. x: any rank.
Variable flatnonzero(const Operand& x);
/// nonzero(condition), as NumPy's where of one operand.
inline std::vector<Variable> where(const Operand& condition) { return nonzero(condition); }

/// The parts of x where the mask is true (one of integers: subtensor(x, {mask}), as ops/subtensor.hpp has it, here and below), along a first axis that takes the place of the mask's: x (a, b, c) by a mask (a, b) is (count, c). x: any dtype.
Variable subtensor(const Operand& x, const Variable& mask);

/// x with y where the mask is true, of x's type. y: a number or a tensor that broadcasts to x's axes behind the mask's, put in each place, in one elementwise
/// kernel; or with one axis more, whose rows go to the places in their order: as many as there are (ShapeError at the call), the other
/// axes of x's extents. Of a dtype that x's takes in without loss of kind (TypeError).
Variable set_subtensor(const Operand& x, const Variable& mask, const Operand& y);
/// x with y added there; otherwise as set_subtensor. x: not bool.
Variable inc_subtensor(const Operand& x, const Variable& mask, const Operand& y);

}  // namespace damo
