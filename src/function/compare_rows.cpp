#include "function/compare_rows.hpp"

#include <cmath>
#include <cstdio>

#include "runtime/memory/memory_pool.hpp"

namespace damo {
namespace {

std::string ratio(double unfused, double fused) {
  return unfused > 0 && fused > 0 ? short_number(unfused / fused) + "x" : "";
}

std::string percent(double part, double whole) {
  return whole > 0 && part > 0 ? short_number(100 * part / whole) + " %" : "-";
}

std::string code_from(const ComparisonSide& side) {
  std::string text;
  const auto add = [&](std::uint64_t count, const char* what) {
    if (count > 0) text += (text.empty() ? "" : ", ") + std::to_string(count) + what;
  };
  add(side.compiled, " compiled");
  add(side.from_disk, " from disk");
  add(side.from_memory, " in memory");
  return text.empty() ? "none" : text;
}

}  // namespace

std::string short_number(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  char text[32];
  const double size = std::fabs(value);
  if (size == 0) return "0";
  if (size < 1e-3 || size >= 1e6)
    std::snprintf(text, sizeof text, "%.2e", value);
  else
    std::snprintf(text, sizeof text, "%.*f", size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 4, value);
  return text;
}

std::string duration_text(double milliseconds) {
  if (milliseconds >= 1000) return short_number(milliseconds / 1000) + " s";
  return milliseconds < 1 ? short_number(milliseconds * 1000) + " us" : short_number(milliseconds) + " ms";
}

std::string rate_text(double bytes_per_second) {
  return bytes_per_second > 0 ? short_number(bytes_per_second * 1e-9) + " GB/s" : "-";
}

std::vector<ComparisonRow> rows_of(const Comparison& comparison) {
  const ComparisonSide &a = comparison.unfused, &b = comparison.fused;
  const double copy = comparison.copy_bytes_per_second;
  const auto bytes = [](std::uint64_t count) { return bytes_text(static_cast<std::size_t>(count)); };
  return {
      {"time of a call (median)", duration_text(a.milliseconds), duration_text(b.milliseconds),
       ratio(a.milliseconds, b.milliseconds)},
      {"fastest, slowest call", duration_text(a.fastest_milliseconds) + ", " + duration_text(a.slowest_milliseconds),
       duration_text(b.fastest_milliseconds) + ", " + duration_text(b.slowest_milliseconds), ""},
      {"calls measured", std::to_string(a.repetitions), std::to_string(b.repetitions), ""},
      {"kernels launched", std::to_string(a.kernels), std::to_string(b.kernels),
       ratio(static_cast<double>(a.kernels), static_cast<double>(b.kernels))},
      {"nodes", std::to_string(a.nodes), std::to_string(b.nodes), ratio(a.nodes, b.nodes)},
      {"bytes moved (least)", bytes(a.bytes), bytes(b.bytes),
       ratio(static_cast<double>(a.bytes), static_cast<double>(b.bytes))},
      {"bytes moved over time", rate_text(a.bytes_per_second()), rate_text(b.bytes_per_second()), ""},
      {"of the device's copy (" + rate_text(copy) + ")", percent(a.bytes_per_second(), copy),
       percent(b.bytes_per_second(), copy), ""},
      {"peak memory beyond inputs", bytes(a.peak_bytes), bytes(b.peak_bytes),
       ratio(static_cast<double>(a.peak_bytes), static_cast<double>(b.peak_bytes))},
      {"graph: rewrites, fusion", duration_text(a.graph_milliseconds), duration_text(b.graph_milliseconds), ""},
      {"kernels: compile, load", duration_text(a.compile_milliseconds), duration_text(b.compile_milliseconds), ""},
      {"kernel code", code_from(a), code_from(b), ""},
  };
}

std::string title_of(const Comparison& comparison) {
  const std::string description =
      comparison.device_description.empty() ? "" : " (" + comparison.device_description + ")";
  return (comparison.name.empty() ? "" : comparison.name + ": ") + "fused against unfused on " + comparison.device +
         description;
}

constexpr double kNotable = 1.05;  // less than this between both sides is chance

std::string tone_of(const Comparison& comparison) {
  const double speedup = comparison.speedup();
  return speedup > kNotable ? " faster" : speedup < 1 / kNotable ? " slower" : "";
}

std::string verdict_of(const Comparison& comparison) {
  const double speedup = comparison.speedup();
  const std::string kernels =
      std::to_string(comparison.unfused.kernels) + " -> " + std::to_string(comparison.fused.kernels) + " kernels";
  if (speedup > kNotable) return short_number(speedup) + " times as fast (" + kernels + ")";
  if (speedup < 1 / kNotable) return short_number(1 / speedup) + " times slower (" + kernels + ")";
  return "as fast (" + kernels + ")";
}

std::string text_of(const OutputDifference& difference) {
  if (difference.absolute == 0 && difference.nan_mismatches == 0) return "equal in every element";
  std::string text = "greatest difference " + short_number(difference.absolute) + " (relative " +
                     short_number(difference.relative) + ", " + short_number(difference.ulps) +
                     " ulp), greatest value " + short_number(difference.greatest);
  if (difference.nan_mismatches > 0)
    text += ", " + std::to_string(difference.nan_mismatches) + " elements are NaN on one side only";
  return text;
}

}  // namespace damo
