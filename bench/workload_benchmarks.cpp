// NAME/DEVICE: a call of a compiled function whose result is dropped, as the peers' are. bytes_per_second counts the
// least bytes that the workload must move. compile_s: function() where nothing was compiled before, first_result_s: the same
// and its first result, both in processes of their own with an empty kernel cache, the device and the inputs ready.
#include "benchmarks.hpp"
#include "child_process.hpp"
#include "workload.hpp"

namespace damo::bench {
namespace {

Timing time_copy(const Array& from, Effort effort) {
  const Device device = from.device();
  const auto wait = [&] { device.synchronize(); };
  if (device.is_host()) return time_calls([&] { from.copy(); }, wait, effort);
  const Array to = Array::empty(from.shape(), from.dtype(), device);
  return time_calls([&] { to.copy_from(from); }, wait, effort);
}

void add_cold_times(benchmark::State& state, const Workload& workload, const Target& target, bool fuse, int starts) {
  if (starts == 0) return;
  const Children children;
  const Figures figures = children.medians(starts, (fuse ? "workload/" : "unfused_workload/") + workload.name, target.name, true);
  for (const char* name : {"compile_s", "first_result_s"}) state.counters[name] = figures.at(name);
}

void run(benchmark::State& state, const Workload& workload, const Target& target, bool fuse, Effort effort) {
  try {
    const std::vector<Array> inputs = workload.inputs(target.device);
    Timing timing;
    if (workload.graph) {
      const Function function = workload.build(target.device, fuse);
      state.counters["kernels"] = static_cast<double>(function.kernels().size());
      timing = time_calls([&] { function.call(inputs); }, [&] { target.device.synchronize(); }, effort);
    } else {
      timing = time_copy(inputs[0], effort);
    }
    report(state, timing);
    if (workload.graph) add_cold_times(state, workload, target, fuse, effort.cold_starts);
    state.SetBytesProcessed(static_cast<std::int64_t>(workload.bytes));
    if (workload.operations > 0) state.counters["operations"] = workload.operations;
  } catch (const std::exception& error) {
    state.SkipWithError(error.what());
  }
  target.device.free_cache();
}

}  // namespace

void add_workloads(const std::vector<Target>& targets, bool compositions_only, Effort effort) {
  for (const Target& target : targets) {
    for (const Workload& workload : workloads(target.device.kind(), compositions_only)) {
      const std::string name = workload.name + "/" + target.name;
      add(name, [=](benchmark::State& state) { run(state, workload, target, true, effort); });
      if (!workload.graph) continue;
      add(name + "/unfused", [=](benchmark::State& state) { run(state, workload, target, false, effort); });
    }
  }
}

}  // namespace damo::bench
