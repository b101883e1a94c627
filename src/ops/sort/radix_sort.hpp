// Words in order, row by row, and where each came from: a stable radix sort from the least digit on (Knuth, The Art of Computer Programming 3,
// 5.2.5), in CUDA C. What sorting and the sums of repeated positions rest on where a device has no HostSort.
//
// A digit is 8 bits. For each one blocks count the digits of their tiles, 4,096 neighbouring elements, each digit's counts are summed up over the tiles,
// and blocks move their tiles' elements: a warp finds out which of its lanes have equal digits (__match_any_sync), so places follow from the
// order of the elements alone, and a tile is put in order in shared memory first, so that equal digits are written side by side. Nothing depends on timing.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include <damo/kernel.hpp>

namespace damo {

/// How kernels come to be: ThunkContext::compile, or a Module's.
using CompileKernel = std::function<Kernel(std::string_view source, std::string_view name)>;

/// Throws ShapeError for rows that are too long for a sort's counters.
void require_sortable(std::int64_t count);

class RadixSort {
 public:
  /// key_dtype: uint32 or uint64, the words that are sorted.
  RadixSort(const CompileKernel& compile, DType key_dtype);
  /// keys: rows times count words, contiguous, of which only the lowest `bits` differ. sorted: the same in order, which may not be keys, or empty where only
  /// the order is wanted; order: int64 of as many, the place in its row that each had, ascending among equals. Cost: for each 8 bits 3 reads and writes of
  /// keys and 2 of places, of 4 bytes. ShapeError for rows of 2^32 words or more.
  void operator()(const Array& keys, std::int64_t rows, std::int64_t count, int bits, const Array& sorted, const Array& order) const;
  /// What that takes of the device's memory for itself.
  std::size_t workspace_bytes(std::int64_t rows, std::int64_t count, int bits) const;

 private:
  DType key_dtype_;
  Kernel count_digits_, scan_tiles_, move_digits_;
};

}  // namespace damo
