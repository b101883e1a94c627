// adamw_300/DEVICE, adamw_300/DEVICE/unfused: a step of AdamW over 300 float32 tensors of 1,000 to 665,000 elements, 99.9 million
// parameters together, a tenth of that on the CPU: gradients are inputs, weights and moments shared variables that are updated in place.
// bytes_per_second counts what must move: four arrays read, three written. launches: of one call.
//
// mlp_step_bBATCH[_bf16]/DEVICE, .../unfused: a step of SGD of 784-512-512-10 perceptrons (a batch of 64) and 784-4096-4096-10 ones (8,192, on
// a GPU alone): loss, gradients and new weights, which stay where they are. bench/peers/formulas.py has the same for other libraries.
#include <damo/damo.hpp>

#include <cmath>

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

/// A step of SGD of a perceptron with two hidden layers.
struct MlpStep {
  std::int64_t batch, hidden;
  DType dtype;
  std::string name() const { return "mlp_step_b" + std::to_string(batch) + (dtype == bfloat16 ? "_bf16" : ""); }
};

std::vector<MlpStep> mlp_steps(Device device) {
  std::vector<MlpStep> steps = {{64, 512, float32}};
  if (!device.is_host()) steps.insert(steps.end(), {{8192, 4096, float32}, {8192, 4096, bfloat16}});
  return steps;
}

void run_mlp(benchmark::State& state, const MlpStep& step, const Target& target, bool fuse, Effort effort) {
  constexpr std::int64_t kPixels = 784, kClasses = 10;
  unsigned seed = 0;
  const auto random = [&](const Shape& shape) { return astype(random_array(shape, target.device, seed++) * 0.05, step.dtype); };
  std::vector<Shared> weights;
  for (const Shape& shape : {Shape{kPixels, step.hidden}, Shape{step.hidden}, Shape{step.hidden, step.hidden}, Shape{step.hidden}, Shape{step.hidden, kClasses}, Shape{kClasses}})
    weights.push_back(shared("w", random(shape)));
  const Variable x = input({step.dtype, {step.batch, kPixels}}, "x"), labels = input({int32, {step.batch}}, "labels");
  const Variable first = relu(dot(x, weights[0]) + weights[1]), second = relu(dot(first, weights[2]) + weights[3]);
  const Variable loss = mean(cross_entropy(cast(dot(second, weights[4]) + weights[5], float32), labels));
  const std::vector<Variable> gradients = grad(loss, std::vector<Variable>(weights.begin(), weights.end()));
  std::vector<Assignment> updates;
  for (std::size_t i = 0; i < weights.size(); ++i) updates.push_back({weights[i], weights[i] - 0.01 * gradients[i]});
  const Function function = damo::function({x, labels}, {loss}, {.fuse = fuse, .device = target.device, .name = "mlp_step", .updates = updates});
  const std::vector<Array> values = {random({step.batch, kPixels}), astype(random_array({step.batch}, target.device, seed) * static_cast<double>(kClasses), int32)};
  for (int i = 0; i < 2; ++i) function.call(values);
  const std::uint64_t before = target.device.backend().launches;
  function.call(values);
  state.counters["launches"] = static_cast<double>(target.device.backend().launches - before);
  report(state, time_calls([&] { function.call(values); }, [&] { target.device.synchronize(); }, effort));
  target.device.free_cache();
}

void run(benchmark::State& state, const Target& target, bool fuse, Effort effort) {
  const Step step = adamw(target.device);
  const Function function = damo::function(step.gradients, std::span<const Variable>(), {.fuse = fuse, .device = target.device, .updates = step.updates});
  for (int i = 0; i < 2; ++i) function.call(step.values);
  const std::uint64_t before = target.device.backend().launches;
  function.call(step.values);
  state.counters["launches"] = static_cast<double>(target.device.backend().launches - before);
  report(state, time_calls([&] { function.call(step.values); }, [&] { target.device.synchronize(); }, effort));
  state.SetBytesProcessed(static_cast<std::int64_t>(step.bytes));
  target.device.free_cache();
}

}  // namespace

void add_training(const std::vector<Target>& targets, Effort effort) {
  for (const Target& target : targets) {
    for (const bool fuse : {true, false}) {
      add("adamw_300/" + target.name + (fuse ? "" : "/unfused"), [=](benchmark::State& state) { run(state, target, fuse, effort); });
      for (const MlpStep& step : mlp_steps(target.device)) {
        add(step.name() + "/" + target.name + (fuse ? "" : "/unfused"), [=](benchmark::State& state) { run_mlp(state, step, target, fuse, effort); });
      }
    }
  }
}

}  // namespace damo::bench
