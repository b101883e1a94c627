// Reductions of a graph, along all axes or some. Those of Arrays (array_reduce.hpp) have the same names and meaning.
//
//   sum(x)                       all elements: rank 0
//   max(x, 1, keepdims)          along axis 1, which stays with extent 1
//   mean(x, {0, -1})
//
// x: any strides; integers and bools where it says so. Elements are read once. float16 and bfloat16 are accumulated in
// float32, integers and bools in 64 bits modulo 2^64. What is added to what follows from shapes and device alone, so results
// are the same at every call; no partial sum takes more than some hundred elements before it is added to others. All have a gradient
// but argmax, argmin, any and all, which pass none on. ShapeError for an axis that does not exist or is named twice, and
// where max, min, argmax or argmin find nothing to choose from, at the call if that alone tells. See tests/function/reduce_test.cpp.
#pragma once
#include <damo/axes.hpp>
#include <damo/reduce_options.hpp>
#include <damo/variable.hpp>

namespace damo {

/// Of integers int64, or uint64 of unsigned ones; of nothing 0.
Variable sum(const Operand& x, const Axes& axes = {}, bool keepdims = false);
Variable sum(const Operand& x, const Axes& axes, const ReduceOptions& options);
/// Likewise; of nothing 1. The gradient at an element is the product of all divided by it, of the only 0 that of the others: where the product of all is too large or too small for its dtype
/// that quotient is infinite, NaN or 0 though the product of the others may not be. .acc_dtype = float64 computes both there; no order of factors goes beyond its range so easily.
Variable prod(const Operand& x, const Axes& axes = {}, bool keepdims = false);
Variable prod(const Operand& x, const Axes& axes, const ReduceOptions& options);
/// Of integers and bools in float64; of nothing NaN.
Variable mean(const Operand& x, const Axes& axes = {}, bool keepdims = false);
Variable mean(const Operand& x, const Axes& axes, const ReduceOptions& options);
/// Mean squared distance from the mean, over n - ddof elements.
Variable var(const Operand& x, const Axes& axes = {}, bool keepdims = false, int ddof = 0);
Variable var(const Operand& x, const Axes& axes, const VarOptions& options);
/// Square root of var: NumPy's std.
Variable stddev(const Operand& x, const Axes& axes = {}, bool keepdims = false, int ddof = 0);
Variable stddev(const Operand& x, const Axes& axes, const VarOptions& options);
/// sqrt(sum of squares).
Variable norm(const Operand& x, const Axes& axes = {}, bool keepdims = false);
Variable norm(const Operand& x, const Axes& axes, const NormOptions& options);
/// log(sum(exp(x))), which does not overflow: of elements that are all -inf, and of none, -inf.
Variable logsumexp(const Operand& x, const Axes& axes = {}, bool keepdims = false);
Variable logsumexp(const Operand& x, const Axes& axes, const ReduceOptions& options);

/// NaN if there is one. The gradient is shared out evenly among equals.
Variable max(const Operand& x, const Axes& axes = {}, bool keepdims = false);
Variable min(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// int64: the first place of the greatest element along the axes, counted in C order; a NaN is the greatest.
Variable argmax(const Operand& x, const Axes& axes = {}, bool keepdims = false);
Variable argmin(const Operand& x, const Axes& axes = {}, bool keepdims = false);

struct MaxAndArgmax {
  Variable values, positions;
};
/// max and argmax at once: {max(x, axes, keepdims), argmax(x, axes, keepdims)}, which are one kernel that reads x once. Theano's max_and_argmax.
MaxAndArgmax max_and_argmax(const Operand& x, const Axes& axes = {}, bool keepdims = false);

/// int64, of x's shape: the place of each element among those that argmax over the same axes would choose from; nothing of x is read
/// but its shape. In one kernel with reductions over these axes it costs no memory.
Variable index_along(const Operand& x, const Axes& axes);

/// bool: whether some element, or every one, is not 0; of nothing false, true.
Variable any(const Operand& x, const Axes& axes = {}, bool keepdims = false);
Variable all(const Operand& x, const Axes& axes = {}, bool keepdims = false);

}  // namespace damo
