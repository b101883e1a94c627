// Positions in order, and where each came from: what lets a kernel add up by position without atomics, in one order.
#pragma once
#include <damo/variable.hpp>

namespace damo {

struct SortedPositions {
  Variable positions;  ///< int64, rank 1, ascending
  Variable order;      ///< int64: positions[i] was at order[i] in C order; ascending among equals
};
/// positions: checked_positions of axes of x. for_scatter: only OrderedScatter, which wants none in order, stands for what reads them where
/// scatters_in_order(device, dtype): they are then not sorted. Cost: 5 reads and writes of both for each 8 bits of the extent. Method: radix sort from the least
/// digit on (Knuth, The Art of Computer Programming 3, 5.2.5), whose tiles each thread goes through in order.
enum class Sorting : bool { kAlways, kForScatter };
SortedPositions sorted_positions(const Variable& positions, const Variable& x, int axis, int axes, Sorting sorting, SourceLine line);

}  // namespace damo
