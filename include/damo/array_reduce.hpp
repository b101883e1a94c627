// Reductions of Arrays along axes, at once:
//
//   sum(a)              all elements: an Array of rank 0
//   max(a, 0)           along one axis                       mean(a, {0, -1}, true)   several; they stay with extent 1
//
// Arrays may have any strides. Results are new arrays on the same device, the same at every call: what is added to
// what follows from shapes and device alone. float16 and bfloat16 are accumulated in float32. Elements are read once; a
// reduction of few outputs takes a second, small kernel. ShapeError for an axis that does not exist or is named twice.
// Reductions of one's own: reduction_kernel.hpp. See tests/ops/eager/reduce_test.cpp.
#pragma once
#include <damo/array.hpp>
#include <damo/axes.hpp>
#include <damo/reduce_options.hpp>

namespace damo {

/// Of bools and integers in 64 bits: int64, or uint64 of unsigned ones, modulo 2^64; of nothing 0.
Array sum(const Array& x, const Axes& axes = {}, bool keepdims = false);
Array sum(const Array& x, const Axes& axes, const ReduceOptions& options);
/// Likewise; of nothing 1.
Array prod(const Array& x, const Axes& axes = {}, bool keepdims = false);
Array prod(const Array& x, const Axes& axes, const ReduceOptions& options);
/// Of integers and bools in float64; of nothing NaN.
Array mean(const Array& x, const Axes& axes = {}, bool keepdims = false);
Array mean(const Array& x, const Axes& axes, const ReduceOptions& options);
/// Mean squared distance from the mean, over n - ddof elements, in two passes.
Array var(const Array& x, const Axes& axes = {}, bool keepdims = false, int ddof = 0);
Array var(const Array& x, const Axes& axes, const VarOptions& options);
/// Square root of var: NumPy's std.
Array stddev(const Array& x, const Axes& axes = {}, bool keepdims = false, int ddof = 0);
Array stddev(const Array& x, const Axes& axes, const VarOptions& options);
/// sqrt(sum of squares).
Array norm(const Array& x, const Axes& axes = {}, bool keepdims = false);
/// An order other than 0, 1, 2 and infinities takes memory for the elements' powers.
Array norm(const Array& x, const Axes& axes, const NormOptions& options);

/// NaN if there is one. ShapeError where there is nothing to choose from.
Array max(const Array& x, const Axes& axes = {}, bool keepdims = false);
Array min(const Array& x, const Axes& axes = {}, bool keepdims = false);
/// int64: the first place of the greatest element along the axes, counted in C order; a NaN is the greatest.
Array argmax(const Array& x, const Axes& axes = {}, bool keepdims = false);
Array argmin(const Array& x, const Axes& axes = {}, bool keepdims = false);

struct ArrayMaxAndArgmax {
  Array values, positions;
};
/// The greatest element and its place, as argmax finds it: x is read once, then an element a result.
ArrayMaxAndArgmax max_and_argmax(const Array& x, const Axes& axes = {}, bool keepdims = false);

/// int64, of x's shape, as ops/reduce.hpp has it: the place of each element among those that argmax over the same axes would choose from.
/// x: any dtype; none of its elements is read. Cost: 8 bytes an element are written.
Array index_along(const Array& x, const Axes& axes);

/// bool: whether some element, or every one, is not 0; of nothing false, true.
Array any(const Array& x, const Axes& axes = {}, bool keepdims = false);
Array all(const Array& x, const Axes& axes = {}, bool keepdims = false);

}  // namespace damo
