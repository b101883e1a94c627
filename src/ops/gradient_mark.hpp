// GradientMark: an op whose outputs are its first inputs, and whose gradient is its own affair. Gradients are taken before a function is built: there
// drop_gradient_marks puts the inputs in its place, but for those that a pass asks for. Where nobody does, it copies.
#pragma once
#include <damo/graph.hpp>
#include <damo/op.hpp>

namespace damo {

class GradientMark : public Op {
 public:
  bool takes_float8() const override { return true; }
  explicit GradientMark(int outputs) : outputs_(outputs) {}
  int outputs() const { return outputs_; }
  /// Whether it stays until the passes have seen it.
  virtual bool is_for_passes() const { return false; }

  Apply make_node(Inputs inputs) const override;
  Shapes infer_shape(const Apply& node, std::span<const Shape> inputs) const override;
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override;
  bool equals(const Op& other) const override { return this == &other; }
  std::size_t hash() const override { return std::hash<const void*>()(this); }

 private:
  int outputs_;
};

enum class Marks { kOfGradients, kAll };
/// kOfGradients: not those for passes. Linear in the graph.
FunctionGraph drop_gradient_marks(FunctionGraph graph, Marks marks = Marks::kOfGradients);

}  // namespace damo
