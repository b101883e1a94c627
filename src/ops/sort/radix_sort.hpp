// Elements in order, row by row, and where each came from: a stable radix sort from the least digit on (Knuth, The Art of Computer Programming 3,
// 5.2.5), in CUDA C. What sorting and the sums of repeated positions rest on where a device has no HostSort.
//
// A digit is 8 bits of an element's key (order_of, sort_key.hpp); what moves is the element, so that those of equal keys, both zeros and all kinds of NaN among them, stay as they are and in their order.
// One kernel counts all digits of a row. Then each digit's kernel goes once through memory (Adinets and Merrill, Onesweep, 2022): a block counts the digits of its tile, tells
// them to the tiles behind it, and adds up what those before it told, until one knows what all before it have (Merrill and Garland, decoupled look-back, 2016); it takes its tile by a ticket, so that it waits for blocks
// that have begun. A warp finds out which of its lanes have equal digits, so places follow from the order of the elements alone, and a tile is put in order in shared memory first, so that equal digits
// are written side by side. Nothing depends on timing.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include <damo/kernel.hpp>
#include "runtime/library/line_sort.hpp"

namespace damo {

/// How kernels come to be: ThunkContext::compile, or a Module's.
using CompileKernel = std::function<Kernel(std::string_view source, std::string_view name)>;

/// Throws ShapeError for rows that are too long for a sort's counters.
void require_sortable(std::int64_t count);

class RadixSort {
 public:
  /// dtype: of what is sorted. has_order: whether it will be asked for orders, else for values.
  RadixSort(const CompileKernel& compile, DType dtype, bool has_order);
  /// x: rows times count elements, contiguous, of whose keys only the lowest `bits` differ. sorted: the same in order, which may not be x, or empty where only
  /// the order is wanted; order: int64 of as many, the place in its row that each had, ascending among equals, of one that has_order; else empty. Cost: x is read once more than for each 8 bits a read and
  /// a write of the elements, and of places of 4 bytes where there is an order. ShapeError for rows that are not require_sortable.
  void operator()(const Array& x, const SortKey& key, std::int64_t rows, std::int64_t count, int bits, const Array& sorted, const Array& order) const;
  /// What that takes of the device's memory for itself.
  std::size_t workspace_bytes(std::int64_t rows, std::int64_t count, int bits) const;

 private:
  std::int64_t tiles_of(std::int64_t count) const;

  DType dtype_;
  bool has_order_;
  Kernel count_digits_, move_digits_;
};

}  // namespace damo
