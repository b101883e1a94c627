// Training: linear regression by gradient descent with momentum. The weights are shared variables: they stay on the device,
// and each call of train() gives them new values. The data stay there too; givens puts them in the inputs' place.
#include <cmath>
#include <damo/damo.hpp>
#include <iostream>
#include <random>
using namespace damo;

int main() {
  // y = x . (2, -1, 0.5) + 3, and some noise
  constexpr std::int64_t kRows = 2000;
  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  std::vector<float> features(3 * kRows), targets(kRows);
  for (float& feature : features) feature = normal(generator);
  for (std::size_t i = 0; i < kRows; ++i) {
    targets[i] = 2 * features[3 * i] - features[3 * i + 1] + 0.5f * features[3 * i + 2] + 3 + 0.1f * normal(generator);
  }
  const Shared data = shared("data", Array::from(features, {kRows, 3})), answer = shared("answer", Array::from(targets));

  // The model, written with inputs: it knows nothing of where they come from.
  const Variable x = matrix("x"), y = vector("y");
  const Shared w = shared("w", Array::zeros({3})), b = shared("b", Array::scalar(0.0f));
  const Variable prediction = sum(x * w, 1) + b, cost = mean(sqr(prediction - y));

  // A step: every new value is computed from the old ones. Elementwise updates fuse, and are written where the old values lie.
  std::vector<Assignment> updates;
  const std::vector<Variable> gradients = grad(cost, {w, b});
  for (const auto& [parameter, gradient] : {std::pair(w, gradients[0]), std::pair(b, gradients[1])}) {
    const Shared velocity = shared("velocity of " + parameter.name(), parameter.array());  // zeros
    const Variable next = 0.9 * velocity - 0.02 * gradient;
    updates.push_back({velocity, next});
    updates.push_back({parameter, parameter + next});
  }
  const Function train = function({}, {cost}, {.name = "train", .updates = updates, .givens = {{x, data}, {y, answer}}});
  const Function predict = function({x}, {prediction}, {.name = "predict"});  // the same weights, other data

  for (int step = 1; step <= 200; ++step) {
    const Array loss = train();
    if (step % 40 == 0) std::cout << "step " << step << ": cost " << loss.item().as_double() << "\n";
  }
  const Array guess = predict(Array::from(std::vector<float>{1, 1, 1, 0, 0, 0}, {2, 3}));
  std::cout << "w " << w.array() << ", b " << b.array() << ", predictions " << guess << "\n" << train.explain();

  const std::vector<double> weights = w.array().to_doubles(), values = guess.to_doubles();
  const bool right = std::abs(weights[0] - 2) < 0.02 && std::abs(weights[1] + 1) < 0.02 && std::abs(weights[2] - 0.5) < 0.02 &&
                     std::abs(values[0] - 4.5) < 0.03 && std::abs(values[1] - 3) < 0.02;
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
