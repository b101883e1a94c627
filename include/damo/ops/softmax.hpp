// Softmax, its logarithm and the cross-entropy with labels or probabilities, along one axis, in plain ops (reduce.hpp, math.hpp): each fuses to one
// kernel with what stands around it, and so does its gradient.
//
//   Variable loss = mean(cross_entropy(logits, labels));    // logits (n, classes), labels (n,) of any integer dtype
//   Variable by_logits = grad(loss, logits);                // (softmax(logits) - one at the label) / n
//
// Elements less the greatest are taken to exp, so nothing overflows; 16-bit floats are computed in float32, integers in float64. A row
// that is all -inf, or holds inf or NaN, gives NaN. axis counts from the end when negative; ShapeError for one that does not exist, at the
// call for an axis of extent 0. So is a loss without rows, that of an empty minibatch, whose mean would be NaN: where the graph is built, or at the call.
// Reads x once where a row fits into registers. See tests/function/softmax_test.cpp.
#pragma once
#include <damo/variable.hpp>

namespace damo {

/// exp(x) / sum(exp(x)): of x's shape; sums to 1 along the axis.
Variable softmax(const Operand& x, int axis = -1);
/// log(softmax(x)), exact where softmax is 0.
Variable log_softmax(const Operand& x, int axis = -1);

/// -log_softmax(logits) at each row's label: (d0..dn) without the axis, of the logits' dtype. labels: integers of that shape, or what broadcasts
/// to it; TypeError for other dtypes, ShapeError for another rank. A label below 0 or beyond the last class is an IndexError, as in
/// ops/indexing.hpp: a kernel of its own looks at the labels.
///
/// Floats with as many axes as the logits, which broadcast to their shape, are probabilities of the classes: -sum(labels * log_softmax(logits), axis). Nobody looks
/// whether they sum to 1. A class of probability 0 counts as 0 where its logit is -inf too. They have a gradient as well.
Variable cross_entropy(const Operand& logits, const Operand& labels, int axis = -1);

/// -targets log(sigmoid(logits)) - (1 - targets) log(1 - sigmoid(logits)), element for element, of the logits' dtype: the cross-entropy of two classes, or of several
/// that do not exclude each other. targets: from 0 to 1, of any dtype; what is neither is not refused. Exact where a sigmoid is 0 or 1.
Variable sigmoid_cross_entropy(const Operand& logits, const Operand& targets);

}  // namespace damo
