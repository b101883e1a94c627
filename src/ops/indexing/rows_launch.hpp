// A launch of one thread an element of rows: threads of a block lie along the row as far as it goes, the rest along the rows.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>

#include <damo/launch_config.hpp>

namespace damo {

/// Threads go on by the grid's steps where there are more rows than it has.
inline LaunchConfig rows_launch(std::int64_t rows, std::int64_t length) {
  const auto along = static_cast<std::int64_t>(std::min<std::uint64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(length, 1))), 256));
  const std::int64_t across = 256 / along;
  return {.grid = {std::min<std::int64_t>((rows + across - 1) / across, 1 << 20)}, .block = {along, across}};
}

}  // namespace damo
