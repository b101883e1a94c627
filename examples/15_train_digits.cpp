// A network that learns to read: 1,797 handwritten digits of 8 x 8 pixels, the first half to learn from, the second half to be tested
// on. Data and weights stay on the device; a step takes a batch of rows that the host has shuffled, and updates all weights. The
// activation in the middle is a row of our own: it fuses into the layer around it, forward and backward.
#include <algorithm>
#include <cmath>
#include <damo/damo.hpp>
#include <iostream>
#include <numeric>
#include <random>

#include "support/digits.hpp"
using namespace damo;

/// Grows as the square, so small inputs count little.
inline const Elementwise squared_relu{{.name = "squared_relu",
                                       .doc = "x^2 above 0, else 0",
                                       .code = "x0 > T(0) ? x0 * x0 : T(0)",
                                       .gradient = [](auto& g, auto& in, auto&) { return Gradients(g * 2.0 * maximum(in[0], 0.0)); }}};

/// Uniform weights whose sums have the size of their inputs (Glorot and Bengio, 2010).
Shared weights(const std::string& name, std::int64_t inputs, std::int64_t outputs, std::mt19937& random) {
  const double limit = std::sqrt(6.0 / static_cast<double>(inputs + outputs));
  std::uniform_real_distribution<float> uniform(static_cast<float>(-limit), static_cast<float>(limit));
  std::vector<float> values(static_cast<std::size_t>(inputs * outputs));
  for (float& value : values) value = uniform(random);
  return shared(name, Array::from(values, {inputs, outputs}));
}

/// Adam (Kingma and Ba, 2015): each weight's step is its gradient's running mean by the root of its running square.
std::vector<Assignment> adam(const Variable& cost, const std::vector<Shared>& parameters, double rate) {
  const std::vector<Variable> gradients = grad(cost, std::vector<Variable>(parameters.begin(), parameters.end()));
  const Shared steps = shared("steps", Array::scalar(0.0f));
  std::vector<Assignment> updates{{steps, steps + 1.0}};
  const Variable t = steps + 1.0, scale = rate * sqrt(1.0 - pow(0.999, t)) / (1.0 - pow(0.9, t));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Array zeros = Array::zeros(parameters[i].array().shape());
    const Shared mean = shared("mean of " + parameters[i].name(), zeros), square = shared("square of " + parameters[i].name(), zeros);
    const Variable next_mean = 0.9 * mean + 0.1 * gradients[i], next_square = 0.999 * square + 0.001 * sqr(gradients[i]);
    updates.push_back({mean, next_mean});
    updates.push_back({square, next_square});
    updates.push_back({parameters[i], parameters[i] - scale * next_mean / (sqrt(next_square) + 1e-7)});
  }
  return updates;
}

int main() {
  const examples::Digits digits = examples::load_digits();
  const std::int64_t count = digits.count(), taught = count / 2, batch = 64;
  const Array images = Array::from(digits.images, {count, 64}), labels = Array::from(digits.labels, {count});
  const Shared data = shared("images", images.slice({{0, taught}})), answers = shared("labels", labels.slice({{0, taught}}));

  // The model.
  std::mt19937 random(1);
  const Variable x = matrix("x"), y = vector("y", int64);
  const Shared w1 = weights("w1", 64, 128, random), b1 = shared("b1", Array::zeros({128}));
  const Shared w2 = weights("w2", 128, 10, random), b2 = shared("b2", Array::zeros({10}));
  const Variable hidden = squared_relu(dot(x, w1) + b1), scores = dot(hidden, w2) + b2;
  const Variable cost = mean(cross_entropy(scores, y));

  // A step: the rows of a batch in, the cost out, new weights left behind.
  const Variable rows = vector("rows", int64);
  const Function train = function({rows}, {cost}, {.name = "train", .updates = adam(cost, {w1, b1, w2, b2}, 0.003),
                                                   .givens = {{x, take(data, rows)}, {y, take(answers, rows)}}});
  const Function wrong = function({x, y}, {mean(cast(neq(argmax(scores, 1), y), float32))}, {.name = "wrong"});

  std::vector<std::int64_t> order(static_cast<std::size_t>(taught));
  std::iota(order.begin(), order.end(), 0);
  double errors = 1;
  for (int epoch = 1; epoch <= 30; ++epoch) {
    std::shuffle(order.begin(), order.end(), random);
    double sum = 0;
    const std::int64_t batches = taught / batch;
    for (std::int64_t i = 0; i < batches; ++i) {
      sum += Array(train(Array::from(std::vector<std::int64_t>(order.begin() + i * batch, order.begin() + (i + 1) * batch), {batch}))).item().as_double();
    }
    errors = Array(wrong(images.slice({{.start = taught}}), labels.slice({{.start = taught}}))).item().as_double();
    if (epoch % 5 == 0) std::cout << "epoch " << epoch << ": cost " << sum / static_cast<double>(batches) << ", " << 100 * (1 - errors) << " % of the other half read right\n";
  }
  std::cout << train.kernels().size() << " kernels a step\n" << (errors < 0.07 ? "right\n" : "WRONG\n");
  return errors < 0.07 ? 0 : 1;
}
