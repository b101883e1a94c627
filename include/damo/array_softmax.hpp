// Softmax and what goes with it of Arrays, at once: what ops/softmax.hpp and ops/reduce.hpp have for Variables, of which these pages are the manual too. Several
// kernels, where a graph has one. See tests/ops/eager/softmax_test.cpp.
#pragma once
#include <damo/array.hpp>
#include <damo/axes.hpp>
#include <damo/reduce_options.hpp>

namespace damo {

Array logsumexp(const Array& x, const Axes& axes = {}, bool keepdims = false);
Array logsumexp(const Array& x, const Axes& axes, const ReduceOptions& options);
Array softmax(const Array& x, int axis = -1);
Array log_softmax(const Array& x, int axis = -1);
/// labels: integers of the logits' shape without the axis, or probabilities that broadcast to their shape. A label below 0 or beyond the last class is an IndexError.
Array cross_entropy(const Array& logits, const Array& labels, int axis = -1);
Array sigmoid_cross_entropy(const Array& logits, const Array& targets);

}  // namespace damo
