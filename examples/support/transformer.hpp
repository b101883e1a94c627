// A decoder-only transformer (Radford et al. 2019) in plain ops, which 55_character_transformer trains on characters and damo-bench times at the shape of
// GPT-2. Parameters and the stream between blocks are float32; what is multiplied is of TransformerSize::compute, as mixed precision has it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <damo/damo.hpp>

namespace examples {

struct TransformerSize {
  std::int64_t context, features, heads;
  int blocks;
  damo::DType compute = damo::float32;
};
/// 124 million parameters with a vocabulary of 50,257, or 50,304, which kernels like better.
inline constexpr TransformerSize kGpt2{1024, 768, 12, 12, damo::bfloat16};

struct TransformerBlock {
  std::int64_t heads;
  damo::DType compute;
  damo::nn::LayerNorm before_attention, before_layer;
  damo::nn::Linear mix, out, up, down;

  TransformerBlock(damo::nn::Init& init, const std::string& name, const TransformerSize& size)
      : heads(size.heads), compute(size.compute), before_attention(init, name + ".before_attention", size.features), before_layer(init, name + ".before_layer", size.features),
        mix(init, name + ".mix", size.features, 3 * size.features), out(init, name + ".out", size.features, size.features),
        up(init, name + ".up", size.features, 4 * size.features), down(init, name + ".down", 4 * size.features, size.features) {}

  /// x: (batch, context, features), all known.
  damo::Variable operator()(const damo::Variable& x) const {
    const damo::Shape dims = x.dims();
    const damo::Variable qkv = reshape(mix(cast(before_attention(x), compute)), {dims[0], dims[1], 3, heads, dims[2] / heads});
    const auto part = [&](std::int64_t i) { return swap_axes(subtensor(qkv, {{}, {}, i}), 1, 2); };
    const damo::Variable seen = damo::nn::attention(part(0), part(1), part(2), {.causal = true});
    const damo::Variable h = x + out(reshape(swap_axes(seen, 1, 2), dims));
    return h + down(gelu_tanh(up(cast(before_layer(h), compute))));
  }
  std::vector<damo::Shared> parameters() const { return damo::nn::parameters(before_attention, mix, out, before_layer, up, down); }
};

struct Transformer {
  TransformerSize size;
  damo::nn::Embedding tokens, positions;
  std::vector<TransformerBlock> blocks;
  damo::nn::LayerNorm last;

  Transformer(damo::nn::Init& init, std::int64_t vocabulary, const TransformerSize& size)
      : size(size), tokens(init, "tokens", vocabulary, size.features), positions(init, "positions", size.context, size.features), last(init, "last", size.features) {
    for (int i = 0; i < size.blocks; ++i) blocks.emplace_back(init, "block" + std::to_string(i), size);
  }
  /// (batch, context) -> (batch, context, vocabulary) of float32. The table of tokens serves both ends.
  damo::Variable operator()(const damo::Variable& words) const {
    damo::Variable x = tokens(words) + positions.weight;
    for (const TransformerBlock& block : blocks) x = block(x);
    return cast(dot(cast(last(x), size.compute), transpose(cast(tokens.weight, size.compute))), damo::float32);
  }
  std::vector<damo::Shared> parameters() const {
    std::vector<damo::Shared> all = damo::nn::parameters(tokens, positions, last);
    for (const TransformerBlock& block : blocks) {
      for (const damo::Shared& parameter : block.parameters()) all.push_back(parameter);
    }
    return all;
  }
};

}  // namespace examples
