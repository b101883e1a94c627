// Strided: an array with its shape and strides, as one argument of a kernel. A bare pointer knows neither, so a launch
// refuses an Array that is no contiguous block of memory where the kernel wants a pointer. Such a kernel declares a
// damo::Strided, of which both compilers know:
//
//   __global__ void twice(damo::Strided<float, 2> x) {
//     const int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
//     if (i < x.shape[0] && j < x.shape[1]) x(i, j) *= 2;
//   }
//
//   module.kernel("twice")({.grid = {1, 1}, .block = {32, 8}}, strided(x.transpose()));
//
// The launch checks dtype and rank. See tests/runtime/module/strided_test.cpp.
#pragma once
#include <cstdint>

#include <damo/array.hpp>

namespace damo {

/// The same bytes as in CUDA C. strides count elements; both arrays go from the outermost axis on. rank 1 to 8.
template <class T, int rank>
struct Strided {
  static_assert(rank >= 1 && rank <= 8, "a Strided has 1 to 8 axes");
  T* data;
  std::int64_t shape[rank];
  std::int64_t strides[rank];
};

/// For a launch: the array as a Strided of its own dtype and rank. Keeps a reference: make it in the launch's own line.
struct StridedArray {
  const Array& array;
};
inline StridedArray strided(const Array& array) { return {array}; }

namespace detail {
/// Throws TypeError unless the array has this dtype and rank.
void require_strided(const Array& array, DType dtype, int rank);
}  // namespace detail

/// For a prepared kernel, whose argument types are fixed. Throws TypeError unless T and rank are the array's.
template <class T, int rank>
Strided<T, rank> strided(const Array& array) {
  detail::require_strided(array, dtype_of<T>(), rank);
  Strided<T, rank> view{static_cast<T*>(array.data()), {}, {}};
  for (int axis = 0; axis < rank; ++axis) {
    view.shape[axis] = array.shape()[axis];
    view.strides[axis] = array.strides()[axis];
  }
  return view;
}

}  // namespace damo
