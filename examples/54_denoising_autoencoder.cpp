// A denoising autoencoder (Vincent et al. 2008): the digits with a third of their pixels gone go through a layer of 64 numbers and come out whole.
// Of the 64 numbers only the 16 greatest count (Makhzani, Frey 2014): a CUDA C kernel of our own keeps them, with a gradient of its own. The loader's reader spoils
// each picture anew, on its thread, while the device works; decoder and encoder share their weights.
#include <damo/damo.hpp>
#include <iostream>
#include <random>

#include "support/digits.hpp"
#include "support/pipeline.hpp"
using namespace damo;

/// The 16 greatest of each row of 64 numbers above 0; the others become 0, and of equal ones the first stay. One block a row: each thread counts
/// whose come before its own.
inline const RawKernel keep_greatest{{
    .name = "keep_greatest",
    .inputs = {"const float* hidden"},
    .outputs = {"float* kept"},
    .body = R"(
      __shared__ float row[64];
      const int i = blockIdx.x * 64 + threadIdx.x;
      const float own = hidden[i];
      row[threadIdx.x] = own;
      __syncthreads();
      int before = 0;
      for (int k = 0; k < 64; ++k) before += row[k] > own || (row[k] == own && k < threadIdx.x);
      kept[i] = before < 16 ? own : 0.0f;
    )",
    .launch = [](const KernelShapes& shapes) { return LaunchConfig{.grid = {static_cast<int>(shapes.inputs[0][0])}, .block = {64}}; },
    .gradient = [](auto g, auto, auto out) { return Gradients(where(gt(out[0], 0.0), g[0], 0.0)); },  // fuses with what the gradient goes on to
}};

/// Some rows, and the same with each pixel gone with a chance of a third.
Batch spoiled(const std::vector<float>& images, std::span<const std::int64_t> rows, std::mt19937_64& random) {
  std::vector<float> clean, noisy;
  for (const std::int64_t row : rows) {
    for (int i = 0; i < examples::Digits::kPixels; ++i) {
      clean.push_back(images[static_cast<std::size_t>(row * examples::Digits::kPixels + i)]);
      noisy.push_back(random() % 3 == 0 ? 0.0f : clean.back());
    }
  }
  const Shape shape{static_cast<std::int64_t>(rows.size()), examples::Digits::kPixels};
  return {Array::from(noisy, shape), Array::from(clean, shape)};
}

int main(int count, char** arguments) {
  const examples::Arguments run = examples::arguments_of(count, arguments);
  const examples::Digits digits = examples::load_digits();
  const std::int64_t taught = digits.count() / 2, epochs = run.full ? 200 : 30;

  nn::Init init(run.seed);
  const nn::Linear code(init, "code", 64, 64);
  const Shared bias = init.full("picture.bias", {64});
  const Variable noisy = matrix("noisy"), clean = matrix("clean");
  const Variable hidden = keep_greatest(sigmoid(code(noisy))), back = sigmoid(dot(hidden, transpose(code.weight)) + bias), error = mean(sqr(back - clean));
  std::vector<Shared> parameters = code.parameters();
  parameters.push_back(bias);
  const Variable cost = mean(sum(softplus(dot(hidden, transpose(code.weight)) + bias) - clean * (dot(hidden, transpose(code.weight)) + bias), 1));  // cross-entropy of pixels
  const Function train = function({noisy, clean}, {cost}, {.name = "train", .updates = optim::adam(cost, parameters, 0.005)});
  const Function test = function({noisy, clean}, {error, mean(sqr(noisy - clean)), back}, {.name = "test"});

  std::mt19937_64 random(run.seed), test_random(99);
  const DataLoader loader(taught, [&](std::span<const std::int64_t> rows) { return spoiled(digits.images, rows, random); }, {.batch = 32, .seed = run.seed});
  std::vector<std::int64_t> others;
  for (std::int64_t row = taught; row < digits.count(); ++row) others.push_back(row);
  const Batch held_out = spoiled(digits.images, others, test_random);

  std::vector<double> errors;
  Progress progress(epochs, "autoencoder");
  for (const std::int64_t epoch : progress) {
    for (const Batch& batch : loader.epoch(epoch)) train(batch[0], batch[1]);
    const Array now = test(held_out[0], held_out[1])[0];
    errors.push_back(now.item().as_double());
    progress.show("error", now);
  }
  const auto [after, before, pictures] = test.call<3>(held_out[0], held_out[1]);
  Chart("Denoising autoencoder on the digits", "epoch", "mean squared error").line("other half", errors).log_y().save("denoising_error.svg");
  const auto some = [](const Array& images) { return images.slice({{0, 16}}); };
  examples::save_pictures("denoising.svg", {some(held_out[1]), some(held_out[0]), some(pictures)});
  std::cout << "mean squared error of the other half: " << before.item().as_double() << " spoiled, " << after.item().as_double() << " mended, " << examples::seconds() << " s\n";
  const bool right = after.item().as_double() < (run.full ? 0.35 : 0.5) * before.item().as_double();
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
