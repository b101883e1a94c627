// What argsort and searchsorted run, for graphs and for Arrays: kernels of CUDA C; argsort on a host its HostSort.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

#include <damo/array.hpp>
#include "ops/sort/host_sort.hpp"
#include "ops/sort/radix_sort.hpp"

namespace damo {

/// Elements become words whose order is theirs: NaN behind all others, both zeros alike. Rows of up to 2,048 are a block's, sorted in its shared memory
/// (Batcher 1968); longer ones go through RadixSort. A host sorts rows of any length by its HostSort.
class Argsort {
 public:
  Argsort(Device device, const CompileKernel& compile, DType dtype);
  /// x: rows times count elements, contiguous. order: int64 of as many, contiguous: places in their row, stable either way.
  void operator()(const Array& x, std::int64_t rows, std::int64_t count, bool descending, const Array& order) const;
  /// order: the first `wanted` places of each row alone, at most count, contiguous. On a host few are selected; else all are sorted.
  void first(const Array& x, std::int64_t rows, std::int64_t count, std::int64_t wanted, bool descending, const Array& order) const;
  /// What these take of the device's memory for themselves.
  std::size_t workspace_bytes(std::int64_t rows, std::int64_t count) const;
  std::size_t first_bytes(std::int64_t rows, std::int64_t count, std::int64_t wanted) const;

 private:
  SortKey key(bool descending) const;

  Device device_;
  DType dtype_;
  std::optional<HostSort> host_;
  Kernel words_, rows_;
  std::optional<RadixSort> radix_;  ///< where there is no HostSort
};

class Searchsorted {
 public:
  explicit Searchsorted(const CompileKernel& compile, DType dtype);
  /// sorted: `count` elements in argsort's order; places: int64, one for each of values; all contiguous.
  void operator()(const Array& sorted, const Array& values, bool right, const Array& places) const;

 private:
  DType dtype_;
  Kernel kernel_;
};

}  // namespace damo
