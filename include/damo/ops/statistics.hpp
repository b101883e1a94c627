// Order statistics, counts and what is different, of Variables and of Arrays (array_statistics.hpp), under NumPy's names; this page is the manual of both.
//
//   median(x, 0)      quantile(x, 0.9, -1, keepdims)      ptp(x, {0, 1})
//   bincount(labels)                          how often 0, 1, 2, ... stand in labels
//   auto [values, first, inverse, counts] = unique(x);
//   auto [matrix, labels] = confusion_matrix(actual, predicted);
//
// Made of sorts, reductions, prefix sums and takes, whose costs they have. What bincount and unique give has as many elements as the data say: what reads
// them is planned when that is known, and the call waits once for the device. See tests/function/statistics_test.cpp.
#pragma once
#include <cstdint>
#include <optional>

#include <damo/axes.hpp>
#include <damo/variable.hpp>

namespace damo {

/// max - min along the axes, NaN if there is one. x: no bools. The gradient is that of max and min. ShapeError where there is nothing to choose from.
Variable ptp(const Operand& x, const Axes& axes = {}, bool keepdims = false);

/// The middle element along the axis, or of all elements; of an even number of them half the sum of the middle two. NaN if there is one. Integers and bools in
/// float64, float16 and bfloat16 in float32 and rounded once. Cost: a sort. The gradient goes to the middle elements. ShapeError for an axis without elements
/// if the graph knows that, else IndexError at the call.
Variable median(const Operand& x, std::optional<int> axis = {}, bool keepdims = false);
/// Below which the part q of the elements lies, interpolated between the two nearest as NumPy's default does: at q (n - 1) of those in order. q: from 0 to 1, else
/// OptionError. Otherwise as median.
Variable quantile(const Operand& x, double q, std::optional<int> axis = {}, bool keepdims = false);

/// int64: how often each number from 0 to the greatest of x stands in it; at least so many numbers as min_length says. x: integers or bools, rank 1. IndexError
/// at the call for a negative number. No gradient.
Variable bincount(const Operand& x, std::int64_t min_length = 0);
/// The sum of the weights that stand where each number does, added up in order, the same bits at every call; in the weights' dtype, float64 of integers and bools.
/// weights: of x's shape. The gradient goes to them.
Variable bincount(const Operand& x, const Operand& weights, std::int64_t min_length = 0);

struct Unique {
  Variable values;     ///< what stands in x, each once, in order; all NaN count as one, the greatest
  Variable positions;  ///< int64, of values' shape: where each stands first, counted in C order
  Variable inverse;    ///< int64 (size of x,): which of the values each element in C order is
  Variable counts;     ///< int64, of values' shape: how often each stands in x
};
/// x: any dtype but 8-bit floats, which do not compare (TypeError); any rank. What is not asked for costs nothing. The gradient of values goes to the first of equals.
Unique unique(const Operand& x);

struct ConfusionMatrix {
  Variable matrix;  ///< int64 (n, n): how often the label of the row was taken for that of the column
  Variable labels;  ///< (n,): those that stand in one of both, in order
};
/// actual, predicted: integers or bools, of one shape (n,). No gradient. Memory: n times as many int64 as there are elements, twice.
ConfusionMatrix confusion_matrix(const Operand& actual, const Operand& predicted);

}  // namespace damo
