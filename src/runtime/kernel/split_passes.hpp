// split_passes: a spec of several passes as several specs, one a pass, for few long rows: each pass then has all of a device.
// The values that joins give lie in memory between them, one element a row.
#pragma once
#include <vector>

#include "runtime/kernel/spec.hpp"

namespace damo {

struct PassSpec {
  KernelSpec spec;
  /// For each parameter the parameter of the whole spec, or that many and the number of a value between passes.
  std::vector<int> parameters;
};
struct PassSpecs {
  std::vector<PassSpec> parts;
  std::vector<DType> between;
};
PassSpecs split_passes(const KernelSpec& spec);

}  // namespace damo
