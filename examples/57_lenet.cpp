// LeNet on Fashion-MNIST (Debian's package dataset-fashion-mnist; a folder with MNIST's file names may be given instead): two convolutions, each with max pooling
// behind it, and two dense layers with dropout. Pictures come as bytes from the loader's thread. "full" trains for 12 epochs, else 40 steps. What is learned has a
// stream of random numbers for dropout, what predicts has none: two functions of the same parameters. LeCun et al. 1998, with relu and Adam.
#include <damo/damo.hpp>
#include <iostream>

#include "support/pipeline.hpp"
using namespace damo;

struct LeNet {
  nn::Conv2d first, second;
  nn::Linear third, fourth;
  LeNet(nn::Init& init) : first(init, "first", 1, 20, 5), second(init, "second", 20, 50, 5), third(init, "third", 800, 500), fourth(init, "fourth", 500, 10) {}
  /// Pictures as bytes (n, 28, 28) -> scores (n, 10). random: what drops elements while the network learns.
  Variable operator()(const Variable& images, const RandomStream* random = nullptr) const {
    const Variable x = expand_dims((cast(images, float32) - 72.94) / 90.02, 1);  // the pixels' mean and deviation
    const auto drop = [&](const Variable& h, double p) { return random ? random->dropout(h, p) : h; };
    // relu and the greatest may change places: it is computed of a quarter of the elements.
    const Variable maps = relu(max_pool2d(second(relu(max_pool2d(first(x), 2))), 2));
    return fourth(drop(relu(third(drop(flatten(maps, 1), 0.25))), 0.5));
  }
  std::vector<Shared> parameters() const { return nn::parameters(first, second, third, fourth); }
};

int main(int count, char** arguments) {
  const examples::Arguments run = examples::arguments_of(count, arguments);
  const auto found = examples::load_fashion(run);
  if (!found) return examples::kSkipped;
  const idx::Set& set = *found;
  const std::int64_t pictures = run.full ? 60000 : 40 * 128, epochs = run.full ? 12 : 1, tested = run.full ? 10000 : 2000;
  const DataLoader loader({set.train_images.slice({{0, pictures}}), set.train_labels.slice({{0, pictures}})}, {.batch = 128, .seed = run.seed, .drop_last = true});

  nn::Init init(run.seed);
  const LeNet network(init);
  const RandomStream random(run.seed);
  const Variable images = tensor3("images", uint8), labels = vector("labels", int64);
  const Variable cost = mean(cross_entropy(network(images, &random), labels));
  const Shared step = shared("step", Array::full({}, std::int64_t{0}, int64));
  optim::Updates updates = optim::adam(cost, network.parameters(), optim::cosine(step, 1e-3, static_cast<double>(epochs * loader.batches())));
  updates.push_back({step, step + 1});
  const Function train = function({images, labels}, {cost}, {.name = "train", .updates = updates});
  const Function right_of = function({images, labels}, {sum(cast(eq(argmax(network(images), 1), labels), float32))}, {.name = "test"});

  std::vector<double> costs;
  const std::int64_t each = run.full ? 20 : 4;
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    Progress progress(loader.batches(), "epoch " + std::to_string(epoch + 1));
    double total = 0;
    for (const Batch& batch : loader.epoch(epoch)) {
      const Array now = train(batch[0], batch[1]);
      total += now.item().as_double();
      progress.show("cost", now);
      progress.advance();
      if (progress.done() % each == 0) costs.push_back(total / static_cast<double>(each)), total = 0;
    }
  }
  double right = 0;
  for (std::int64_t i = 0; i < tested; i += 500) right += Array(right_of(set.test_images.slice({{i, i + 500}}), set.test_labels.slice({{i, i + 500}}))).item().as_double();
  const double accuracy = right / static_cast<double>(tested);
  Chart("Fashion-MNIST, LeNet", std::to_string(each) + " steps", "cross-entropy").line("training", costs).log_y().save("lenet.svg");
  std::cout << "seed " << run.seed << ": " << 100 * accuracy << " % of " << tested << " test pictures, " << examples::seconds() << " s\n";
  const bool is_right = accuracy > (run.full ? 0.91 : 0.6);
  std::cout << (is_right ? "right\n" : "WRONG\n");
  return is_right ? 0 : 1;
}
