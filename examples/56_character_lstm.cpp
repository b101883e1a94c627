// An LSTM (Hochreiter, Schmidhuber 1997) that learns the next character of a text by scan, backpropagation through time included, and then writes some: the writing is a
// loop too, in one call, each character drawn by its probability and given to the next step.
// Text: Damo's own user guide, or a file that is given. "full" has the shape of the benchmark (64 steps, batch 64, 256 features), else a small one for seconds.
#include <damo/damo.hpp>
#include <iostream>

#include "support/character_model.hpp"
#include "support/pipeline.hpp"
#include "support/text.hpp"
using namespace damo;

int main(int count, char** arguments) {
  const examples::Arguments run = examples::arguments_of(count, arguments);
  const examples::Text text = examples::load_text(run.folder);
  const std::int64_t length = run.full ? 64 : 24, batch = run.full ? 64 : 32, features = run.full ? 256 : 64, steps = run.full ? 1500 : 250;
  if (text.size() < 10 * length) {
    std::cerr << "the text is missing or too short\n";
    return 1;
  }

  nn::Init init(run.seed);
  const examples::CharacterModel model(init, static_cast<std::int64_t>(text.letters.size()), run.full ? 96 : 32, features);
  const std::vector<Shared> parameters = model.parameters();
  const Variable here = input({int64, {batch, length}}, "here"), next = input({int64, {batch, length}}, "next");
  const Variable cost = mean(cross_entropy(model(transpose(here)), transpose(next)));
  const std::vector<Variable> gradients = optim::clip_by_global_norm(grad(cost, std::vector<Variable>(parameters.begin(), parameters.end())), 1.0);
  const Function train = function({here, next}, {cost}, {.name = "train", .updates = optim::adam(gradients, parameters, run.full ? 2e-3 : 1e-2)});

  // Any place of the text may begin a row.
  const auto rows_at = [&](std::span<const std::int64_t> places) { return text.rows_at(places, length); };
  const DataLoader loader(text.size() - length, rows_at, {.batch = batch, .seed = run.seed, .drop_last = true});
  std::vector<double> costs;
  Progress progress(steps, "LSTM");
  for (std::int64_t epoch = 0; progress.done() < steps; ++epoch) {
    for (const Batch& rows : loader.epoch(epoch)) {
      if (progress.done() == steps) break;
      const Array now = train(rows[0], rows[1]);
      costs.push_back(now.item().as_double());
      progress.show("cost", now);
      progress.advance();
    }
  }
  Chart("LSTM, characters of the user guide", "step", "nats a character").line("training", costs).line("by counts alone", {0, static_cast<double>(steps)}, {text.entropy, text.entropy}).save("lstm.svg");

  // Each step draws a letter and hands it on with the cell's state.
  const RandomStream random(run.seed);
  const Variable first = input({int64, {1}}, "first"), zeros = second(expand_dims(subtensor(model.lstm.cell.bias, {{0, features}}), 0), 0.0);
  const ScanOutputs writing = scan({.initial = {first, zeros, zeros}, .steps = run.full ? 600 : 60}, [&](const Variable& letter, const Variable& hidden, const Variable& cell) {
    const nn::LSTMCell::State state = model.lstm.cell(model.letters(letter), {hidden, cell});
    return std::vector{random.categorical(model.scores(state.hidden)), state.hidden, state.cell};
  });
  const Function write = function({first}, {writing[0]}, {.name = "write"});
  for (const std::int64_t code : Array(write(Array::from(std::vector{text.codes[0]}, {1}))).to_vector<std::int64_t>()) std::cout << text.letters[static_cast<std::size_t>(code)];
  double last = 0;
  for (std::size_t i = costs.size() - 20; i < costs.size(); ++i) last += costs[i] / 20;
  std::cout << "\ncost " << last << " nats a character, by counts alone " << text.entropy << ", " << examples::seconds() << " s\n";
  const bool right = last < (run.full ? 0.5 : 0.85) * text.entropy;
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
