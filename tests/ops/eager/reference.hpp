// Reductions and scans in double precision on the host, element by element, for tests.
#pragma once
#include <functional>
#include <vector>

#include <damo/array.hpp>

namespace damo::testing {

/// Values of each group of elements that differ only along the axes of the mask, in C order of the others.
inline std::vector<std::vector<double>> groups_of(const Array& x, std::uint32_t mask) {
  const std::vector<double> values = x.to_doubles();
  std::int64_t outputs = 1;
  for (int axis = 0; axis < x.rank(); ++axis) outputs *= mask >> axis & 1u ? 1 : x.shape()[axis];
  std::vector<std::vector<double>> groups(static_cast<std::size_t>(outputs));
  for (std::int64_t at = 0; at < x.size(); ++at) {
    std::int64_t rest = at, output = 0, stride = 1;
    for (int axis = x.rank() - 1; axis >= 0; --axis) {
      const std::int64_t c = rest % x.shape()[axis];
      rest /= x.shape()[axis];
      if (mask >> axis & 1u) continue;
      output += c * stride;
      stride *= x.shape()[axis];
    }
    groups[static_cast<std::size_t>(output)].push_back(values[static_cast<std::size_t>(at)]);
  }
  return groups;
}

/// Pseudo-random halves between -8 and 8: exact in every floating dtype.
inline std::vector<float> noise(std::int64_t count, std::uint32_t seed = 1) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(seed >> 27) * 0.5f - 8;
  }
  return values;
}

}  // namespace damo::testing
