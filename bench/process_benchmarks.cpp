// What whole processes cost. Each is started anew several times, with page caches warm; the median counts.
//   process_start                  a program that links Damo and ends; nothing_us is /bin/true
//   first_call_fused20/DEVICE      function() of a fused kernel of twenty ops and its first result, nothing in a cache;
//                                  compiler_ms: the compiler alone on the same source in a process of its own, and
//                                  compiler_open_ms before it: what opening Clang and LLVM takes (CPU)
//   warm_cache_20_kernels/DEVICE   a process that gets twenty kernels of unlike texts from the disk cache and compiles none
#include "benchmarks.hpp"
#include "child_process.hpp"

namespace damo::bench {
namespace {

constexpr int kStarts = 9, kColdStarts = 5;

void put(benchmark::State& state, const Figures& figures, const std::string& time) {
  for ([[maybe_unused]] auto _ : state) state.SetIterationTime(figures.at(time) * 1e-3);
  for (const auto& [name, value] : figures) state.counters[name] = value;
}

void process_start(benchmark::State& state) {
  const Children children;
  Figures figures = children.medians(kStarts, "end", "none", false);
  std::vector<double> nothing;
  for (int i = 0; i < kStarts; ++i) nothing.push_back(run_process({"/bin/true"}, "/dev/null").at("wall_ms"));
  figures["nothing_ms"] = median(nothing);
  put(state, figures, "wall_ms");
}

void first_call(benchmark::State& state, const std::string& device) {
  const Children children;
  Figures figures = children.medians(kColdStarts, "first_call", device, true);
  figures.merge(children.medians(kColdStarts, "compile", device, true));  // its wall_ms is not taken: first_call's is there
  put(state, figures, "first_call_ms");
}

void warm_cache(benchmark::State& state, const std::string& device) {
  const Children children;
  children.medians(1, "twenty_kernels", device, true);
  put(state, children.medians(kStarts, "twenty_kernels", device, false), "wall_ms");
  if (state.counters["compiles"] != 0 || state.counters["disk_hits"] != 20) state.SkipWithError("not twenty kernels came from the disk cache");
}

}  // namespace

void add_processes(const std::vector<Target>& targets) {
  add("process_start", process_start);
  for (const Target& target : targets) {
    add("first_call_fused20/" + target.name, [=](benchmark::State& state) { first_call(state, target.name); });
    add("warm_cache_20_kernels/" + target.name, [=](benchmark::State& state) { warm_cache(state, target.name); });
  }
}

}  // namespace damo::bench
