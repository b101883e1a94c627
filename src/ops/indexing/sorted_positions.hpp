// Positions in order, and where each came from: what lets a kernel add up by position without atomics, in one order.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

#include <damo/array.hpp>
#include <damo/variable.hpp>
#include "ops/sort/host_sort.hpp"
#include "ops/sort/radix_sort.hpp"

namespace damo {

struct SortedPositions {
  Variable positions;  ///< int64, rank 1, ascending
  Variable order;      ///< int64: positions[i] was at order[i] in C order; ascending among equals
};
/// positions: checked_positions of axes of x. Where scatters_in_order(device, x's dtype) they stay as they are, and order counts: OrderedScatter wants none in
/// order, and whoever does sorts them with a PositionSort. Cost elsewhere: that of a PositionSort.
SortedPositions sorted_positions(const Variable& positions, const Variable& x, int axis, int axes, SourceLine line);

/// Puts positions in order. Cost: that of a RadixSort by the bits of the extent, on a host of a HostSort.
class PositionSort {
 public:
  PositionSort(Device device, const CompileKernel& compile);
  /// positions: of axes of an array of shape x. sorted, order: int64 of as many, as in SortedPositions; sorted may not be positions.
  void operator()(const Array& positions, const Shape& x, int axis, int axes, const Array& sorted, const Array& order) const;
  /// What that takes of the device's memory for itself, for so many positions.
  std::size_t workspace_bytes(std::int64_t count, const Shape& x, int axis, int axes) const;

 private:
  Device device_;
  std::optional<HostSort> host_;
  std::optional<RadixSort> radix_;  ///< where there is no HostSort
};

}  // namespace damo
