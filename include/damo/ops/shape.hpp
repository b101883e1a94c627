// Ops that look at the same elements in another order: views, no kernel and no copy (but contiguous). Elementwise ops read them where
// they lie. See tests/ops/shape_test.cpp.
#pragma once
#include <span>
#include <vector>

#include <damo/variable.hpp>

namespace damo {

/// A new axis of extent 1 in a pattern of dimshuffle.
inline constexpr int kNewAxis = -1;

/// Axis i of the result is axis pattern[i] of x, or a new axis of extent 1 for kNewAxis. An axis that the pattern leaves
/// out must have the static extent 1. x: any dtype, rank r. Throws ShapeError for an axis that is missing, repeated, or
/// left out with another extent. Theano's dimshuffle.
Variable dimshuffle(const Operand& x, std::span<const int> pattern);
inline Variable dimshuffle(const Operand& x, std::initializer_list<int> pattern) {
  return dimshuffle(x, std::span(pattern.begin(), pattern.size()));
}
/// All axes in reverse order.
Variable transpose(const Operand& x);
/// A new axis of extent 1 at axis in [-rank-1, rank].
Variable expand_dims(const Operand& x, int axis);

/// x in C order: x itself where its value is contiguous, else a copy. For ops whose kernels index without strides.
Variable contiguous(const Operand& x);

}  // namespace damo
