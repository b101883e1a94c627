// What the kernels that sort lines on a host are asked for: native kernels (Backend::native_kernel) of these structs'
// names, which take the struct. A line is `count` elements one after another; a block takes its share of all runs, and
// has scratch of its own. Elements are compared by keys: unsigned words whose order is theirs, and where keys are
// equal by their places, so that all orders are stable. cpu/line_sort.hpp and cpu/value_sort.hpp say how;
// ops/sort/host_sort.hpp puts them together.
#pragma once
#include <cstdint>

namespace damo {

/// How a word of `bytes` becomes its key: of a floating dtype, which has the bits of its `infinity`, a word with both
/// zeros alike and NaN behind all others, of an integer itself; either by xor with `flip`.
struct SortKey {
  std::uint64_t infinity = 0, flip = 0;
  std::int32_t bytes = 8;
};

/// Puts the elements of each run of each line in order.
struct SortValues {
  static constexpr const char* kName = "sort_values";
  const void* x;
  SortKey key;
  std::int64_t lines, count, run;  ///< a line's last run may be shorter
  void* scratch;                   ///< `run` elements for a block
  void* sorted;
};

/// Each two neighbouring runs of a line, which are in order, become one. A block writes one of the `pieces` of a line.
struct MergeValues {
  static constexpr const char* kName = "merge_values";
  const void* x;
  SortKey key;
  std::int64_t lines, count, run, pieces;
  void* merged;
};

/// The elements of lines in an order of theirs.
struct TakeSorted {
  static constexpr const char* kName = "take_sorted";
  const void* x;
  const std::int64_t* order;
  std::int64_t lines, count;
  std::int32_t bytes;  ///< of an element
  void* sorted;
};

/// Puts each run of each line in order: where its elements were in the line, and, where asked, their keys.
struct SortRuns {
  static constexpr const char* kName = "sort_runs";
  const void* x;
  SortKey key;
  std::int64_t lines, count, run;  ///< run: elements, below 2^32; a line's last one may be shorter
  std::uint64_t* scratch;          ///< 2 * run words for a block
  std::uint64_t* keys;             ///< or null
  std::int64_t* order;
};

/// As MergeValues, of such keys and places.
struct MergeRuns {
  static constexpr const char* kName = "merge_runs";
  const std::uint64_t* keys;
  const std::int64_t* order;
  std::int64_t lines, count, run, pieces;
  std::uint64_t* keys_out;  ///< or null
  std::int64_t* order_out;
};

/// The first elements of each run, in order, a run's behind those of the run before.
struct SelectFirst {
  static constexpr const char* kName = "select_first";
  const void* x;
  SortKey key;
  const std::int64_t* places;             ///< of the elements in their lines; null: as they lie
  std::int64_t lines, count, run, first;  ///< first: at most half of any run
  std::uint64_t* scratch;                 ///< 2 * run words for a block
  std::uint64_t* keys;  ///< or null
  std::int64_t* order;
};

}  // namespace damo
