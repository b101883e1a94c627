// SliceSums: the kernel of take's gradient, which adds up slices by their positions.
#pragma once
#include <damo/array.hpp>
#include "ops/sort/radix_sort.hpp"

namespace damo {

/// Sums of slices at each position, zeros where there are none: each slice of z is written once, without atomics and the same at every call, its slices added in the order of keys. float32 and float64.
class SliceSums {
 public:
  SliceSums(const CompileKernel& compile, DType dtype);
  /// y: contiguous, of taken_shape(); z: contiguous, of arbitrary contents. keys: positions in order, each from order[i] in C order, as sorted_positions has them.
  void operator()(const Array& y, const Array& keys, const Array& order, const Array& z, int axis, int axes) const;

 private:
  Kernel kernel_;
};

}  // namespace damo
