// The kernels of argsort and searchsorted, for graphs and for Arrays: CUDA C on every back end.
#pragma once
#include <cstdint>

#include <damo/array.hpp>
#include "ops/sort/radix_sort.hpp"

namespace damo {

/// Elements become words whose order is theirs: NaN behind all others, both zeros alike. Rows of up to 2,048 are a block's, sorted in its shared memory
/// (Batcher 1968); longer ones go through RadixSort.
class Argsort {
 public:
  explicit Argsort(const CompileKernel& compile, DType dtype);
  /// x: rows times count elements, contiguous. order: int64 of as many, contiguous: places in their row, stable either way.
  void operator()(const Array& x, std::int64_t rows, std::int64_t count, bool descending, const Array& order) const;

 private:
  DType dtype_;
  Kernel words_, rows_;
  RadixSort radix_;
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
