// FiniteGuardOp: whether any value of its operands is NaN or infinite. One kernel goes over up to 128 operands of a dtype and looks at their bits: beside what computed
// them it costs one reading. They may lie in memory in any way, and what computes them is fused as it is without the guard.
#pragma once
#include <damo/op.hpp>

namespace damo {

/// Floating operands, any shapes and strides -> bool, rank 0. No gradient. See tests/function/nan_guard_test.cpp.
class FiniteGuardOp final : public Op {
 public:
  std::string name() const override { return "finite_guard"; }
  bool takes_float8() const override { return true; }
  Apply make_node(Inputs in) const override;
  Shapes infer_shape(const Apply&, std::span<const Shape>) const override { return {{Shape{}}}; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override;
};

}  // namespace damo
