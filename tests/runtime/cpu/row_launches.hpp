// What the tests of rows of threads share: values, and launches as the pool makes them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/cpu/compile_support.hpp"

namespace damo::cpu_backend::testing {

inline std::vector<float> numbers(int count) {
  std::vector<float> values(count);
  for (int i = 0; i < count; ++i) values[i] = static_cast<float>((i * 37) % 101) - 50.0f;
  return values;
}

/// As the pool does: the blocks in shares, which begin and end anywhere in a row of them.
template <class... Arguments>
void launch_in_shares(KernelEntry kernel, Extent grid, Extent block, std::int64_t share, const Arguments&... arguments) {
  const void* pointers[] = {static_cast<const void*>(&arguments)..., nullptr};
  LaunchReport report;
  const LaunchFrame frame{{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, 0, 0, nullptr, &report};
  const std::int64_t blocks = std::int64_t{grid.x} * grid.y * grid.z;
  for (std::int64_t first = 0; first < blocks; first += share) {
    kernel(const_cast<void* const*>(pointers), &frame, first, std::min(first + share, blocks));
  }
}

inline std::uint32_t covering(int extent, std::uint32_t block) { return (static_cast<std::uint32_t>(extent) + block - 1) / block; }

}  // namespace damo::cpu_backend::testing
