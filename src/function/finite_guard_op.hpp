// FiniteGuardOp: tells the running Function (ThunkContext::fault_flag) whether any value of its operands is NaN or infinite: of those that no generated kernel looks at as it
// stores them. One kernel goes over up to 128 operands of a dtype and looks at their bits: that costs one reading. They may lie in memory in any way.
#pragma once
#include <damo/op.hpp>

namespace damo {

/// Floating operands, any shapes and strides -> bool (0), which says nothing and is a result of the graph so that the node runs. No gradient. See tests/function/nan_guard_test.cpp.
class FiniteGuardOp final : public Op {
 public:
  std::string name() const override { return "finite_guard"; }
  bool takes_float8() const override { return true; }
  Apply make_node(Inputs in) const override;
  Shapes infer_shape(const Apply&, std::span<const Shape>) const override { return {{Shape{0}}}; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override;
};

}  // namespace damo
