// compare(): builds and measures both sides. The difference of values is in compare_difference.cpp, texts beside it.
#include <damo/compare.hpp>

#include <algorithm>
#include <chrono>

#include <damo/cache.hpp>
#include "function/compare_difference.hpp"
#include "runtime/backend.hpp"

namespace damo {
namespace {

constexpr int kLeastRepetitions = 5, kMostRepetitions = 10000;

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

void measure_time(const Function& function, std::span<const Array> values, double seconds, ComparisonSide& side) {
  using Clock = std::chrono::steady_clock;
  CallTimer timer(function.device());
  timer.milliseconds(function, values);
  std::vector<double> times;
  const auto start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  while (times.size() < kLeastRepetitions || (elapsed() < seconds && times.size() < kMostRepetitions)) {
    times.push_back(timer.milliseconds(function, values));
  }
  std::sort(times.begin(), times.end());
  const std::size_t middle = times.size() / 2;
  side.milliseconds = times.size() % 2 == 1 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
  side.fastest_milliseconds = times.front();
  side.slowest_milliseconds = times.back();
  side.repetitions = static_cast<int>(times.size());
}

/// From a build of its own: recording events around each node would slow the measured calls.
std::uint64_t measure_bytes(std::span<const Variable> inputs, std::span<const Variable> outputs,
                            std::span<const Array> values, Options options) {
  options.profile = true;
  const Function function = damo::function(inputs, outputs, options);
  function.call(values);
  std::uint64_t bytes = 0;
  for (const ProfileRow& row : function.profile().rows) bytes += row.bytes;
  return bytes;
}

Results measure(std::span<const Variable> inputs, std::span<const Variable> outputs, std::span<const Array> values,
                const Options& options, double seconds, ComparisonSide& side) {
  const Device device = options.device ? *options.device : Device();
  const CacheStatistics before = cache_statistics(device);
  const Function function = damo::function(inputs, outputs, options);
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
  side.bytes = measure_bytes(inputs, outputs, values, options);
  Results kept = std::move(results);
  measure_time(function, values, seconds, side);
  function.free_memory();
  return kept;
}

}  // namespace

Comparison compare(std::span<const Variable> inputs, std::span<const Variable> outputs, std::span<const Array> values,
                   const Options& options, double seconds) {
  Options settings = options;
  settings.profile = false;
  const Device device = options.device ? *options.device : Device();
  settings.device = device;
  Comparison comparison;
  comparison.name = options.name;
  comparison.device = device.name();
  comparison.device_description = device.properties().description;
  settings.fuse = false;
  const Results plain = measure(inputs, outputs, values, settings, seconds, comparison.unfused);
  settings.fuse = true;
  const Results fused = measure(inputs, outputs, values, settings, seconds, comparison.fused);
  comparison.copy_bytes_per_second = device.measure_copy();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    OutputDifference difference = difference_of(fused[i], plain[i]);
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
