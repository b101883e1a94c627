#include <nlohmann/json.hpp>

#include <damo/compare.hpp>

namespace damo {
namespace {

using Json = nlohmann::ordered_json;  // as written here; JSON has no infinity or NaN: they become null

Json to_json(const ComparisonSide& side, double copy) {
  return {
      {"nodes", side.nodes},
      {"kernels", side.kernels},
      {"bytes", side.bytes},
      {"milliseconds", side.milliseconds},
      {"fastest_milliseconds", side.fastest_milliseconds},
      {"slowest_milliseconds", side.slowest_milliseconds},
      {"repetitions", side.repetitions},
      {"bytes_per_second", side.bytes_per_second()},
      {"fraction_of_copy", copy > 0 ? side.bytes_per_second() / copy : 0},
      {"graph_milliseconds", side.graph_milliseconds},
      {"compile_milliseconds", side.compile_milliseconds},
      {"kernels_compiled", side.compiled},
      {"kernels_from_disk", side.from_disk},
      {"kernels_from_memory", side.from_memory},
      {"peak_bytes", side.peak_bytes},
  };
}

}  // namespace

std::string Comparison::json() const {
  Json differences = Json::array();
  for (const OutputDifference& output : outputs) {
    differences.push_back({{"name", output.name},
                           {"type", output.type},
                           {"absolute", output.absolute},
                           {"relative", output.relative},
                           {"ulps", output.ulps},
                           {"greatest", output.greatest},
                           {"nan_mismatches", output.nan_mismatches}});
  }
  const Json all = {
      {"name", name},
      {"device", device},
      {"device_description", device_description},
      {"copy_bytes_per_second", copy_bytes_per_second},
      {"speedup", speedup()},
      {"unfused", to_json(unfused, copy_bytes_per_second)},
      {"fused", to_json(fused, copy_bytes_per_second)},
      {"outputs", std::move(differences)},
  };
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace damo
