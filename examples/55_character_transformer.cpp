// A decoder-only transformer (Radford et al. 2019) that learns the next character of a text, and then writes some. Tokens, positions, blocks of causal
// attention and a gelu layer, all in plain ops; the table of tokens serves both ends. The shape is a struct: GPT-2's is {1024, 768, 12, 12}.
// Text: Damo's own user guide, or a file that is given. "full" is 1.4 million parameters, else a small one for seconds.
#include <damo/damo.hpp>
#include <iostream>
#include <random>

#include "support/pipeline.hpp"
#include "support/text.hpp"
using namespace damo;

struct Size {
  std::int64_t context, features, heads;
  int blocks;
};

struct Block {
  std::int64_t heads;
  nn::LayerNorm before_attention, before_layer;
  nn::Linear mix, out, up, down;

  Block(nn::Init& init, const std::string& name, const Size& size)
      : heads(size.heads), before_attention(init, name + ".before_attention", size.features), before_layer(init, name + ".before_layer", size.features),
        mix(init, name + ".mix", size.features, 3 * size.features), out(init, name + ".out", size.features, size.features),
        up(init, name + ".up", size.features, 4 * size.features), down(init, name + ".down", 4 * size.features, size.features) {}

  /// x: (batch, context, features), all known.
  Variable operator()(const Variable& x) const {
    const Shape dims = x.dims();
    std::vector<Variable> qkv = split(mix(before_attention(x)), {dims[2], dims[2], dims[2]}, -1);
    for (Variable& part : qkv) part = swap_axes(reshape(part, {dims[0], dims[1], heads, dims[2] / heads}), 1, 2);
    const Variable seen = nn::attention(qkv[0], qkv[1], qkv[2], {.causal = true});
    const Variable h = x + out(reshape(swap_axes(seen, 1, 2), dims));
    return h + down(gelu_tanh(up(before_layer(h))));
  }
  std::vector<Shared> parameters() const { return nn::parameters(before_attention, mix, out, before_layer, up, down); }
};

struct Transformer {
  Size size;
  nn::Embedding tokens, positions;
  std::vector<Block> blocks;
  nn::LayerNorm last;

  Transformer(nn::Init& init, std::int64_t vocabulary, const Size& size)
      : size(size), tokens(init, "tokens", vocabulary, size.features), positions(init, "positions", size.context, size.features), last(init, "last", size.features) {
    for (int i = 0; i < size.blocks; ++i) blocks.emplace_back(init, "block" + std::to_string(i), size);
  }
  /// (batch, context) -> (batch, context, vocabulary)
  Variable operator()(const Variable& words) const {
    Variable x = tokens(words) + positions.weight;
    for (const Block& block : blocks) x = block(x);
    return dot(last(x), transpose(tokens.weight));
  }
  std::vector<Shared> parameters() const {
    std::vector<Shared> all = nn::parameters(tokens, positions, last);
    for (const Block& block : blocks) {
      for (const Shared& parameter : block.parameters()) all.push_back(parameter);
    }
    return all;
  }
};

int main(int count, char** arguments) {
  const examples::Arguments run = examples::arguments_of(count, arguments);
  const examples::Text text = examples::load_text(run.folder);
  const Size size = run.full ? Size{64, 192, 6, 3} : Size{16, 64, 2, 1};
  const std::int64_t batch = 32, steps = run.full ? 600 : 250;
  if (text.size() < 10 * size.context) {
    std::cerr << "the text is missing or too short\n";
    return 1;
  }

  nn::Init init(run.seed);
  const Transformer model(init, static_cast<std::int64_t>(text.letters.size()), size);
  const std::vector<Shared> parameters = model.parameters();
  std::int64_t weights = 0;
  for (const Shared& parameter : parameters) weights += parameter.dims().size();

  const Variable words = input({int64, {batch, size.context}}, "words"), next = input({int64, {batch, size.context}}, "next");
  const Variable cost = mean(cross_entropy(model(words), next));
  const Shared step = shared("step", Array::full({}, std::int64_t{0}, int64));
  const std::vector<Variable> gradients = optim::clip_by_global_norm(grad(cost, std::vector<Variable>(parameters.begin(), parameters.end())), 1.0);
  optim::Updates updates = optim::adamw(gradients, parameters, optim::warmup(step, optim::cosine(step, run.full ? 1e-3 : 1e-2, static_cast<double>(steps)), 20), 0.1);
  updates.push_back({step, step + 1});
  const Function train = function({words, next}, {cost}, {.name = "train", .updates = updates});

  // Any place of the text may begin a row.
  const auto rows_at = [&](std::span<const std::int64_t> places) { return text.rows_at(places, size.context); };
  const DataLoader loader(text.size() - size.context, rows_at, {.batch = batch, .seed = run.seed, .drop_last = true});
  std::vector<double> costs;
  Progress progress(steps, "transformer of " + std::to_string(weights) + " parameters");
  for (std::int64_t epoch = 0; progress.done() < steps; ++epoch) {
    for (const Batch& rows : loader.epoch(epoch)) {
      if (progress.done() == steps) break;
      const Array now = train(rows[0], rows[1]);
      costs.push_back(now.item().as_double());
      progress.show("cost", now);
      progress.advance();
    }
  }
  Chart("Transformer, characters of the user guide", "step", "nats a character").line("training", costs).line("by counts alone", {0, static_cast<double>(steps)}, {text.entropy, text.entropy}).save("transformer.svg");

  // It writes on, a character at a time, each drawn by its probability.
  const Variable line = input({int64, {1, size.context}}, "line");
  const Function guess = function({line}, {softmax(subtensor(model(line), {0, -1}))}, {.name = "guess"});
  std::vector<std::int64_t> written(text.codes.begin(), text.codes.begin() + size.context);
  std::mt19937_64 random(run.seed);
  for (int i = 0; i < (run.full ? 400 : 60); ++i) {
    const std::vector<std::int64_t> end(written.end() - size.context, written.end());
    const std::vector<float> chances = Array(guess(Array::from(end, {1, size.context}))).to_vector<float>();
    written.push_back(std::discrete_distribution<std::int64_t>(chances.begin(), chances.end())(random));
  }
  for (const std::int64_t code : written) std::cout << text.letters[static_cast<std::size_t>(code)];
  double last = 0;
  for (std::size_t i = costs.size() - 20; i < costs.size(); ++i) last += costs[i] / 20;
  std::cout << "\ncost " << last << " nats a character, by counts alone " << text.entropy << ", " << examples::seconds() << " s\n";
  const bool right = last < (run.full ? 0.4 : 0.85) * text.entropy;
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
