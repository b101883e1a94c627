// A restricted Boltzmann machine on the digits, taught by contrastive divergence (Hinton 2002): pictures' free energy falls, that of what the machine makes of
// them in one step of Gibbs sampling rises. How well it knows them: the pseudo-likelihood of pictures that it has not seen, as scikit-learn's BernoulliRBM has it;
// and what the hidden units are worth to a classifier.
#include <cmath>
#include <damo/damo.hpp>
#include <iostream>

#include "support/digits.hpp"
#include "support/pipeline.hpp"
using namespace damo;

int main(int count, char** arguments) {
  const examples::Arguments run = examples::arguments_of(count, arguments);
  const examples::DigitHalves digits = examples::load_digit_halves();
  const std::int64_t pixels = examples::Digits::kPixels, units = 64, batch = 16, taught = digits.train_images.shape()[0];
  const int epochs = run.full ? 60 : 8;
  const double rate = 0.05;
  nn::Init init(run.seed);
  const Shared weight = init.normal("weight", {pixels, units}, 0.01), hidden_bias = init.full("hidden_bias", {units}), visible_bias = init.full("visible_bias", {pixels});
  const Shared data = shared("data", digits.train_images);
  RandomStream random(run.seed);

  const auto hidden_of = [&](const Variable& v) { return sigmoid(dot(v, weight) + hidden_bias); };
  const auto free_energy = [&](const Variable& v) { return -dot(v, visible_bias) - sum(softplus(dot(v, weight) + hidden_bias), 1); };
  const auto drawn = [&](const Variable& p) { return cast(random.bernoulli(p, p), float32); };

  // One step of contrastive divergence. What was sampled is data: no gradient goes through it.
  const Variable rows = vector("rows", int64), v = take(data, rows, 0);
  const Variable sampled = drawn(sigmoid(dot(drawn(hidden_of(v)), transpose(weight)) + visible_bias));
  const Variable cost = mean(free_energy(v)) - mean(free_energy(consider_constant(sampled)));
  const Function train = function({rows}, {mean(sqr(v - sampled))}, {.name = "train", .updates = optim::sgd(cost, {weight, hidden_bias, visible_bias}, rate)});

  // Of each picture one pixel is turned: how much likelier is it as it was?
  const Variable seen = matrix("seen"), which = random.randint({digits.test_images.shape()[0]}, 0, pixels);
  const Variable at = one_hot(which, pixels, float32), turned = seen * (1.0 - at) + (1.0 - seen) * at;
  const Function judge = function({seen}, {static_cast<double>(pixels) * mean(log(sigmoid(free_energy(turned) - free_energy(seen))))}, {.name = "judge"});
  const Array untaught = judge(digits.test_images);

  DataLoader loader(taught, [](std::span<const std::int64_t> some) { return Batch{Array::from(std::vector<std::int64_t>(some.begin(), some.end()))}; }, {.batch = batch, .seed = run.seed});
  std::vector<double> likelihoods;
  Progress progress(epochs, "Boltzmann machine");
  for (const std::int64_t epoch : progress) {
    for (const Batch& some : loader.epoch(epoch)) train(some[0]);
    const Array now = judge(digits.test_images);
    likelihoods.push_back(now.item().as_double());
    progress.show("pseudo-likelihood", now);
  }

  // A softmax on the hidden units' probabilities.
  const Shared labels = shared("labels", digits.train_labels);
  const nn::Linear scores(init, "scores", units, 10);
  const Variable x = matrix("x"), y = vector("y", int64), features = consider_constant(hidden_of(x)), loss = mean(cross_entropy(scores(features), y));
  const Function learn = function({}, {loss}, {.name = "learn", .updates = optim::adam(loss, scores.parameters(), 0.03), .givens = {{x, data}, {y, labels}}});
  const Function test = function({x, y}, {mean(eq(argmax(scores(features), 1), y))}, {.name = "test"});
  for (int step = 0; step < 300; ++step) learn();
  const double accuracy = Array(test(digits.test_images, digits.test_labels)).item().as_double();

  const double before = untaught.item().as_double(), after = likelihoods.back();
  std::cout << "pseudo-likelihood of the other half: " << before << " untaught, " << after << " after " << epochs << " epochs; digits told by the hidden units: " << 100 * accuracy << " %, "
            << examples::seconds() << " s\n";
  Chart("Restricted Boltzmann machine on the digits", "epoch", "pseudo-likelihood").line("other half", likelihoods).save("boltzmann_likelihood.svg");
  // Each unit's weights as a picture, from 0 to 1.
  const Array filters = weight.array().transpose().contiguous(), least = min(filters, 1, true), greatest = max(filters, 1, true);
  const Array pictures = (filters - least) / (greatest - least);
  std::vector<Array> lines;
  for (std::int64_t line = 0; line < 4; ++line) lines.push_back(pictures.slice({{line * 16, line * 16 + 16}}).copy());
  examples::save_pictures("boltzmann_filters.svg", lines);
  const bool right = after > before + (run.full ? 20 : 12) && accuracy > (run.full ? 0.8 : 0.6);
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
