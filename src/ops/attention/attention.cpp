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
#include "ops/backward.hpp"

namespace damo {
namespace {

Variable plain_attention(const Variable& query, const Variable& key, const Variable& value, const Variable& mask, const AttentionForm& form) {
  const std::int64_t shared_by = query.dims()[-3] / key.dims()[-3];
  const Variable keys = shared_by == 1 ? key : repeat(key, shared_by, -3), values = shared_by == 1 ? value : repeat(value, shared_by, -3);
  Variable scores = matmul(query, swap_axes(keys, -1, -2)) * form.scale, seen;
  if (form.causal) seen = le(index_along(scores, -1), index_along(scores, -2));
  if (mask) seen = seen ? seen & mask : mask;
  // Not -inf, of which a row that sees nothing would be all: softmax would give NaN, and so would its gradient.
  if (seen) scores = where(seen, scores, scores.dtype() == float16 ? -6e4 : -1e30);
  Variable weights = softmax(scores, -1);
  if (seen) weights = where(seen, weights, 0.0);
  return matmul(weights, values);
}

/// query, key, value, mask if there is one.
std::vector<Variable> operands(std::span<const Variable> inputs, const Variable& mask) {
  std::vector<Variable> all(inputs.begin(), inputs.begin() + 3);
  if (mask) all.push_back(mask);
  return all;
}

}  // namespace

Variable attention(const Variable& query, const Variable& key, const Variable& value, const Variable& mask, const AttentionForm& form) {
  std::vector<Variable> inputs{plain_attention(query, key, value, mask, form), query, key, value};
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
  const Variable outputs[] = {plain_attention(own[0], own[1], own[2], mask, form_)};
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
