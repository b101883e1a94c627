// A spec as several specs that run one after the other. Values of rows lie in memory between them, one element a row, and where that is asked for what prefix joins are made of, as it would be of ops of their own.
//   split_passes  one a pass, for few long rows: each pass then has all of a device
//                 Prefix joins are the last one's, with all that follows from them
//   split_prefixes  the prefix joins, and what follows from them, apart from the rest, where no kernel makes both
//   split_across  the joins across rows apart from the rest, for rows that one kernel can't both hold and join: arrays are read once more
#pragma once
#include <cstdint>
#include <vector>

#include "runtime/kernel/spec.hpp"

namespace damo {

struct PassSpec {
  static constexpr int kPlaces = -1;
  KernelSpec spec;
  /// For each parameter the parameter of the whole spec, or that many and the number of a value between passes; kPlaces: an input that counts.
  std::vector<int> parameters;
  bool across = false;  ///< it reduces the axes that the whole joins across, and keeps the others
};
struct PassSpecs {
  struct Between {
    DType dtype;
    bool is_element = false;  ///< one for each element, not for each row
  };
  std::vector<PassSpec> parts;
  std::vector<Between> between;
};
/// Joins across rows are a spec of their own behind the others. Its rows lie along other axes, so an element's place in a row of the whole
/// is an input of ordinals there. row_axes: those that make the whole's rows, as ordinals have them, bit a being the axis that is a-th from the last.
/// leaves: elements that prefix joins, or what follows from these, read lie in memory if they follow from joins of rows, or if these are made of them too and they are dear; else they are made again, of arrays and values of rows.
PassSpecs split_passes(const KernelSpec& spec, std::uint32_t row_axes, bool leaves = false);
PassSpecs split_prefixes(const KernelSpec& spec, std::uint32_t row_axes, bool leaves);
PassSpecs split_across(const KernelSpec& spec, std::uint32_t row_axes);

}  // namespace damo
