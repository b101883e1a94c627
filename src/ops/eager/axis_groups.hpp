// AxisGroups: a space of axes, some reduced (or scanned) and the others kept, and where the elements of several arrays
// lie in it. Neighbouring axes of a group become one where every array allows it. Beside the arrays there is the index:
// the number of an element in C order.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <damo/array.hpp>

namespace damo {

/// The axes of one group.
struct AxisGroup {
  std::vector<std::int64_t> extents;               ///< outermost first; empty if all were 1
  std::vector<std::vector<std::int64_t>> strides;  ///< for each array, then of the index
  std::int64_t size = 1;

  int rank() const { return static_cast<int>(extents.size()); }
  /// Of the last axis; 0 where there is none.
  std::int64_t inner_stride(std::size_t array) const { return strides[array].empty() ? 0 : strides[array].back(); }
};

struct AxisGroups {
  AxisGroup kept, reduced;

  /// arrays broadcast to space; bit a of reduced_axes: axis a. with_index: the index must be right; else it hinders no
  /// merging and the reduced axes may come in another order, that of memory.
  AxisGroups(const Shape& space, std::span<const Array> arrays, std::uint32_t reduced_axes, bool with_index);
};

}  // namespace damo
