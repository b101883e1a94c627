// compare(): the same graph built with and without fusion, run on the same values, measured side by side.
//
//   compare({x, y}, {tanh(1.5 * x + 0.5 * y) * x}, {a, b}, {.name = "swish"}).print().write_html("fusion.html");
//
// Each side: kernels a call launches, least bytes they must move, median time of at least 5 calls, the two sides in turn
// and the first calls left out, speed against the device's own copy, compile time and whether the kernels came from the cache, peak memory beyond the
// inputs. The results of both sides are compared element by element. write_html() writes one page that needs no other
// file and no network, with the table, a chart, the fused side's kernels and
// how near each is to the copy's speed, and both graphs drawn. See tests/function/compare_test.cpp and
// examples/fused_vs_unfused.cpp.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include <damo/function.hpp>
#include <damo/report.hpp>

namespace damo {

/// What one side cost.
struct ComparisonSide {
  int nodes = 0;              ///< of the graph as it runs
  std::uint64_t kernels = 0;  ///< launched by one call
  std::uint64_t bytes = 0;    ///< that one call's nodes must at least read and write
  double milliseconds = 0;    ///< of one call: the median
  double fastest_milliseconds = 0, slowest_milliseconds = 0;
  int repetitions = 0;
  double graph_milliseconds = 0;                               ///< snapshot, rewrites, fusion, plan
  double compile_milliseconds = 0;                             ///< make_thunk and kernels
  std::uint64_t compiled = 0, from_disk = 0, from_memory = 0;  ///< kernels by where their code came from
  std::size_t peak_bytes = 0;  ///< most device memory of one call beyond the inputs: temporaries and results
  FunctionGraph graph;
  FunctionReport report;       ///< of a build that was profiled

  double bytes_per_second() const { return milliseconds > 0 ? static_cast<double>(bytes) / (milliseconds * 1e-3) : 0; }
};

/// How far the two sides' values of one output lie apart.
struct OutputDifference {
  std::string name;                  ///< of the output, or "output 1"
  std::string type;                  ///< "float32 (64, 512)"
  double absolute = 0;               ///< greatest |a - b|
  double relative = 0;               ///< greatest |a - b| / max(|a|, |b|)
  double ulps = 0;                   ///< greatest distance in units in the last place; of integers: |a - b|
  double greatest = 0;               ///< greatest finite |a|
  std::uint64_t nan_mismatches = 0;  ///< elements that are NaN on one side only
};

class Comparison {
 public:
  std::string name, device, device_description;
  double copy_bytes_per_second = 0;  ///< what the device's own copy reaches
  ComparisonSide fused, unfused;
  std::vector<OutputDifference> outputs;

  /// Unfused time over fused time; 1 if nothing was measured.
  double speedup() const;
  /// No output of one side differs by more than so many ulps and by more than relative times its greatest magnitude.
  bool is_within(double ulps, double relative = 0) const;

  std::string text() const;  ///< the table
  std::string json() const;
  std::string html() const;
  const Comparison& print(std::ostream& out = std::cout) const;
  /// Each throws UserError if the file cannot be written.
  const Comparison& write_json(const std::string& path) const;
  const Comparison& write_html(const std::string& path) const;
};

/// options: as for function(); fuse and profile are set here. seconds: of measuring, on each side; at least 5 calls are
/// made even if they take longer. Throws what function() and a call throw.
Comparison compare(std::span<const Variable> inputs, std::span<const Variable> outputs, std::span<const Array> values,
                   const Options& options = {}, double seconds = 1, SourceLine where = {__builtin_FILE(), __builtin_LINE()});
inline Comparison compare(std::initializer_list<Variable> inputs, std::initializer_list<Variable> outputs,
                          std::initializer_list<Array> values, const Options& options = {}, double seconds = 1,
                          SourceLine where = {__builtin_FILE(), __builtin_LINE()}) {
  return compare(std::span(inputs.begin(), inputs.size()), std::span(outputs.begin(), outputs.size()),
                 std::span(values.begin(), values.size()), options, seconds, where);
}

}  // namespace damo
