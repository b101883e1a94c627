// ConvolutionOp: a convolution in a graph, or one of its gradients. Each one's gradients are the two others, so there are those of every order.
//
//   kForward         x, w -> y
//   kInputGradient   y, w, x -> of x's shape; without x: transposed convolution, whose options say which shape
//   kWeightGradient  x, y, w -> of w's shape
//
// Of the last input of the gradients only the shape is read.
#pragma once
#include <damo/array.hpp>
#include <damo/op.hpp>
#include "ops/conv/window_form.hpp"

namespace damo {

class ConvolutionOp final : public Op {
 public:
  ConvolutionOp(ConvolutionRole role, WindowForm form, bool tf32 = false) : role_(role), form_(std::move(form)), tf32_(tf32) {}

  std::string name() const override;
  Props props() const override;
  Apply make_node(Inputs inputs) const override;
  Shapes infer_shape(const Apply& node, std::span<const Shape> inputs) const override;
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override;
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override;

  ConvolutionRole role() const { return role_; }
  const WindowForm& form() const { return form_; }
  bool tf32() const { return tf32_; }

 private:
  Shape shape(std::span<const Shape> inputs) const;
  ConvolutionRole role_;
  WindowForm form_;
  bool tf32_;
};

/// Convolves at once; the library's kernels are kept. out: in C order, of the role's shape. inputs: as above, in C order but for the last of gradients.
void convolve(ConvolutionRole role, const WindowForm& form, bool tf32, std::span<const Array> inputs, const Array& out, void* stream = nullptr);

}  // namespace damo
