// Words of 64 bits in order, row by row, and where each came from: a stable radix sort from the least digit on (Knuth, The Art of Computer
// Programming 3, 5.2.5), in CUDA C, or a HostSort where the device has one. What sorting and the sums of repeated positions rest on.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include <damo/kernel.hpp>
#include "ops/sort/host_sort.hpp"

namespace damo {

/// How kernels come to be: ThunkContext::compile, or a Module's.
using CompileKernel = std::function<Kernel(std::string_view source, std::string_view name)>;

/// Throws ShapeError for rows that are too long for a sort's counters.
void require_sortable(std::int64_t count);

class RadixSort {
 public:
  RadixSort(Device device, const CompileKernel& compile);
  /// keys: rows times count words, contiguous, of which only the lowest `bits` differ. sorted: the same in order, which may not be keys; order:
  /// int64 of as many, the place in its row that each had, ascending among equals. Cost: 5 reads and writes of both for each 8 bits, on a host HostSort's. ShapeError for rows of 2^32 words or more.
  void operator()(const Array& keys, std::int64_t rows, std::int64_t count, int bits, const Array& sorted, const Array& order) const;

 private:
  std::optional<HostSort> host_;
  Kernel count_digits_, scan_counts_, move_digits_;
};

}  // namespace damo
