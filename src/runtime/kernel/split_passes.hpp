// A spec as several specs that run one after the other. Values of rows lie in memory between them, one element a row.
//   split_passes  one a pass, for few long rows: each pass then has all of a device
//   split_across  the joins across rows apart from the rest, for rows that one kernel can't both hold and join: arrays are read once more
#pragma once
#include <vector>

#include "runtime/kernel/spec.hpp"

namespace damo {

struct PassSpec {
  KernelSpec spec;
  /// For each parameter the parameter of the whole spec, or that many and the number of a value between passes.
  std::vector<int> parameters;
  bool across = false;  ///< it reduces the axes that the whole keeps, and the other way round
};
struct PassSpecs {
  std::vector<PassSpec> parts;
  std::vector<DType> between;
};
/// Joins across rows are a spec of their own behind the others.
PassSpecs split_passes(const KernelSpec& spec);
PassSpecs split_across(const KernelSpec& spec);

}  // namespace damo
