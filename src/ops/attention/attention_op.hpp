// AttentionOp, AttentionGradientOp: attention and its gradient by the kernels of attention_kernels.hpp. Operands are of one 16-bit dtype, (batch, heads, n, features) or
// without the batch, in any layout; those whose rows are not contiguous or lie at odd addresses are copied first. Results have heads behind rows,
// (batch, n, heads, features), as the layers around have them: dimshuffle turns them.
#pragma once
#include <damo/op.hpp>

#include "ops/attention/attention.hpp"
#include "ops/attention/attention_kernels.hpp"

namespace damo {

/// Whether the kernels take operands of these types on the device. mask: null, or its type.
bool has_attention_kernel(const AttentionForm& form, const TensorType& query, const TensorType& key, const TensorType& value, const TensorType* mask, Device device);

/// query, key, value, the mask if there is one -> result, float32 (batch, heads, n).
class AttentionOp final : public Op {
 public:
  explicit AttentionOp(AttentionForm form) : form_(form) {}
  std::string name() const override { return "attention"; }
  Props props() const override { return {{"causal", form_.causal}, {"scale", form_.scale}}; }
  Apply make_node(Inputs inputs) const override;
  Shapes infer_shape(const Apply& node, std::span<const Shape> inputs) const override;
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override;

 private:
  AttentionForm form_;
};

/// query, key, value, the result's gradient, AttentionOp's second output, sums of gradient times result (batch, heads, n), the mask if there is one -> gradients by
/// query, key and value.
class AttentionGradientOp final : public Op {
 public:
  explicit AttentionGradientOp(AttentionForm form) : form_(form) {}
  std::string name() const override { return "attention_gradient"; }
  Props props() const override { return {{"causal", form_.causal}, {"scale", form_.scale}}; }
  Apply make_node(Inputs inputs) const override;
  Shapes infer_shape(const Apply& node, std::span<const Shape> inputs) const override;
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override;

 private:
  AttentionForm form_;
};

}  // namespace damo
