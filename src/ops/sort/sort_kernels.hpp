// What sort and argsort run, for graphs and for Arrays: kernels of CUDA C; sorts on a host its HostSort.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

#include <damo/array.hpp>
#include "ops/sort/host_sort.hpp"
#include "ops/sort/radix_sort.hpp"

namespace damo {

/// Elements in order of their keys (sort_key.hpp), and their places. Rows of up to 2,048 are a block's, sorted in its shared memory
/// (Batcher 1968); longer ones go through RadixSort. A host sorts rows of any length by its HostSort.
class RowSort {
 public:
  /// has_order: whether it will be asked for orders, else for values alone.
  RowSort(Device device, const CompileKernel& compile, DType dtype, bool has_order);
  /// x: rows times count elements, contiguous. sorted: as many, contiguous, not x, or empty where only the order is wanted; order: int64 of as many, contiguous: places in their row, stable either way;
  /// empty unless has_order.
  void operator()(const Array& x, std::int64_t rows, std::int64_t count, bool descending, const Array& sorted, const Array& order) const;
  /// order: the first `wanted` places of each row alone, at most count, contiguous. On a host few are selected; else all are sorted. Of one that has_order.
  void first(const Array& x, std::int64_t rows, std::int64_t count, std::int64_t wanted, bool descending, const Array& order) const;
  /// What these take of the device's memory for themselves.
  std::size_t workspace_bytes(std::int64_t rows, std::int64_t count) const;
  std::size_t first_bytes(std::int64_t rows, std::int64_t count, std::int64_t wanted) const;

 private:
  Device device_;
  DType dtype_;
  bool has_order_;
  std::optional<HostSort> host_;
  Kernel rows_;
  std::optional<RadixSort> radix_;  ///< where there is no HostSort
};

}  // namespace damo
