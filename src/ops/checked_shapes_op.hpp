// CheckedShapesOp: a view of its first input, of which each call refuses shapes of the inputs that do not fit. For a function that is made of other ops: where extents show at
// the call alone, what it says of its operands' shapes is its own word on them as they were given, not what one of its ops has to say of what it has made of them.
#pragma once
#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <damo/op.hpp>

namespace damo {

class CheckedShapesOp : public Op {
 public:
  bool takes_float8() const override { return true; }
  Apply make_node(Inputs inputs) const override {
    TensorType type = inputs.at(0).type();
    std::vector<Shape> shapes;
    for (const Variable& input : inputs) shapes.push_back(input.dims());
    require(shapes);
    type.dims = checked(type.dims);
    return {*this, {inputs.begin(), inputs.end()}, {std::move(type)}};
  }
  int view_of(int) const override { return 0; }
  Layout view_layout(const Apply&, std::span<const Layout> inputs) const override {
    std::vector<Shape> shapes;
    for (const Layout& input : inputs) shapes.push_back(input.shape);
    require(shapes);
    return inputs[0];
  }
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override {
    Gradients gradients(node.inputs().size(), Gradient::disconnected());
    gradients[0] = output_gradients[0];
    return gradients;
  }

  /// Throws ShapeError for shapes that do not fit; of unknown extents as far as one can tell.
  virtual void require(std::span<const Shape> shapes) const = 0;

 protected:
  /// What is known of the first input's shape behind the check.
  virtual Shape checked(const Shape& first) const { return first; }
};

/// inputs[0], checked now, as far as the types tell, and where they do not tell all at each call.
inline Variable checked_shapes(const std::shared_ptr<const CheckedShapesOp>& op, std::span<const Variable> inputs, SourceLine line) {
  const bool is_known = std::all_of(inputs.begin(), inputs.end(), [](const Variable& input) { return input.dims().is_known(); });
  const Variable checked = op->apply(inputs, line).output();
  return is_known ? inputs[0] : checked;
}

}  // namespace damo
