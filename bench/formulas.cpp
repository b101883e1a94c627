#include "formulas.hpp"

namespace damo::bench {

Variable softmax(const Variable& x, int axis) {
  const Variable e = exp(x - max(x, axis, keepdims));
  return e / sum(e, axis, keepdims);
}

Variable standardized(const Variable& x, const Axes& axes) {
  const Variable centered = x - mean(x, axes, keepdims);
  return centered * rsqrt(mean(sqr(centered), axes, keepdims) + 1e-5);
}

Variable layer_norm(const Variable& x, const Variable& weight, const Variable& bias) { return standardized(x, -1) * weight + bias; }

Variable rms_norm(const Variable& x, const Variable& weight) { return x * rsqrt(mean(sqr(x), -1, keepdims) + 1e-5) * weight; }

}  // namespace damo::bench
