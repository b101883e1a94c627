// ConcatenateOp: tensors side by side along an axis, PartOp: one of them; and what Variables and Arrays alike have to be to lie so, or to be split.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <damo/op.hpp>

namespace damo {

/// The axis along which concatenate puts tensors of these shapes, counted from 0. Throws GraphError for none, ShapeError for ranks that differ or are 0.
int concatenated_axis(std::span<const Shape> shapes, int axis);
/// The shape of tensors side by side along an axis, counted from 0; an unknown extent fits to any. Throws ShapeError where another axis differs.
Shape side_by_side(std::span<const Shape> shapes, int axis);
/// The new axis along which stack puts tensors of these shapes, counted from 0. Throws GraphError for none, ShapeError where they cannot be one shape.
int stacked_axis(std::span<const Shape> shapes, int axis);
/// Throws ShapeError unless parts of these sizes fill an axis of that extent, or of an unknown one. Gives the sum.
std::int64_t require_parts(std::span<const std::int64_t> sizes, int axis, std::int64_t extent);

class ConcatenateOp final : public Op {
 public:
  /// is_stack: each input has the extent 1 along the axis, which stack has given it.
  explicit ConcatenateOp(int axis, bool is_stack = false) : axis_(axis), is_stack_(is_stack) {}
  int axis() const { return axis_; }
  bool is_stack() const { return is_stack_; }
  std::string name() const override { return "concatenate"; }
  bool takes_float8() const override { return true; }
  Props props() const override {
    Props props{{"axis", std::int64_t{axis_}}};
    if (is_stack_) props.push_back({"stack", true});
    return props;
  }
  Apply make_node(Inputs inputs) const override;
  Shapes infer_shape(const Apply& node, std::span<const Shape> inputs) const override;
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override;
  bool places_inputs() const override { return true; }
  std::optional<Layout> place_in_output(int input, std::span<const Shape> inputs, const Layout& output) const override;
  bool may_write_window(int) const override { return true; }
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override;

 private:
  Shape shape_of(std::span<const Shape> inputs) const;
  int axis_;
  bool is_stack_;
};

/// The elements of the first input that lie where concatenate puts the part-th of the others: its gradient by that one.
class PartOp final : public Op {
 public:
  PartOp(int axis, int part) : axis_(axis), part_(part) {}
  int axis() const { return axis_; }
  int part() const { return part_; }
  std::string name() const override { return "part"; }
  bool takes_float8() const override { return true; }
  Props props() const override { return {{"axis", std::int64_t{axis_}}, {"part", std::int64_t{part_}}}; }
  Apply make_node(Inputs inputs) const override;
  int view_of(int) const override { return 0; }
  Layout view_layout(const Apply& node, std::span<const Layout> inputs) const override;
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override;

 private:
  int axis_, part_;
};

}  // namespace damo
