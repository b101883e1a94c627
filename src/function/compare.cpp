// compare(): builds and measures both sides. The difference of values is in compare_difference.cpp, texts beside it.
#include <damo/compare.hpp>

#include <algorithm>
#include <chrono>

#include <damo/cache.hpp>
#include <damo/shared.hpp>
#include "function/compare_difference.hpp"
#include "runtime/backend.hpp"
#include "runtime/copy_speed.hpp"

namespace damo {
namespace {

constexpr int kLeastRepetitions = 5, kMostRepetitions = 10000;
constexpr int kLeftOut = 3;  // first calls of each side: they allocate, and fill caches

/// One call's time by the device's clock.
class CallTimer {
 public:
  explicit CallTimer(Device device) : stream_(Stream::default_of(device)), start_(device), stop_(device) {}
  double milliseconds(const Function& function, std::span<const Array> values) {
    start_.record(stream_);
    function.call(values);
    stop_.record(stream_);
    stop_.synchronize();
    return stop_.milliseconds_since(start_);
  }

 private:
  Stream stream_;
  Event start_, stop_;
};

void summarise(std::vector<double> times, ComparisonSide& side) {
  std::sort(times.begin(), times.end());
  const std::size_t middle = times.size() / 2;
  side.milliseconds = times.size() % 2 == 1 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
  side.fastest_milliseconds = times.front();
  side.slowest_milliseconds = times.back();
  side.repetitions = static_cast<int>(times.size());
}

/// Calls take turns, so that a clock that rises or a neighbour that comes and goes meets both sides alike.
void measure_times(const Function& unfused, const Function& fused, std::span<const Array> values, double seconds, Comparison& comparison) {
  using Clock = std::chrono::steady_clock;
  CallTimer timer(fused.device());
  for (int i = 0; i < kLeftOut; ++i) {
    timer.milliseconds(unfused, values);
    timer.milliseconds(fused, values);
  }
  std::vector<double> first, second;
  const auto start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  while (first.size() < kLeastRepetitions || (elapsed() < 2 * seconds && first.size() < kMostRepetitions)) {
    first.push_back(timer.milliseconds(unfused, values));
    second.push_back(timer.milliseconds(fused, values));
  }
  summarise(std::move(first), comparison.unfused);
  summarise(std::move(second), comparison.fused);
}

/// From a build of its own: recording events around each node would slow the measured calls.
FunctionReport measure_nodes(std::span<const Variable> inputs, std::span<const Variable> outputs, std::span<const Array> values, Options options, SourceLine where) {
  options.profile = true;
  const Function function = damo::function(inputs, outputs, options, where);
  function.call(values);
  return function.report();
}

struct Built {
  Function function;
  Results results;
};

/// Everything but times.
Built build(std::span<const Variable> inputs, std::span<const Variable> outputs, std::span<const Array> values,
            const Options& options, SourceLine where, ComparisonSide& side) {
  const Device device = options.device ? *options.device : Device();
  const CacheStatistics before = cache_statistics(device);
  Function function = damo::function(inputs, outputs, options, where);
  side.graph = function.graph();
  side.nodes = side.graph.node_count();
  side.graph_milliseconds = function.build_report().graph_milliseconds;
  side.compile_milliseconds = function.build_report().compile_milliseconds;

  device.synchronize();
  const std::size_t in_use = device.memory().in_use_bytes;
  device.reset_peak();
  Results results = function.call(values);  // also compiles for layouts that were not foreseen
  device.synchronize();
  side.peak_bytes = device.memory().peak_bytes - std::min(in_use, device.memory().peak_bytes);
  const CacheStatistics after = cache_statistics(device);
  side.compiled = after.compiles - before.compiles;
  side.from_disk = after.disk_hits - before.disk_hits;
  side.from_memory = after.memory_hits - before.memory_hits;

  const std::uint64_t launches = device.backend().launches;
  results = function.call(values);
  side.kernels = device.backend().launches - launches;
  side.report = measure_nodes(inputs, outputs, values, options, where);
  for (const NodeReport& node : side.report.nodes) side.bytes += node.bytes;
  function.free_memory();
  return {std::move(function), std::move(results)};
}

/// The shared variables that the calls update begin each side, and end, with the values that they have now.
class KeptValues {
 public:
  explicit KeptValues(const std::vector<Assignment>& updates) {
    for (const Assignment& update : updates) {
      if (update.variable.is_shared()) values_.emplace_back(Shared(update.variable), Shared(update.variable).array());
    }
  }
  void restore() const {
    for (const auto& [variable, value] : values_) variable.set(value);
  }

 private:
  std::vector<std::pair<Shared, Array>> values_;
};

}  // namespace

Comparison compare(std::span<const Variable> inputs, std::span<const Variable> outputs, std::span<const Array> values,
                   const Options& options, double seconds, SourceLine where) {
  Options settings = options;
  settings.profile = false;
  const Device device = options.device ? *options.device : Device();
  settings.device = device;
  Comparison comparison;
  comparison.name = options.name;
  comparison.device = device.name();
  comparison.device_description = device.properties().description;
  const KeptValues kept(options.updates);
  settings.fuse = false;
  const Built plain = build(inputs, outputs, values, settings, where, comparison.unfused);
  kept.restore();
  settings.fuse = true;
  const Built fused = build(inputs, outputs, values, settings, where, comparison.fused);
  measure_times(plain.function, fused.function, values, seconds, comparison);
  kept.restore();
  comparison.copy_bytes_per_second = copy_speed(device);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    OutputDifference difference = difference_of(fused.results[i], plain.results[i]);
    difference.name = outputs[i].name().empty() ? "output " + std::to_string(i) : outputs[i].name();
    comparison.outputs.push_back(std::move(difference));
  }
  return comparison;
}

double Comparison::speedup() const {
  return fused.milliseconds > 0 && unfused.milliseconds > 0 ? unfused.milliseconds / fused.milliseconds : 1;
}

bool Comparison::is_within(double ulps, double relative) const {
  return std::all_of(outputs.begin(), outputs.end(), [&](const OutputDifference& output) {
    return output.nan_mismatches == 0 && (output.ulps <= ulps || output.absolute <= relative * output.greatest);
  });
}

}  // namespace damo
