// mlp_step_b64, mlp_step_b8192, mlp_step_b8192_bf16 /DEVICE, /DEVICE/guarded: a training step of a perceptron of two hidden layers with cross entropy and plain gradient
// descent, as bench/peers/peers_gpu.py's of those names: 784-512-512-10 on 64 rows, 784-4096-4096-10 on 8,192 rows (GPUs alone), parameters float32 or bfloat16,
// no TF32. guarded: with Options::nan_guard. compile_s: from the expression to the end of the first call. operations: of the matrix products, forward and backward.
#include <damo/damo.hpp>

#include "benchmarks.hpp"
#include "runtime/backend.hpp"
#include "workload.hpp"

namespace damo::bench {
namespace {

struct Perceptron {
  const char* name;
  std::int64_t batch, hidden;
  DType dtype;
  bool on_cpu;
};
constexpr std::int64_t kPixels = 784, kKinds = 10;
constexpr Perceptron kPerceptrons[] = {{"mlp_step_b64", 64, 512, float32, true}, {"mlp_step_b8192", 8192, 4096, float32, false}, {"mlp_step_b8192_bf16", 8192, 4096, bfloat16, false}};

void run_perceptron(benchmark::State& state, const Perceptron& size, const Target& target, bool guards, Effort effort) {
  const auto values_of = [&](const Shape& shape, unsigned seed) { return astype(random_array(shape, target.device, seed) * 0.05f, size.dtype); };
  const Shape shapes[] = {{kPixels, size.hidden}, {size.hidden}, {size.hidden, size.hidden}, {size.hidden}, {size.hidden, kKinds}, {kKinds}};
  std::vector<Variable> w;
  std::vector<Shared> parameters;
  for (const Shape& shape : shapes) w.push_back(parameters.emplace_back(shared("w", values_of(shape, static_cast<unsigned>(w.size() + 1)))));
  std::vector<std::int64_t> kinds(static_cast<std::size_t>(size.batch));
  for (std::size_t i = 0; i < kinds.size(); ++i) kinds[i] = static_cast<std::int64_t>(i * 7) % kKinds;
  const std::vector<Array> batch{values_of({size.batch, kPixels}, 9), Array::from(kinds, target.device)};
  target.device.synchronize();

  const auto start = Clock::now();
  const Variable x = matrix("x", size.dtype), y = vector("y", int64);
  const Variable scores = dot(relu(dot(relu(dot(x, w[0]) + w[1]), w[2]) + w[3]), w[4]) + w[5];
  const Variable cost = mean(cross_entropy(cast(scores, float32), y));
  const std::vector<Variable> gradients = grad(cost, w);
  std::vector<Assignment> updates;
  for (std::size_t i = 0; i < w.size(); ++i) updates.push_back({parameters[i], w[i] - 0.01 * gradients[i]});
  const Function step = function({x, y}, {cost}, {.device = target.device, .updates = updates, .nan_guard = guards});
  step.call(batch);
  target.device.synchronize();
  state.counters["compile_s"] = seconds_since(start);

  for (int i = 0; i < 2; ++i) step.call(batch);
  const std::uint64_t before = target.device.backend().launches;
  step.call(batch);
  state.counters["launches"] = static_cast<double>(target.device.backend().launches - before);
  report(state, time_calls([&] { step.call(batch); }, [&] { target.device.synchronize(); }, effort));
  state.counters["operations"] = 6.0 * static_cast<double>(size.batch * (kPixels * size.hidden + size.hidden * size.hidden + size.hidden * kKinds));
  target.device.free_cache();
}

}  // namespace

void add_perceptrons(const std::vector<Target>& targets, Effort effort) {
  for (const Target& target : targets) {
    for (const Perceptron& size : kPerceptrons) {
      if (!size.on_cpu && target.device.is_host()) continue;
      for (const bool guards : {false, true}) {
        add(std::string(size.name) + "/" + target.name + (guards ? "/guarded" : ""), [=](benchmark::State& state) { run_perceptron(state, size, target, guards, effort); });
      }
    }
  }
}

}  // namespace damo::bench
