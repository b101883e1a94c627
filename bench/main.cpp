// damo-bench: Damo's own workloads, timed by Google Benchmark's program. Beside its flags:
//   --quick        shorter repeats
//   --warm         no cold starts of the workloads
//   --compositions  instead of all that: some 220 graphs of plain ops in two dtypes, beside the copy (minutes, and as long again with the unfused ones)
//   --schedules[=REGEX]  instead of timing rows: which schedules of the workloads' kernels a GPU's launches measure, and what they choose
//   --commit=TEXT  goes into the JSON's context
// Kernels are compiled in a cache directory of this run. What is said of a cold compile was measured in processes of their own.
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "benchmarks.hpp"
#include "child_process.hpp"

#include <damo/version.hpp>
#if DAMO_HAS_CPU
#include "runtime/cpu/clang_plugin.hpp"
#endif
#if DAMO_HAS_CUDA
#include "runtime/cuda/cuda_backend.hpp"
#endif

namespace damo::bench {

std::vector<Target> targets() {
  std::vector<Target> all;
  for (Device device : devices()) {
    if (device.kind() == DeviceKind::kCuda && all.empty()) all.push_back({"cuda", device});
    if (device.kind() == DeviceKind::kCpu) all.push_back({"cpu", device});
  }
  return all;
}

void report(benchmark::State& state, const Timing& timing) {
  for ([[maybe_unused]] auto _ : state) state.SetIterationTime(timing.median);
  state.counters["least_us"] = timing.least * 1e6;
  state.counters["greatest_us"] = timing.greatest * 1e6;
  state.counters["host_us"] = timing.host * 1e6;
  state.counters["processor_us"] = timing.processor * 1e6;
  state.counters["calls"] = static_cast<double>(timing.calls);
}

namespace {

void add_context(const std::vector<Target>& targets, const std::string& commit) {
  if (!commit.empty()) benchmark::AddCustomContext("commit", commit);
  benchmark::AddCustomContext("damo", DAMO_VERSION);
  for (const Target& target : targets) {
    const DeviceProperties properties = target.device.properties();
    benchmark::AddCustomContext("device_" + target.name, properties.description + ", " + properties.architecture);
    benchmark::AddCustomContext(target.name + (target.name == "cpu" ? "_threads" : "_multiprocessors"),
                                std::to_string(properties.multiprocessors));
  }
#if DAMO_HAS_CPU
  benchmark::AddCustomContext("clang", cpu_backend::cache_stamp());
#endif
#if DAMO_HAS_CUDA
  benchmark::AddCustomContext("cuda_driver", driver_version());
  benchmark::AddCustomContext("nvrtc", nvrtc_version());
#endif
}

/// Takes --name or --name=value out of the arguments; empty if it is not there.
std::string take_flag(int& count, char** arguments, const std::string& name) {
  for (int i = 1; i < count; ++i) {
    const std::string text = arguments[i];
    if (text != "--" + name && !text.starts_with("--" + name + "=")) continue;
    std::copy(arguments + i + 1, arguments + count, arguments + i);
    --count;
    return text.size() > name.size() + 3 ? text.substr(name.size() + 3) : "yes";
  }
  return {};
}

/// Names results NAME/DEVICE; that all have one manually timed iteration is no news.
template <class Reporter>
class PlainNames final : public Reporter {
 public:
  using Reporter::Reporter;
  void ReportRuns(const std::vector<benchmark::BenchmarkReporter::Run>& runs) override {
    auto plain = runs;
    for (auto& run : plain) {
      run.run_name.iterations.clear();
      run.run_name.time_type.clear();
    }
    Reporter::ReportRuns(plain);
  }
};

bool writes_file(int count, char** arguments) {
  return std::any_of(arguments, arguments + count, [](const char* text) { return std::string_view(text).starts_with("--benchmark_out="); });
}

/// A new directory for kernels, gone when the program ends.
class CacheDirectory {
 public:
  CacheDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "damo-bench-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory: " + name);
    path_ = name;
    setenv("DAMO_CACHE_DIR", path_.c_str(), 1);
  }
  ~CacheDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

 private:
  std::filesystem::path path_;
};

int run(int count, char** arguments) {
  const bool quick = !take_flag(count, arguments, "quick").empty(), warm = !take_flag(count, arguments, "warm").empty();
  const std::string commit = take_flag(count, arguments, "commit");
  const bool compositions_only = !take_flag(count, arguments, "compositions").empty();
  const std::string schedules = take_flag(count, arguments, "schedules");
  const CacheDirectory cache;
  const bool to_file = writes_file(count, arguments);
  benchmark::Initialize(&count, arguments);
  if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 1;
  const std::vector<Target> all = targets();
  add_context(all, commit);
  Effort effort = quick ? Effort{0.05, 5} : Effort{};
  if (warm) effort.cold_starts = 0;
  if (!schedules.empty()) {
    show_schedules(all, compositions_only, schedules == "yes" ? "softmax|norm|entropy|transpose|sum|argmax" : schedules, effort);
    return 0;
  }
  add_workloads(all, compositions_only, effort);
  if (!compositions_only) {
    add_training(all, effort);
    add_transformers(all, effort);
    add_perceptrons(all, effort);
    add_launches(all, effort);
    add_calls(all, effort);
    add_eager(all, effort);
    add_cuda_c(all, effort);
    add_processes(all);
    add_graph_work();
    add_large_graphs(all);
  }
  PlainNames<benchmark::ConsoleReporter> display(benchmark::ConsoleReporter::OO_None);
  PlainNames<benchmark::JSONReporter> file;
  benchmark::RunSpecifiedBenchmarks(&display, to_file ? &file : nullptr);
  benchmark::Shutdown();
  return 0;
}

}  // namespace
}  // namespace damo::bench

int main(int count, char** arguments) {
  if (count == 5 && std::strcmp(arguments[1], "--child") == 0)
    return damo::bench::run_child(arguments[2], arguments[3], arguments[4]);
  return damo::bench::run(count, arguments);
}
