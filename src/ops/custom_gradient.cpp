#include <damo/custom_gradient.hpp>

#include <string>
#include <utility>

#include "ops/gradient_mark.hpp"

namespace damo {
namespace {

/// Inputs: the outputs of the part, then what it is a function of.
class WithGradientOp final : public GradientMark {
 public:
  WithGradientOp(int outputs, SubgraphGradient rule) : GradientMark(outputs), rule_(std::move(rule)) {}
  std::string name() const override { return "with_gradient"; }
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override {
    const auto count = static_cast<std::size_t>(outputs());
    const std::vector<Variable> values = node.outputs();
    Gradients of_inputs = rule_(node.inputs().subspan(count), values, output_gradients);
    const std::size_t wanted = node.inputs().size() - count;
    if (of_inputs.size() != wanted) {
      throw GraphError("with_gradient: the rule gave " + std::to_string(of_inputs.size()) + " gradients for " + std::to_string(wanted) + " inputs", "give one for each, or Gradient::disconnected()");
    }
    Gradients gradients(count, Gradient::disconnected());
    gradients.insert(gradients.end(), of_inputs.begin(), of_inputs.end());
    return gradients;
  }

 private:
  SubgraphGradient rule_;
};

}  // namespace

std::vector<Variable> with_gradient(std::span<const Variable> outputs, std::span<const Variable> inputs, SubgraphGradient rule, SourceLine where) {
  if (outputs.empty()) throw GraphError("with_gradient: no output is given", "give those whose gradient the rule tells");
  if (!rule) throw GraphError("with_gradient: no rule is given", "give one: [](auto inputs, auto outputs, auto output_gradients) -> Gradients { ... }");
  std::vector<Variable> all(outputs.begin(), outputs.end());
  all.insert(all.end(), inputs.begin(), inputs.end());
  for (const Variable& variable : all) {
    if (!variable) throw GraphError("with_gradient: an output or input is an empty Variable", "assign it before it is used");
  }
  return std::make_shared<const WithGradientOp>(static_cast<int>(outputs.size()), std::move(rule))->apply(all, where).outputs();
}

}  // namespace damo
