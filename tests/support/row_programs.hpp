// Programs over the rows of a matrix, in plain ops, as users write them.
#pragma once
#include <damo/ops/math.hpp>
#include <damo/ops/reduce.hpp>

namespace damo::testing {

inline Variable softmax(const Variable& x, int axis) {
  const Variable e = exp(x - max(x, axis, keepdims));
  return e / sum(e, axis, keepdims);
}

inline Variable layer_norm(const Variable& x, const Variable& weight, const Variable& bias) {
  const Variable centered = x - mean(x, 1, keepdims);
  return centered / sqrt(mean(sqr(centered), 1, keepdims) + 1e-5) * weight + bias;
}

}  // namespace damo::testing
