// RollOp: x moved along an axis; what leaves it comes in at the other end.
#pragma once
#include <cstdint>

#include <damo/op.hpp>

namespace damo {

class RollOp final : public Op {
 public:
  /// By so many places towards the end of the axis, or its beginning: a pair that its gradient can turn round, which the least int64 cannot be.
  RollOp(int axis, std::uint64_t places, bool forward) : axis_(axis), places_(places), forward_(forward || places == 0) {}
  int axis() const { return axis_; }
  /// How far elements move towards the end of an axis of this extent, which is not 0: less than that.
  std::int64_t shift(std::int64_t extent) const;
  std::string name() const override { return "roll"; }
  bool takes_float8() const override { return true; }
  Props props() const override;
  Apply make_node(Inputs inputs) const override;
  Shapes infer_shape(const Apply&, std::span<const Shape> inputs) const override { return {{inputs[0]}}; }
  bool may_write_window(int) const override { return true; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override;
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override;

 private:
  int axis_;
  std::uint64_t places_;
  bool forward_;
};

}  // namespace damo
