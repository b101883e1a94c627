// A multilayer perceptron on Fashion-MNIST: 60,000 pictures of clothes to learn from, 10,000 to be tested on (Debian's package
// dataset-fashion-mnist; a folder with MNIST's file names may be given instead). Minibatches come as bytes, shuffled and copied ahead by the
// loader's thread, and become numbers on the device. "full" trains for 15 epochs, else one on a fifth of the pictures. Parameters are saved,
// loaded into a second network and tested there.
#include <damo/damo.hpp>
#include <iostream>

#include "support/pipeline.hpp"
using namespace damo;

struct Network {
  nn::Linear first, second, third;
  Network(nn::Init& init) : first(init, "first", 784, 512), second(init, "second", 512, 512), third(init, "third", 512, 10) {}
  Variable operator()(const Variable& x) const { return third(relu(second(relu(first(x))))); }
  std::vector<Shared> parameters() const { return nn::parameters(first, second, third); }
};

int main(int count, char** arguments) {
  const examples::Arguments run = examples::arguments_of(count, arguments);
  const auto found = examples::load_fashion(run);
  if (!found) return examples::kSkipped;
  const idx::Set& set = *found;
  const std::int64_t pictures = run.full ? 60000 : 12000, epochs = run.full ? 15 : 1;
  const DataLoader loader({set.train_images.slice({{0, pictures}}), set.train_labels.slice({{0, pictures}})}, {.batch = 128, .seed = run.seed, .drop_last = true});

  nn::Init init(run.seed);
  const Network network(init), copy(init);
  const Variable images = tensor3("images", uint8), labels = vector("labels", int64);
  const auto scores_of = [&](const Network& network) { return network((cast(flatten(images, 1), float32) - 72.94) / 90.02); };  // the pixels' mean and deviation
  const Variable cost = mean(cross_entropy(scores_of(network), labels));
  const Shared step = shared("step", Array::full({}, std::int64_t{0}, int64));
  const double steps = static_cast<double>(epochs * loader.batches());
  optim::Updates updates = optim::adamw(cost, network.parameters(), optim::warmup(step, optim::cosine(step, 1e-3, steps), 50), 0.05);
  updates.push_back({step, step + 1});
  const Function train = function({images, labels}, {cost}, {.name = "train", .updates = updates});
  const auto accuracy_of = [&](const Network& network) {
    const Function right = function({images, labels}, {mean(cast(eq(argmax(scores_of(network), 1), labels), float32))});
    return Array(right(set.test_images, set.test_labels)).item().as_double();
  };

  std::vector<double> costs;
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    Progress progress(loader.batches(), "epoch " + std::to_string(epoch + 1));
    double sum = 0;
    for (const Batch& batch : loader.epoch(epoch)) {
      const Array now = train(batch[0], batch[1]);
      sum += now.item().as_double();
      progress.show("cost", now);
      progress.advance();
      if (progress.done() % 20 == 0) costs.push_back(sum / 20), sum = 0;
    }
  }
  Chart("Fashion-MNIST, 784-512-512-10", "20 steps", "cross-entropy").line("training", costs).log_y().save("fashion_mlp.svg");
  const double accuracy = accuracy_of(network);
  save("fashion_mlp.safetensors", network.parameters());

  load("fashion_mlp.safetensors", copy.parameters());
  const double again = accuracy_of(copy);
  std::cout << "seed " << run.seed << ": " << 100 * accuracy << " % of the test pictures, " << 100 * again << " % as saved and loaded, " << examples::seconds() << " s\n";
  const bool right = accuracy > (run.full ? 0.89 : 0.75) && again == accuracy;
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
