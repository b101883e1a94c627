// What the kernels of take and take_along_axis share: their launches, extents beside the axis, and words for elements of any dtype.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>

#include <damo/launch_config.hpp>
#include <damo/shape.hpp>

namespace damo {

/// One thread an element of rows: threads of a block lie along the row as far as it goes, the rest along the rows. Threads go on by the
/// grid's steps where there are more rows than it has.
inline LaunchConfig rows_launch(std::int64_t rows, std::int64_t length) {
  const auto along = static_cast<std::int64_t>(std::min<std::uint64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(length, 1))), 256));
  const std::int64_t across = 256 / along;
  return {.grid = {std::min<std::int64_t>((rows + across - 1) / across, 1 << 20)}, .block = {along, across}};
}
/// One thread each; likewise.
inline LaunchConfig elements_launch(std::int64_t count) { return {.grid = {std::min<std::int64_t>((count + 255) / 256, 1 << 20)}, .block = {256}}; }

/// Elements of one position along the axis.
inline std::int64_t inner_size(const Shape& shape, int axis) {
  std::int64_t size = 1;
  for (int i = axis + 1; i < shape.rank(); ++i) size *= shape[i];
  return size;
}

/// word<4>::type: moves elements of so many bytes, whatever they mean.
inline const std::string kWords = R"(
template <int bytes> struct word;
template <> struct word<1> { typedef unsigned char type; };
template <> struct word<2> { typedef unsigned short type; };
template <> struct word<4> { typedef unsigned int type; };
template <> struct word<8> { typedef unsigned long long type; };
)";

}  // namespace damo
