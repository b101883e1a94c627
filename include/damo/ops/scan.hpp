// Scans of a graph: each element gets what those of its line up to it give. Those of Arrays (array_scan.hpp) have the same names and meaning.
//
//   cumsum(x, 1)                                 along axis 1: 1 2 3 -> 1 3 6
//   cumsum(x)                                    of all elements in C order, flattened, as NumPy has it
//   cumsum(x, -1, {.reverse = true})             from the last element: 1 2 3 -> 6 5 3
//   cumsum(x, 0, {.exclusive = true})            of what stands before each: 1 2 3 -> 0 1 3
//   cumsum(x, 0, {.acc_dtype = float64})         added in float64, each sum rounded once to x's dtype
//
// x: any strides. One kernel, which elementwise work before and behind it is part of, reads each element once and writes it once, short lines and long
// ones, along contiguous and strided axes. float16 and bfloat16 are accumulated in float32 and rounded when they are stored; results are
// the same bits at every call. Values are joined in a tree, so errors grow slowly; a product of many elements may leave the range of its
// dtype within the line though it does not from its beginning. All have gradients, of first and higher orders. ShapeError for an axis that does not exist. See
// tests/function/scan_test.cpp.
#pragma once
#include <optional>

#include <damo/axes.hpp>
#include <damo/reduce_options.hpp>
#include <damo/variable.hpp>

namespace damo {

/// Of integers and bools in 64 bits: int64, or uint64 of unsigned ones, modulo 2^64. Begins with 0.
Variable cumsum(const Operand& x, std::optional<int> axis = {}, CumulativeOptions options = {});
/// Likewise; begins with 1. The gradient divides by nothing: elements may be 0.
Variable cumprod(const Operand& x, std::optional<int> axis = {}, CumulativeOptions options = {});
/// NaN from the first one on. Begins with the least value of the dtype. The gradient goes to the first of equals.
Variable cummax(const Operand& x, std::optional<int> axis = {}, ScanOptions options = {});
Variable cummin(const Operand& x, std::optional<int> axis = {}, ScanOptions options = {});
/// log(cumsum(exp(x))), which does not overflow; floats alone. Begins with -inf.
Variable logcumsumexp(const Operand& x, std::optional<int> axis = {}, CumulativeOptions options = {});

}  // namespace damo
