// A network that learns to read: 1,797 handwritten digits of 8 x 8 pixels, the first half to learn from, the second half to be tested
// on. Data and weights stay on the device; a step takes the numbers of a batch's rows, shuffled, and updates all weights. The
// activation in the middle is a row of our own: it fuses into the layer around it, forward and backward.
#include <damo/damo.hpp>
#include <iostream>

#include "support/digits.hpp"
#include "support/pipeline.hpp"
using namespace damo;

/// Grows as the square, so small inputs count little.
inline const Elementwise squared_relu{{.name = "squared_relu",
                                       .doc = "x^2 above 0, else 0",
                                       .code = "x0 > T(0) ? x0 * x0 : T(0)",
                                       .gradient = [](auto& g, auto& in, auto&) { return Gradients(g * 2.0 * maximum(in[0], 0.0)); }}};

int main(int count, char** arguments) {
  const std::uint64_t seed = examples::arguments_of(count, arguments).seed;
  const auto [images, labels, test_images, test_labels] = examples::load_digit_halves();
  const Shared data = shared("images", images), answers = shared("labels", labels);

  // The model.
  nn::Init init(seed);
  const Variable x = matrix("x"), y = vector("y", int64);
  const nn::Linear first(init, "first", 64, 128), second(init, "second", 128, 10);
  const Variable hidden = squared_relu(first(x)), scores = second(hidden);
  const Variable cost = mean(cross_entropy(scores, y));

  // A step: the rows of a batch in, the cost out, new weights left behind.
  const Variable rows = vector("rows", int64);
  const Function train = function({rows}, {cost}, {.name = "train", .updates = optim::adam(cost, nn::parameters(first, second), 0.003),
                                                   .givens = {{x, take(data, rows, 0)}, {y, take(answers, rows, 0)}}});
  const Function wrong = function({x, y}, {mean(cast(neq(argmax(scores, 1), y), float32))}, {.name = "wrong"});

  const DataLoader loader({arange(images.shape()[0], int64)}, {.batch = 64, .seed = seed, .drop_last = true});
  double errors = 1;
  for (std::int64_t epoch = 1; epoch <= 30; ++epoch) {
    double sum = 0;
    for (const Batch& batch : loader.epoch(epoch)) sum += Array(train(batch[0])).item().as_double();
    errors = Array(wrong(test_images, test_labels)).item().as_double();
    if (epoch % 5 == 0) std::cout << "epoch " << epoch << ": cost " << sum / static_cast<double>(loader.batches()) << ", " << 100 * (1 - errors) << " % of the other half read right\n";
  }
  std::cout << train.kernels().size() << " kernels a step\n" << (errors < 0.07 ? "right\n" : "WRONG\n");
  return errors < 0.07 ? 0 : 1;
}
