// A decoder-only transformer (Radford et al. 2019) that learns the next character of a text, and then writes some. Tokens, positions, blocks of causal
// attention and a gelu layer, all in plain ops; the table of tokens serves both ends. The model stands in support/transformer.hpp, its shape is a
// struct: damo-bench times the same code as examples::kGpt2.
// Text: Damo's own user guide, or a file that is given. "full" is 1.4 million parameters, else a small one for seconds.
#include <damo/damo.hpp>
#include <iostream>
#include <random>

#include "support/pipeline.hpp"
#include "support/text.hpp"
#include "support/transformer.hpp"
using namespace damo;

int main(int count, char** arguments) {
  const examples::Arguments run = examples::arguments_of(count, arguments);
  const examples::Text text = examples::load_text(run.folder);
  const examples::TransformerSize size = run.full ? examples::TransformerSize{64, 192, 6, 3} : examples::TransformerSize{16, 64, 2, 1};
  const std::int64_t batch = 32, steps = run.full ? 600 : 250;
  if (text.size() < 10 * size.context) {
    std::cerr << "the text is missing or too short\n";
    return 1;
  }

  nn::Init init(run.seed);
  const examples::Transformer model(init, static_cast<std::int64_t>(text.letters.size()), size);
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
