// Order along an axis. Arrays have the same names in array_sort.hpp.
//
//   sort(x), argsort(x, 0)                      ascending; descending where asked
//   auto [values, positions] = topk(x, 5);      the five greatest of each row, the greatest first
//
// x: any dtype but 8-bit floats, which do not compare (TypeError); any strides. NaN is the greatest, both zeros are equal, and equals stay in the order that they had, descending too.
// So sort has the elements of argsort's places, bit for bit; a function that asks for both finds the order once. Gradients go back by position; those of positions are none. ShapeError for an axis that does not
// exist, and for rows of nearly 2^32 elements. Cost: on a GPU rows of up to 2,048 elements are sorted in one kernel; longer ones are read once and, for each 8 bits of the dtype, read and written once,
// argsort's with places of 4 bytes; topk sorts whole lines. On a CPU a sort goes 2 to 4 times through memory, argsort in words of 8 bytes, twice that where the lower halves of 64 bits decide, and
// nothing is compiled for either; topk of an eighth of a line or less reads the line once. See tests/function/sort_test.cpp.
#pragma once
#include <cstdint>

#include <damo/variable.hpp>

namespace damo {

/// int64, of x's shape: which element of the line along the axis comes at each place.
Variable argsort(const Operand& x, int axis = -1, bool descending = false);
/// x in order along the axis.
Variable sort(const Operand& x, int axis = -1, bool descending = false);

struct TopK {
  Variable values, positions;
};
/// The count greatest elements along the axis, or the least, in order, and where they were. ShapeError for more than there are.
TopK topk(const Operand& x, std::int64_t count, int axis = -1, bool largest = true);

/// Where each value would be put into `sorted`, rank 1 and ascending, to keep it in order: before its equals, or behind them. int64, of values' shape. A step of the kernel around it: the values need not lie in memory, nor the places if
/// kernels read them; `sorted` does. Cost: as many reads a value as the size of `sorted` has binary digits, from the caches where it is small.
Variable searchsorted(const Operand& sorted, const Operand& values, bool right = false);

}  // namespace damo
