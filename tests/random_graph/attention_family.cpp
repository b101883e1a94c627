#include "attention_ops.hpp"

#include <algorithm>
#include <cmath>

#include "op_family.hpp"

namespace damo::testing {
namespace {

constexpr Wide kScale = 0.25L;

bool are_keys_of(const ValueType& x, const ValueType& y) {
  const std::size_t rank = x.dims.size();
  return (rank == 2 || rank == 3) && y.dims.size() == rank && is_floating(x.dtype) && y.dtype == x.dtype && y.dims.back() == x.dims.back() && (rank == 2 || y.dims[0] == x.dims[0]);
}

std::optional<NodeSpec> draw_attention(Draw& draw) {
  static const char* kNames[] = {"attention", "causal", "masked_attention"};
  const std::optional<int> x = draw.find([](const ValueType& type) { return are_keys_of(type, type); });
  if (!x) return {};
  const int y = *draw.find([&](const ValueType& type) { return are_keys_of(draw.type(*x), type); });
  NodeSpec node{.kind = NodeSpec::Kind::kFamily, .family = "attention", .name = kNames[draw.pick(std::size(kNames))], .operands = {*x, y},
                .pattern = {draw.number(0, 1), draw.number(0, 1), draw.number(0, 1)}};
  const Dims& dims = draw.type(y).dims;
  draw.bounds = {2, 2 * draw.extent(dims.back())};
  draw.result_size = draw.size(*x) * draw.extent(dims[dims.size() - 2]) / 2;
  return node;
}

std::vector<ValueType> attention_types(const NodeSpec& node, const std::vector<ValueType>& in, const NewSymbols& symbols) {
  demand(are_keys_of(in.at(0), in.at(1)));
  Dims dims = in[0].dims;
  dims.insert(dims.end() - 2, node.pattern.at(0) != 0 ? symbols.fresh() : kOne);
  if (node.pattern[2] != 0 && dims.size() == 3) dims.insert(dims.begin(), kOne);
  if (node.pattern[1] != 0) dims.back() = symbols.fresh(1);
  return {{in[0].dtype, dims}};
}

/// What the i-th query may look at.
bool may_look_at(const std::string& name, std::int64_t i, std::int64_t j) { return name == "causal" ? j <= i : name != "masked_attention" || (i + 2 * j) % 3 != 0; }

/// One query's result for one axis of values: weights e^(score - most) over their sum.
struct Weighted {
  std::vector<Wide> weights;
  Wide error = 0;  ///< relative, of each
};
Weighted weighted(const std::vector<Element>& scores, Wide unit) {
  Weighted result;
  Wide most = -std::numeric_limits<Wide>::infinity(), sum = 0;
  for (const Element& score : scores) most = std::max(most, score.value), result.error = std::max(result.error, score.error);
  for (const Element& score : scores) result.weights.push_back(std::exp(score.value - most)), sum += result.weights.back();
  for (Wide& weight : result.weights) weight /= sum;
  result.error = result.error < 0.25L ? std::expm1(4 * result.error) + unit * (static_cast<Wide>(scores.size()) + 16) : std::numeric_limits<Wide>::infinity();
  return result;
}

std::vector<Tensor> attention_reference(const NodeSpec& node, const std::vector<Tensor>& in, const std::vector<DType>& dtypes) {
  const Tensor x = tamed_tensor(in[0]), y = tamed_tensor(in[1]);
  demand_extents(x.shape.size() > 0 && y.shape.size() > 0);
  const std::int64_t n = x.shape[-2], m = y.shape[-2], features = x.shape[-1], batch = x.shape.size() / (n * features);
  const std::int64_t heads = node.pattern[0] + 1, depth = features * (node.pattern[1] + 1);
  const Wide unit = x.dtype == float16 ? 0x1p-11L : x.dtype == bfloat16 ? 0x1p-8L : x.dtype == float32 ? 0x1p-24L : 0x1p-53L;
  Tensor result{dtypes[0], {}, {}};
  if (x.shape.rank() == 3 || node.pattern[2] != 0) result.shape.push_back(batch);
  for (std::int64_t extent : {heads, n, depth}) result.shape.push_back(extent);
  const auto key = [&](std::int64_t b, std::int64_t j, std::int64_t f) { return y.elements[static_cast<std::size_t>((b * m + j) * features + f)]; };
  for (std::int64_t row = 0; row < batch * heads * n; ++row) {
    const std::int64_t b = row / (heads * n), i = row % n;
    const Wide factor = row / n % heads == 1 ? -0.5L : 1;
    std::vector<Element> scores;
    std::vector<std::int64_t> seen;
    for (std::int64_t j = 0; j < m; ++j) {
      if (!may_look_at(node.name, i, j)) continue;
      Element score;
      for (std::int64_t f = 0; f < features; ++f) {
        const Element q = x.elements[static_cast<std::size_t>((b * n + i) * features + f)], k = key(b, j, f);
        score.value += q.value * k.value * factor * kScale;
        score.error += kScale * (std::fabs(q.value) * k.error + std::fabs(k.value) * q.error + q.error * k.error + std::fabs(q.value * k.value) * unit * (static_cast<Wide>(features) + 4));
      }
      if (std::isnan(score.error)) score.error = std::numeric_limits<Wide>::infinity();  // 0 by what nobody knows
      scores.push_back(score), seen.push_back(j);
    }
    const Weighted weights = weighted(scores, unit);
    for (std::int64_t d = 0; d < depth; ++d) {
      Element sum;
      for (std::size_t s = 0; s < seen.size(); ++s) {
        Element value = key(b, seen[s], d % features);
        if (d >= features) value.value /= 4, value.error = value.error / 4 + std::fabs(value.value) * unit;
        sum.value += weights.weights[s] * value.value;
        sum.error += weights.weights[s] * (value.error + (std::fabs(value.value) + value.error) * (weights.error + unit * static_cast<Wide>(m + 4)));
      }
      if (!std::isfinite(sum.error)) sum = {0, std::numeric_limits<Wide>::infinity()};
      else if (!seen.empty()) sum.error += std::fabs(sum.value) * unit + (x.dtype == float16 ? 0x1p-22L : 1e-38L);
      result.elements.push_back(sum);
    }
  }
  return {result};
}

}  // namespace

const OpFamily attention_family{"attention", draw_attention, attention_types, attention_node<Variable>, attention_node<Array>, attention_reference};

}  // namespace damo::testing
