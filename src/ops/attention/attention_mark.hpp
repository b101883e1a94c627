// The marks of attention and of its gradient: what the plain ops give, then what an AttentionOp needs.
#pragma once
#include "ops/attention/attention.hpp"
#include "ops/gradient_mark.hpp"

namespace damo {

/// Inputs: the plain result, query, key, value, the mask if there is one.
class AttentionMark final : public GradientMark {
 public:
  explicit AttentionMark(AttentionForm form) : GradientMark(1), form_(form) {}
  std::string name() const override { return "attention"; }
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override;
  bool is_for_passes() const override { return true; }
  const AttentionForm& form() const { return form_; }

 private:
  AttentionForm form_;
};

/// Inputs: the plain gradients by query, key and value, these three, the gradient of the result, the result, the sums of gradient times result along the last axis in
/// float32, the mask if there is one.
class AttentionGradientMark final : public GradientMark {
 public:
  explicit AttentionGradientMark(AttentionForm form) : GradientMark(3), form_(form) {}
  std::string name() const override { return "attention_gradient"; }
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override;
  bool is_for_passes() const override { return true; }
  const AttentionForm& form() const { return form_; }

 private:
  AttentionForm form_;
};

}  // namespace damo
