#include "ops/attention/attention.hpp"

#include <utility>
#include <vector>

#include <damo/ops/cast.hpp>
#include <damo/ops/linalg.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/reduce.hpp>
#include <damo/ops/shape.hpp>
#include <damo/ops/softmax.hpp>
#include <damo/rewrite.hpp>
#include "graph/user_line.hpp"
#include "ops/attention/attention_mark.hpp"
#include "ops/attention/attention_of.hpp"
#include "ops/backward.hpp"

namespace damo {
namespace {

using GraphAttention = AttentionOf<OfVariables>;

/// query, key, value, mask if there is one.
std::vector<Variable> operands(std::span<const Variable> inputs, const Variable& mask) {
  std::vector<Variable> all(inputs.begin(), inputs.begin() + 3);
  if (mask) all.push_back(mask);
  return all;
}

}  // namespace

Variable attention(const Variable& query, const Variable& key, const Variable& value, const Variable& mask, const AttentionForm& form) {
  std::vector<Variable> inputs{GraphAttention::plain(query, key, value, mask, form), query, key, value};
  if (mask) inputs.push_back(mask);
  return std::make_shared<const AttentionMark>(form)->apply(inputs, query.where()).output();
}

/// The gradients of plain ops over Variables of their own, in whose places the operands come: one operand may be computed from another, and the walk must not go
/// from one to the other.
Gradients AttentionMark::gradient(const Apply& node, std::span<const Variable> output_gradients) const {
  const BuiltAt here(node.where());
  const std::span<const Variable> given = node.inputs().subspan(1);
  const Variable& g = output_gradients[0];
  const Variable mask = given.size() > 3 ? given[3] : Variable();
  std::vector<Variable> own;
  std::vector<Assignment> back;
  for (const Variable& operand : given.first(3)) {
    own.push_back(input(operand.type(), {}, node.where()));
    back.push_back({own.back(), operand});
  }
  const Variable outputs[] = {GraphAttention::plain(own[0], own[1], own[2], mask, form_)};
  const std::vector<Variable> plain = backward(outputs, output_gradients, own, {.disconnected = Disconnected::kZero}, node.where());
  std::vector<Variable> inputs = substitute(plain, back, true);
  for (const Variable& operand : operands(given, mask)) inputs.push_back(operand);
  const Variable sums = contiguous(sum(cast(g, float32) * cast(node.output(), float32), -1));
  inputs.insert(inputs.begin() + 6, {g, node.output(), sums});
  Gradients gradients{Gradient::disconnected()};
  for (const Variable& one : std::make_shared<const AttentionGradientMark>(form_)->apply(inputs, node.where()).outputs()) gradients.push_back(one);
  if (mask) gradients.push_back(Gradient::disconnected());
  return gradients;
}

/// Those of the plain ops.
Gradients AttentionGradientMark::gradient(const Apply& node, std::span<const Variable> output_gradients) const {
  Gradients gradients(output_gradients.begin(), output_gradients.end());
  gradients.resize(node.inputs().size(), Gradient::disconnected());
  return gradients;
}

}  // namespace damo
