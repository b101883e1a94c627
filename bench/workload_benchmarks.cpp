// NAME/DEVICE: a call of a compiled function whose result is dropped, as the peers' are. bytes_per_second counts the
// least bytes that the workload must move. compile_s: function() with no kernel in any cache.
#include "benchmarks.hpp"
#include "workload.hpp"

namespace damo::bench {
namespace {

std::vector<Array> inputs_of(const Workload& workload, Device device) {
  std::vector<Array> inputs;
  for (const Shape& shape : workload.shapes)
    inputs.push_back(random_array(shape, device, static_cast<unsigned>(inputs.size())));
  return inputs;
}

Timing time_copy(const Array& from, Effort effort) {
  const Device device = from.device();
  const auto wait = [&] { device.synchronize(); };
  if (device.is_host()) return time_calls([&] { from.copy(); }, wait, effort);
  const Array to = Array::empty(from.shape(), from.dtype(), device);
  return time_calls([&] { to.copy_from(from); }, wait, effort);
}

void run(benchmark::State& state, const Workload& workload, const Target& target, bool fuse, Effort effort) {
  try {
    const std::vector<Array> inputs = inputs_of(workload, target.device);
    Timing timing;
    if (workload.graph) {
      const auto start = Clock::now();
      const Function function = workload.build(target.device, fuse);
      state.counters["compile_s"] = seconds_since(start);
      state.counters["kernels"] = static_cast<double>(function.kernels().size());
      function.call(inputs);
      target.device.synchronize();
      state.counters["first_result_s"] = seconds_since(start);
      timing = time_calls([&] { function.call(inputs); }, [&] { target.device.synchronize(); }, effort);
    } else {
      timing = time_copy(inputs[0], effort);
    }
    report(state, timing);
    state.SetBytesProcessed(static_cast<std::int64_t>(workload.bytes));
  } catch (const std::exception& error) {
    state.SkipWithError(error.what());
  }
  target.device.free_cache();
}

}  // namespace

void add_workloads(const std::vector<Target>& targets, Effort effort) {
  for (const Target& target : targets) {
    for (const Workload& workload : workloads(target.device.kind())) {
      const std::string name = workload.name + "/" + target.name;
      add(name, [=](benchmark::State& state) { run(state, workload, target, true, effort); });
      if (!workload.graph) continue;
      add(name + "/unfused", [=](benchmark::State& state) { run(state, workload, target, false, effort); });
    }
  }
}

}  // namespace damo::bench
