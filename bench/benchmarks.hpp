// What main() registers; one function a file. Names are NAME/DEVICE, where DEVICE is cuda, cpu or null.
#pragma once
#include <benchmark/benchmark.h>

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include <damo/device.hpp>
#include "timing.hpp"

namespace damo::bench {

/// A device under the name that the benchmarks carry.
struct Target {
  std::string name;
  Device device;
};

/// What benchmarks run on: the first GPU, if there is one, and the CPU.
std::vector<Target> targets();

/// Times a call in wall time that the benchmark measures itself, once. What run throws is the row's error.
template <class Run>
void add(const std::string& name, Run run) {
  const auto guarded = [run = std::move(run)](benchmark::State& state) {
    try {
      run(state);
    } catch (const std::exception& error) {
      state.SkipWithError(error.what());
    }
  };
  benchmark::RegisterBenchmark(name.c_str(), guarded)
      ->UseManualTime()
      ->Iterations(1)
      ->Unit(benchmark::kMicrosecond);
}
void report(benchmark::State& state, const Timing& timing);

void add_workloads(const std::vector<Target>& targets, bool compositions_only, Effort effort);  // NAME/DEVICE, NAME/DEVICE/unfused
void add_training(const std::vector<Target>& targets, Effort effort);   // adamw_300/DEVICE, adamw_300/DEVICE/unfused, adamw_300/DEVICE/guarded, lstm_step/DEVICE, ...
void add_transformers(const std::vector<Target>& targets, Effort effort);  // gpt2_step/cuda
void add_perceptrons(const std::vector<Target>& targets, Effort effort);  // mlp_step_b64/DEVICE, mlp_step_b8192/cuda, mlp_step_b8192_bf16/cuda, .../guarded
void add_launches(const std::vector<Target>& targets, Effort effort);   // launch/DEVICE, launch_driver/cuda
void add_calls(const std::vector<Target>& targets, Effort effort);      // prepared_call/DEVICE, checked_call/DEVICE, ...
void add_eager(const std::vector<Target>& targets, Effort effort);      // eager_NAME/DEVICE
void add_cuda_c(const std::vector<Target>& targets, Effort effort);     // block_reduction/DEVICE, tiled_matmul/DEVICE, ...
void add_processes(const std::vector<Target>& targets);                 // process_start, first_call_fused20/DEVICE, ...
void add_graph_work();                                                  // graph_work_N/null
/// Of a GPU; filter: a regular expression for workloads.
void show_schedules(const std::vector<Target>& targets, bool compositions_only, const std::string& filter, Effort effort);
void add_large_graphs(const std::vector<Target>& targets);              // large_chain_1000000/DEVICE, ...

}  // namespace damo::bench
