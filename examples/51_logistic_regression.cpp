// Logistic regression on the handwritten digits: one layer, a softmax, and a penalty on large weights. The cost is convex, so there is one answer:
// scikit-learn's LogisticRegression(C=1) finds the same on the same halves, with a cost of 0.2422 and 93.44 % of the second half read right.
#include <cmath>
#include <damo/damo.hpp>
#include <iostream>

#include "support/digits.hpp"
#include "support/pipeline.hpp"
using namespace damo;

int main(int count, char** arguments) {
  const examples::Arguments run = examples::arguments_of(count, arguments);
  const auto [images, labels, test_images, test_labels] = examples::load_digit_halves();
  const double n = static_cast<double>(images.shape()[0]);

  nn::Init init(run.seed);
  const nn::Linear layer(init, "digits", 64, 10);
  const Variable x = matrix("x"), y = vector("y", int64), scores = layer(x);
  const Variable cost = mean(cross_entropy(scores, y)) + sum(sqr(layer.weight)) / (2 * n);
  const Shared all = shared("images", images), answers = shared("labels", labels);
  constexpr int steps = 1500;
  const optim::Updates updates = optim::sgd(cost, layer.parameters(), 0.15, {.momentum = 0.98, .nesterov = true});
  const Function train = function({}, {cost}, {.name = "train", .updates = updates, .givens = {{x, all}, {y, answers}}});
  const Function right_of = function({x, y}, {mean(cast(eq(argmax(scores, 1), y), float32))}, {.name = "right"});

  std::vector<double> costs;
  Progress progress(steps, "logistic regression");
  for (const std::int64_t i : progress) {
    (void)i;
    const Array now = train();
    costs.push_back(now.item().as_double());
    progress.show("cost", now);
  }
  Chart("Logistic regression on the digits", "step", "cost").line("training", costs).log_y().save("logistic_regression.svg");

  const double accuracy = Array(right_of(test_images, test_labels)).item().as_double();
  std::cout << "cost " << costs.back() << ", " << 100 * accuracy << " % of the other half read right, " << examples::seconds() << " s\n";
  const bool right = std::abs(costs.back() - 0.2422) < 0.0003 && std::abs(accuracy - 0.9344) < 0.005;
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
