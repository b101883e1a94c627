// The gradient of an elementwise node: the row's rule, then what promotion and broadcasting ask for.
#include <algorithm>

#include "ops/elementwise_op.hpp"
#include "ops/gradient_parts.hpp"
#include "ops/rows.hpp"

namespace damo {
namespace {

/// Nodes of a built-in rule belong to the user's line, not to Damo's: those between the results and the leaves.
void set_lines(const Gradients& results, std::vector<Variable> leaves, SourceLine where) {
  std::vector<Variable> pending;
  for (const Gradient& result : results) {
    if (result.is_defined() && result.value()) pending.push_back(result.value());
  }
  while (!pending.empty()) {
    const Variable variable = std::move(pending.back());
    pending.pop_back();
    const auto is_variable = [&](const Variable& leaf) { return leaf.is_same(variable); };
    if (!variable.has_owner() || std::any_of(leaves.begin(), leaves.end(), is_variable)) continue;
    const Apply node = variable.owner();
    node.set_where(where);
    leaves.push_back(variable);
    pending.insert(pending.end(), node.inputs().begin(), node.inputs().end());
  }
}

}  // namespace

Gradients ElementwiseOp::gradient(const Apply& node, std::span<const Variable> output_gradients) const {
  const Variable &g = output_gradients[0], out = node.output();
  const SourceLine where = node.where();
  if (cast_to_) return cast_at(g, gradient_dtype(node.input(0).dtype()), where);
  if (!row_->gradient) {
    return Gradients(node.inputs().size(), Gradient::not_defined("the row " + name() + " has no .gradient"));
  }
  std::vector<Variable> inputs;
  for (const Variable& input : node.inputs()) {
    const bool is_condition = row_->condition_first && inputs.empty();
    inputs.push_back(is_condition ? input : cast_at(input, out.dtype(), where));
  }
  Gradients gradients = row_->gradient(g, inputs, out);
  if (gradients.size() != inputs.size()) {
    throw GraphError("the .gradient of the row " + name() + " gave " + std::to_string(gradients.size()) +
                         " gradients for " + std::to_string(inputs.size()) + " inputs",
                     "give one for each input, or Gradient::disconnected()");
  }
  if (is_builtin(*row_)) {
    std::vector<Variable> leaves = inputs;
    leaves.push_back(g);
    leaves.push_back(out);
    set_lines(gradients, std::move(leaves), where);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Variable& value = gradients[i].value();
    const TensorType& type = node.inputs()[i].type();
    if (!value || !is_floating(type.dtype)) continue;
    gradients[i] = value.rank() < type.rank() ? value : sum_to(value, type.dims, where);
    gradients[i] = cast_at(gradients[i].value(), gradient_dtype(type.dtype), where);
  }
  return gradients;
}

}  // namespace damo
