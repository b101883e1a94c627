// HostSort: orders of lines on a device whose memory is the host's, by the native kernels of library/line_sort.hpp,
// which need no compiling. See tests/ops/cpu/host_sort_test.cpp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

#include <damo/array.hpp>
#include <damo/kernel.hpp>
#include "runtime/library/line_sort.hpp"

namespace damo {

class HostSort {
 public:
  /// Nothing where the device has no such kernels.
  static std::optional<HostSort> of(Device device);

  /// x: lines times count elements, contiguous. sorted: as many, not x, in order, equals in the order that they had. Lines are shared by the
  /// threads; long ones, where there are fewer lines than threads, in runs that are merged. Cost: 1 to 4 reads and writes of the elements, as many
  /// bits of the keys differ; twice that where their lower 32 bits matter as much as the upper ones.
  void sort(const Array& x, const SortKey& key, std::int64_t lines, std::int64_t count, const Array& sorted) const;

  /// count below 2^32. order: int64 of as many: places in their line, stable. sorted: likewise, or empty. Cost: 2 to 4 reads and writes of 8
  /// bytes an element, likewise.
  void order(const Array& x, const SortKey& key, std::int64_t lines, std::int64_t count, const Array& sorted,
             const Array& order) const;

  /// What these take of the device's memory for themselves.
  static std::size_t sort_bytes(Device device, DType dtype, std::int64_t lines, std::int64_t count);
  static std::size_t order_bytes(Device device, std::int64_t lines, std::int64_t count);

  /// Whether the first `wanted` of so many are sooner selected than all are sorted.
  static bool selects(std::int64_t count, std::int64_t wanted) { return wanted <= count / kLeastShare; }
  /// order: the first `wanted` places of each line alone, contiguous. Cost: one read of x, where few of its elements come
  /// behind smaller ones.
  void select(const Array& x, const SortKey& key, std::int64_t lines, std::int64_t count, std::int64_t wanted,
              const Array& order) const;
  static std::size_t select_bytes(Device device, std::int64_t lines, std::int64_t count, std::int64_t wanted);

 private:
  static constexpr std::int64_t kLeastShare = 8;
  HostSort() = default;
  Kernel sort_values_, merge_values_, take_sorted_, sort_runs_, merge_runs_, select_first_;
};

}  // namespace damo
