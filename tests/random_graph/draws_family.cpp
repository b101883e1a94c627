// What draws should give: bits, uniform numbers and dropout from Philox4x32-10 as Random123 defines it, written here once more; other distributions
// as a kernel of their own draws them on the CPU (or on the device, where there is no compiler for the CPU), whose values tests/function/distributions_test.cpp
// judges: in a graph, fused or not, on any device, they are the same bits.
#include "draws_ops.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "op_family.hpp"

namespace damo::testing {
namespace {

std::optional<NodeSpec> draw_draw(Draw& draw) {
  static const char* kDraws[] = {"bits", "uniform", "uniform", "uniform_between", "normal", "exponential", "gamma", "bernoulli", "randint", "poisson", "dropout", "dropout", "categorical",
                                 "gumbel", "truncated_normal", "choice", "categorical_of", "permutation"};
  const std::string name = kDraws[draw.pick(std::size(kDraws))];
  const std::optional<int> x = draw.find([&](const ValueType& type) {
    if (name.starts_with("categorical")) return !type.dims.empty() && type.dtype == float32;
    return name == "dropout" ? is_floating(type.dtype) : name != "permutation" || !type.dims.empty();
  });
  if (!x) return {};
  return NodeSpec{.kind = NodeSpec::Kind::kFamily, .family = "draws", .name = name, .operands = {*x}, .pattern = {draw.number(0, 1000), draw.number(0, 3), draw.number(0, 1)}};
}

std::vector<ValueType> draw_types(const NodeSpec& node, const std::vector<ValueType>& in, const NewSymbols&) {
  ValueType result = in.at(0);
  const bool wide = node.pattern.at(2) != 0;
  if (node.name == "permutation") {
    demand(!result.dims.empty());
    return {result};
  }
  if (node.name.starts_with("categorical")) {
    demand(!result.dims.empty() && result.dtype == float32 && (result.dims.back() < kSizedSymbols || result.dims.back() >= kFreshSymbols));
    result.dims.pop_back();
    return {{int64, result.dims}};
  }
  if (node.name == "dropout") demand(is_floating(result.dtype));
  else if (node.name == "bits") result.dtype = wide ? uint64 : uint32;
  else if (node.name == "bernoulli") result.dtype = bool_;
  else result.dtype = node.name == "randint" || node.name == "poisson" || node.name == "choice" ? int64 : wide ? float64 : float32;
  return {result};
}

using Words = std::array<std::uint32_t, 4>;

/// Random123's philox4x32_R(10, counter, key).
Words philox(Words counter, std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = 0xD2511F53ull * counter[0], p1 = 0xCD9E8D57ull * counter[2];
    counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ key0, static_cast<std::uint32_t>(p1), static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ key1, static_cast<std::uint32_t>(p0)};
    key0 += 0x9E3779B9u, key1 += 0xBB67AE85u;
  }
  return counter;
}

/// An element's word of 32 or 64 bits: neighbours share a block.
std::uint64_t word_of(const NodeSpec& node, std::uint64_t element, bool wide) {
  const std::uint64_t block = wide ? element / 2 : element / 4;
  const Words words = philox({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), static_cast<std::uint32_t>(node.pattern[1]), 0}, static_cast<std::uint32_t>(node.pattern[0]), 0);
  if (!wide) return words[element % 4];
  return static_cast<std::uint64_t>(words[element % 2 * 2 + 1]) << 32 | words[element % 2 * 2];
}

std::vector<Tensor> draw_reference(const NodeSpec& node, const std::vector<Tensor>& in, const std::vector<DType>& dtypes) {
  const Tensor& x = in[0];
  const bool wide = node.pattern[2] != 0;
  Tensor result{dtypes[0], x.shape, {}};
  if (node.name == "bits" || node.name == "uniform") {
    for (std::uint64_t i = 0; i < x.elements.size(); ++i) {
      const std::uint64_t word = word_of(node, i, wide);
      result.elements.push_back({node.name == "bits" ? static_cast<Wide>(word) : wide ? static_cast<Wide>(word >> 11) * 0x1p-53L : static_cast<Wide>(word >> 8) * 0x1p-24L, 0});
    }
    return {result};
  }
  if (node.name == "dropout") {
    const DType kept = is_half(x.dtype) ? float32 : x.dtype;
    const Tensor tame = cast_tensor(tamed_tensor(x), kept);
    const Tensor scaled = apply_row(*find_elementwise("mul"), {tame, Tensor{kept, {}, {{1 / 0.75L, 0x1p-24L}}}});
    Tensor kept_ones{kept, x.shape, {}};
    for (std::uint64_t i = 0; i < x.elements.size(); ++i) {
      const bool stays = word_of(node, i, false) < 0xC0000000u;
      kept_ones.elements.push_back(stays ? scaled.elements[i] : std::isfinite(tame.elements[i].error) ? Element{0, 0} : tame.elements[i]);
    }
    return {cast_tensor(kept_ones, x.dtype)};
  }
  if (node.name.starts_with("categorical")) demand_extents(x.shape[-1] > 0);
  if (node.name == "permutation") {
    demand_extents(x.shape.size() > 0);
    std::vector<std::int64_t> order(static_cast<std::size_t>(x.shape[0]));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return word_of(node, static_cast<std::uint64_t>(a), true) < word_of(node, static_cast<std::uint64_t>(b), true); });
    return {gathered(x, x.shape, [&](Coordinates at) { return at[0] = order[static_cast<std::size_t>(at[0])], at; })};
  }
  demand_extents(DAMO_HAS_CPU != 0);  // its generator is the reference of what follows; a build without it leaves such graphs out
  RandomGenerator random(static_cast<std::uint64_t>(node.pattern[0]), static_cast<std::uint64_t>(node.pattern[1]), Device("cpu"));
  if (node.name == "categorical") {
    const Array noise = random.gumbel(x.shape);
    std::vector<double> values = noise.to_doubles();
    Tensor sums = tamed_tensor(x);
    for (std::size_t i = 0; i < values.size(); ++i) sums.elements[i].value += static_cast<Wide>(values[i]), sums.elements[i].error += 0x1p-22L * (4 + std::fabs(static_cast<Wide>(values[i])));
    return {reduce_tensor("argmax", sums, {x.shape.rank() - 1}, false, int64)};
  }
  if (node.name == "categorical_of") {
    const std::vector<double> noise = random.exponential(x.shape).to_doubles();
    Tensor divisors{float32, x.shape, {}};
    for (double value : noise) divisors.elements.push_back({static_cast<Wide>(value), static_cast<Wide>(value) * 0x1p-22L});
    const Tensor probabilities = apply_row("add", {tamed_tensor(x), number_like(x, 5)});
    return {reduce_tensor("argmax", apply_row("true_div", {probabilities, divisors}), {x.shape.rank() - 1}, false, int64)};
  }
  const Array array = drawn<Array>(node.name, random, x.shape, wide ? float64 : float32);
  for (double value : array.to_doubles()) result.elements.push_back({static_cast<Wide>(value), 0});
  return {result};
}

}  // namespace

const OpFamily draws_family{"draws", draw_draw, draw_types, draws_node<Variable>, draws_node<Array>, draw_reference};

}  // namespace damo::testing
