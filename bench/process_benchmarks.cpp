// What whole processes cost. Each is started anew several times, with page caches warm; the median counts.
//   process_start                  a program that links Damo and ends; nothing_us is /bin/true
//   first_call_fused20/DEVICE      function() of a fused kernel of twenty ops and its first result, nothing in a cache;
//                                  compiler_ms: the compiler alone on the same source in a process of its own, and
//                                  compiler_open_ms before it: what opening Clang and LLVM takes (CPU)
//   warm_cache_20_kernels/DEVICE   a process that gets twenty kernels from the disk cache; compiles must be 0
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "benchmarks.hpp"

extern char** environ;

namespace damo::bench {
namespace {

constexpr int kStarts = 9, kColdStarts = 5;

using Figures = std::map<std::string, double>;

/// Runs a program to its end; wall_ms and whatever "name value" lines it wrote to `file`.
Figures run_process(std::vector<std::string> command, const std::string& file) {
  std::vector<char*> arguments;
  for (std::string& text : command) arguments.push_back(text.data());
  arguments.push_back(nullptr);
  const auto start = Clock::now();
  pid_t child = 0;
  if (posix_spawn(&child, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0)
    throw std::runtime_error("cannot start " + command[0]);
  int status = 0;
  waitpid(child, &status, 0);
  Figures figures = {{"wall_ms", seconds_since(start) * 1e3}};
  if (status != 0) throw std::runtime_error(command[0] + " ended with status " + std::to_string(status));
  std::ifstream lines(file);
  std::string name;
  for (double value; lines >> name >> value;) figures[name] = value;
  return figures;
}

std::string own_path() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

/// The median of each figure over `times` children in the same role.
Figures medians(int times, const std::string& role, const std::string& device, const std::string& directory,
                bool cold) {
  std::map<std::string, std::vector<double>> all;
  const std::string file = directory + "/figures";
  for (int i = 0; i < times; ++i) {
    if (cold) std::filesystem::remove_all(directory + "/cache");
    for (const auto& [name, value] : run_process({own_path(), "--child", role, device, file}, file))
      all[name].push_back(value);
  }
  Figures figures;
  for (const auto& [name, values] : all) figures[name] = median(values);
  return figures;
}

/// A directory of its own for the children of one benchmark, and in it their kernel cache.
class Scratch {
 public:
  Scratch() {
    const char* text = getenv("DAMO_CACHE_DIR");
    old_cache_ = text ? text : "";
    path = old_cache_ + "/children";
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path);
    setenv("DAMO_CACHE_DIR", (path + "/cache").c_str(), 1);
  }
  ~Scratch() { setenv("DAMO_CACHE_DIR", old_cache_.c_str(), 1); }
  std::string path;

 private:
  std::string old_cache_;
};

void put(benchmark::State& state, const Figures& figures, const std::string& time) {
  for ([[maybe_unused]] auto _ : state) state.SetIterationTime(figures.at(time) * 1e-3);
  for (const auto& [name, value] : figures) state.counters[name] = value;
}

void process_start(benchmark::State& state) {
  const Scratch scratch;
  Figures figures = medians(kStarts, "end", "none", scratch.path, false);
  std::vector<double> nothing;
  for (int i = 0; i < kStarts; ++i) nothing.push_back(run_process({"/bin/true"}, "/dev/null").at("wall_ms"));
  figures["nothing_ms"] = median(nothing);
  put(state, figures, "wall_ms");
}

void first_call(benchmark::State& state, const std::string& device) {
  const Scratch scratch;
  Figures figures = medians(kColdStarts, "first_call", device, scratch.path, true);
  figures.merge(medians(kColdStarts, "compile", device, scratch.path, true));  // its wall_ms is not taken: first_call's is there
  put(state, figures, "first_call_ms");
}

void warm_cache(benchmark::State& state, const std::string& device) {
  const Scratch scratch;
  medians(1, "twenty_kernels", device, scratch.path, true);
  put(state, medians(kStarts, "twenty_kernels", device, scratch.path, false), "wall_ms");
  if (state.counters["compiles"] != 0) state.SkipWithError("kernels of the disk cache were compiled again");
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
