// Identities that change what passes through them backwards.
#include <string>

#include <damo/gradient.hpp>
#include <damo/ops/math.hpp>
#include "graph/user_line.hpp"
#include "ops/gradient_parts.hpp"
#include "ops/identity_op.hpp"

namespace damo {
namespace {

class ConsiderConstantOp final : public IdentityOp {
 public:
  std::string name() const override { return "consider_constant"; }
  Gradients gradient(const Apply& node, std::span<const Variable>) const override { return Gradients(zeros_like(node.input(0), node.where())); }
};

class DisconnectedGradOp final : public IdentityOp {
 public:
  std::string name() const override { return "disconnected_grad"; }
  Gradients gradient(const Apply&, std::span<const Variable>) const override { return Gradients{Gradient::disconnected()}; }
};

class GradClipOp final : public IdentityOp {
 public:
  GradClipOp(double lower, double upper) : lower_(lower), upper_(upper) {}
  std::string name() const override { return "grad_clip"; }
  Props props() const override { return {{"lower", lower_}, {"upper", upper_}}; }
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override {
    return Gradients(clip(At(node.where())(output_gradients[0]), lower_, upper_));
  }

 private:
  double lower_, upper_;
};

Variable applied(std::shared_ptr<const Op> op, const Operand& x) {
  const Variable inputs[] = {x.as(x.promotable().dtype)};
  return op->apply(inputs, x.where()).output();
}

}  // namespace

Variable consider_constant(const Operand& x) { return applied(std::make_shared<const ConsiderConstantOp>(), x); }
Variable disconnected_grad(const Operand& x) { return applied(std::make_shared<const DisconnectedGradOp>(), x); }
Variable grad_clip(const Operand& x, double lower, double upper) {
  asked("grad_clip", [&] {
    if (!(lower <= upper)) throw OptionError("grad_clip: the lower bound " + std::to_string(lower) + " is not below the upper one, " + std::to_string(upper), "give the lesser one first");
  }, x);
  return applied(std::make_shared<const GradClipOp>(lower, upper), x);
}

}  // namespace damo
