// Dense layers: products of matrices in a graph, their gradients, and the same products of arrays. A network of two layers
// learns which of two rings a point lies on; each step is one call of a function that gives the new weights.
#include <cmath>
#include <damo/damo.hpp>
#include <iostream>
#include <numbers>
#include <random>
using namespace damo;

/// Points on rings of radius 1 and 2, and 0 or 1 for which.
std::pair<Array, Array> rings(std::int64_t count) {
  std::mt19937 random(1);
  std::normal_distribution<float> noise(0, 0.15f);
  std::vector<float> points, answers;
  for (std::int64_t i = 0; i < count; ++i) {
    const float ring = static_cast<float>(i % 2), angle = static_cast<float>(i) * 2 * std::numbers::pi_v<float> / static_cast<float>(count);
    points.push_back((1 + ring) * std::cos(angle) + noise(random));
    points.push_back((1 + ring) * std::sin(angle) + noise(random));
    answers.push_back(ring);
  }
  return {Array::from(points, {count, 2}), Array::from(answers, {count, 1})};
}

Array random_weights(std::int64_t rows, std::int64_t columns, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 1 / std::sqrt(static_cast<float>(rows)));
  std::vector<float> values(static_cast<std::size_t>(rows * columns));
  for (float& value : values) value = normal(random);
  return Array::from(values, {rows, columns});
}

int main() {
  const Variable x = input({float32, {kUnknown, 2}}, "x"), y = input({float32, {kUnknown, 1}}, "y");
  const std::vector<Variable> weights = {input({float32, {2, 32}}, "w1"), input({float32, {32}}, "b1"),
                                         input({float32, {32, 1}}, "w2"), input({float32, {1}}, "b2")};
  const Variable hidden = tanh(dot(x, weights[0]) + weights[1]);
  const Variable score = dot(hidden, weights[2]) + weights[3];        // the bias goes into the library's call
  const Variable cost = mean(softplus(score) - y * score);            // logistic loss
  std::vector<Variable> results = {cost};
  const std::vector<Variable> slopes = grad(cost, weights);           // products of views: no operand is copied
  for (std::size_t i = 0; i < weights.size(); ++i) results.push_back(weights[i] - 0.5 * slopes[i]);
  std::vector<Variable> inputs = {x, y};
  inputs.insert(inputs.end(), weights.begin(), weights.end());
  const Function step = function(inputs, results, {.name = "step"}), predict = function({x, weights[0], weights[1], weights[2], weights[3]}, {score});

  const auto [points, answers] = rings(256);
  std::vector<Array> call = {points, answers, random_weights(2, 32, 1), Array::zeros({32}), random_weights(32, 1, 2), Array::zeros({1})};
  double first = 0, last = 0;
  for (int i = 0; i < 400; ++i) {
    const Results now = step.call(call);
    last = now[0].item().as_double();
    if (i == 0) first = last;
    std::copy(now.begin() + 1, now.end(), call.begin() + 2);
  }
  std::cout << "loss " << first << " -> " << last << "\n";

  // The same layers with arrays: dot and einsum are one thing in two spellings.
  const Array by_hand = dot(tanh(dot(points, call[2]) + call[3]), call[4]) + call[5];
  const Array spelled = einsum("nh,ho->no", {tanh(einsum("ni,ih->nh", {points, call[2]}) + call[3]), call[4]}) + call[5];
  const Array scores = predict(points, call[2], call[3], call[4], call[5]);
  const double difference = max(abs(scores - by_hand)).item().as_double() + max(abs(scores - spelled)).item().as_double();
  const double right = mean(eq(scores > 0, answers > 0.5)).item().as_double();
  std::cout << "right " << 100 * right << " %, graph and arrays differ by " << difference << "\n";
  return last < 0.1 && right > 0.97 && difference < 1e-3 ? 0 : 1;
}
