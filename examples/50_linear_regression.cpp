// Linear regression: weights from noisy measurements, by gradient descent with momentum. Where it has come to rest the errors are orthogonal to
// every input, as least squares wants it: that is the test.
#include <cmath>
#include <damo/damo.hpp>
#include <iostream>

#include "support/pipeline.hpp"
using namespace damo;

int main(int count, char** arguments) {
  const examples::Arguments run = examples::arguments_of(count, arguments);
  constexpr std::int64_t rows = 2000, features = 8;
  nn::Init init(run.seed);
  const Shared data = init.normal("data", {rows, features}, 1), truth = init.uniform("truth", {features}, 2), noise = init.normal("noise", {rows}, 0.1);
  const Array measured = dot(data.array(), truth.array()) + 0.5 + noise.array();  // eager: Arrays, at once

  // The model, and a step.
  const Shared w = shared("w", Array::zeros({features})), b = shared("b", Array::scalar(0.0f)), y = shared("y", measured);
  const Variable error = dot(data, w) + b - y, cost = mean(sqr(error));
  const Function train = function({}, {cost}, {.name = "train", .updates = optim::sgd(cost, {w, b}, 0.05, {.momentum = 0.9})});

  std::vector<double> costs;
  Progress progress(400, "linear regression");
  for (const std::int64_t i : progress) {
    (void)i;
    const Array now = train();
    costs.push_back(now.item().as_double());
    progress.show("cost", now);
  }
  Chart("Linear regression", "step", "mean squared error").line("training", costs).log_y().save("linear_regression.svg");

  const Function slopes = function({}, {norm(dot(transpose(data), error)) / static_cast<double>(rows), abs(mean(error))});
  const auto [along_inputs, along_ones] = slopes.call<2>();
  const double left = std::hypot(along_inputs.item().as_double(), along_ones.item().as_double());
  std::cout << "cost " << costs.back() << " (the noise's variance is 0.01), slope left " << left << ", bias " << b.array().item().as_double() << ", " << examples::seconds() << " s\n";
  const bool right = left < 1e-5 && std::abs(costs.back() - 0.01) < 0.002;
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
