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
/// query, key and value. side_by_side: as one result, (batch, n, 3, heads, features), of operands with as many keys as queries and heads of their own.
class AttentionGradientOp final : public Op {
 public:
  explicit AttentionGradientOp(AttentionForm form, bool side_by_side = false) : form_(form), side_by_side_(side_by_side) {}
  const AttentionForm& form() const { return form_; }
  bool side_by_side() const { return side_by_side_; }
  std::string name() const override { return "attention_gradient"; }
  Props props() const override;
  Apply make_node(Inputs inputs) const override;
  Shapes infer_shape(const Apply& node, std::span<const Shape> inputs) const override;
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override;

 private:
  AttentionForm form_;
  bool side_by_side_;
};

}  // namespace damo
