// Formulas in plain ops that workloads share: as a user would write them.
#pragma once
#include <damo/damo.hpp>

namespace damo::bench {

/// Along an axis; of x's shape.
Variable softmax(const Variable& x, int axis);
/// (x - mean) / sqrt(variance + 1e-5) over axes; of x's shape.
Variable standardized(const Variable& x, const Axes& axes);
/// Over the last axis, of whose length weight and bias are.
Variable layer_norm(const Variable& x, const Variable& weight, const Variable& bias);
/// x / sqrt(mean of squares + 1e-5) * weight over the last axis.
Variable rms_norm(const Variable& x, const Variable& weight);

}  // namespace damo::bench
