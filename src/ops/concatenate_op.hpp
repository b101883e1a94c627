// ConcatenateOp: tensors side by side along an axis.
#pragma once
#include <damo/op.hpp>

namespace damo {

class ConcatenateOp final : public Op {
 public:
  explicit ConcatenateOp(int axis) : axis_(axis) {}
  int axis() const { return axis_; }
  std::string name() const override { return "concatenate"; }
  bool takes_float8() const override { return true; }
  Props props() const override { return {{"axis", std::int64_t{axis_}}}; }
  Apply make_node(Inputs inputs) const override;
  Shapes infer_shape(const Apply& node, std::span<const Shape> inputs) const override;
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override;
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override;

 private:
  int axis_;
};

}  // namespace damo
