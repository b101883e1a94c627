// adamw_300/DEVICE, adamw_300/DEVICE/unfused, adamw_300/DEVICE/guarded: a step of AdamW over 300 float32 tensors of 1,000 to 665,000 elements, 99.9 million
// parameters together, a tenth of that on the CPU: gradients are inputs, weights and moments shared variables that are updated in place.
// bytes_per_second counts what must move: four arrays read, three written. launches: of one call.
// guarded: with Options::nan_guard.
// lstm_step/DEVICE, lstm_step/DEVICE/inside, lstm_step/DEVICE/guarded: a step of gradient descent of the model of examples/56_character_lstm.cpp, 96 characters, 256 features, batch 64, 64 steps, float32;
// inside: with all products in the loop (without push_out_of_loops). items: characters.
// lenet_step/DEVICE: a step of gradient descent of LeNet on 128 pictures of 28 x 28: 20 and 50 filters of 5 x 5, each with tanh and max pooling, 500 units, tanh, 10
// classes, cross-entropy; float32 without TF32. items: pictures.
#include <damo/damo.hpp>

#include <cmath>

#include "../examples/support/character_model.hpp"
#include "benchmarks.hpp"
#include "runtime/backend.hpp"
#include "workload.hpp"

namespace damo::bench {
namespace {

constexpr int kTensors = 300;
constexpr double kRate = 1e-3, kFirst = 0.9, kSecond = 0.999, kEpsilon = 1e-8, kDecay = 0.01;

struct Step {
  std::vector<Variable> gradients;
  std::vector<Assignment> updates;
  std::vector<Array> values;  // of the gradients
  double bytes = 0;
};

Step adamw(Device device) {
  Step step;
  const Shared count = shared("step", Array::scalar(0.0f, device));
  const Variable t = count + 1.0, first_correction = kRate / (1.0 - pow(kFirst, t)), second_correction = sqrt(1.0 - pow(kSecond, t));
  step.updates.push_back({count, t});
  const double least = device.is_host() ? 100 : 1000, greatest = device.is_host() ? 66500 : 665000;
  for (int i = 0; i < kTensors; ++i) {
    const Shape shape{static_cast<std::int64_t>(least + (greatest - least) * i / (kTensors - 1))};
    const Shared p = shared("p", random_array(shape, device, static_cast<unsigned>(i)));
    const Shared first = shared("m", Array::zeros(shape, float32, device)), second = shared("v", Array::zeros(shape, float32, device));
    const Variable g = input({float32, shape}, "g"), m = kFirst * first + (1 - kFirst) * g, v = kSecond * second + (1 - kSecond) * (g * g);
    step.updates.push_back({first, m});
    step.updates.push_back({second, v});
    step.updates.push_back({p, p * (1 - kRate * kDecay) - first_correction * m / (sqrt(v) / second_correction + kEpsilon)});
    step.gradients.push_back(g);
    step.values.push_back(random_array(shape, device, static_cast<unsigned>(kTensors + i)));
    step.bytes += 28.0 * static_cast<double>(shape.size());
  }
  return step;
}

void run(benchmark::State& state, const Target& target, bool fuse, bool guards, Effort effort) {
  const Step step = adamw(target.device);
  const Function function = damo::function(step.gradients, std::span<const Variable>(), {.fuse = fuse, .device = target.device, .updates = step.updates, .nan_guard = guards});
  for (int i = 0; i < 2; ++i) function.call(step.values);
  const std::uint64_t before = target.device.backend().launches;
  function.call(step.values);
  state.counters["launches"] = static_cast<double>(target.device.backend().launches - before);
  report(state, time_calls([&] { function.call(step.values); }, [&] { target.device.synchronize(); }, effort));
  state.SetBytesProcessed(static_cast<std::int64_t>(step.bytes));
  target.device.free_cache();
}

void run_lstm(benchmark::State& state, const Target& target, bool pushes_out, bool guards, Effort effort) {
  constexpr std::int64_t kSteps = 64, kBatch = 64, kCharacters = 96, kFeatures = 256;
  nn::Init init(1, float32, target.device);
  const examples::CharacterModel model(init, kCharacters, kFeatures, kFeatures);
  const std::vector<Shared> parameters = model.parameters();
  const Variable here = input({int64, {kBatch, kSteps}}, "here"), next = input({int64, {kBatch, kSteps}}, "next");
  const Variable cost = mean(cross_entropy(model(transpose(here)), transpose(next)));
  const std::vector<Variable> gradients = grad(cost, std::vector<Variable>(parameters.begin(), parameters.end()));
  Options options{.device = target.device, .updates = optim::sgd(gradients, parameters, 1e-2), .nan_guard = guards};
  if (!pushes_out) options.disable = {"push_out_of_loops"};
  const Function function = damo::function({here, next}, {cost}, options);
  std::vector<std::int64_t> now, then;
  for (std::int64_t i = 0; i < kBatch * kSteps; ++i) now.push_back(i * 7919 % kCharacters), then.push_back((i + 1) * 7919 % kCharacters);
  const std::vector<Array> values{Array::from(now, {kBatch, kSteps}, target.device), Array::from(then, {kBatch, kSteps}, target.device)};
  for (int i = 0; i < 2; ++i) function.call(values);
  report(state, time_calls([&] { function.call(values); }, [&] { target.device.synchronize(); }, effort));
  state.SetItemsProcessed(kBatch * kSteps);
  target.device.free_cache();
}

void run_lenet(benchmark::State& state, const Target& target, Effort effort) {
  constexpr std::int64_t kBatch = 128;
  nn::Init init(1, float32, target.device);
  const nn::Conv2d first(init, "first", 1, 20, 5), second(init, "second", 20, 50, 5);
  const nn::Linear third(init, "third", 800, 500), fourth(init, "fourth", 500, 10);
  const std::vector<Shared> parameters = nn::parameters(first, second, third, fourth);
  const Variable images = input({float32, {kBatch, 1, 28, 28}}, "images"), labels = input({int64, {kBatch}}, "labels");
  const Variable maps = max_pool2d(tanh(second(max_pool2d(tanh(first(images)), 2))), 2);
  const Variable cost = mean(cross_entropy(fourth(tanh(third(flatten(maps, 1)))), labels));
  const std::vector<Variable> gradients = grad(cost, std::vector<Variable>(parameters.begin(), parameters.end()));
  const Function function = damo::function({images, labels}, {cost}, {.device = target.device, .updates = optim::sgd(gradients, parameters, 1e-2)});
  std::vector<std::int64_t> classes;
  for (std::int64_t i = 0; i < kBatch; ++i) classes.push_back(i * 7919 % 10);
  const std::vector<Array> values{random_array({kBatch, 1, 28, 28}, target.device, 1), Array::from(classes, {kBatch}, target.device)};
  for (int i = 0; i < 2; ++i) function.call(values);
  report(state, time_calls([&] { function.call(values); }, [&] { target.device.synchronize(); }, effort));
  state.SetItemsProcessed(kBatch);
  target.device.free_cache();
}

}  // namespace

void add_training(const std::vector<Target>& targets, Effort effort) {
  for (const Target& target : targets) {
    for (const bool fuse : {true, false}) {
      add("lstm_step/" + target.name + (fuse ? "" : "/inside"), [=](benchmark::State& state) { run_lstm(state, target, fuse, false, effort); });
      add("adamw_300/" + target.name + (fuse ? "" : "/unfused"), [=](benchmark::State& state) { run(state, target, fuse, false, effort); });
    }
    add("lenet_step/" + target.name, [=](benchmark::State& state) { run_lenet(state, target, effort); });
    add("lstm_step/" + target.name + "/guarded", [=](benchmark::State& state) { run_lstm(state, target, true, true, effort); });
    add("adamw_300/" + target.name + "/guarded", [=](benchmark::State& state) { run(state, target, true, true, effort); });
  }
}

}  // namespace damo::bench
