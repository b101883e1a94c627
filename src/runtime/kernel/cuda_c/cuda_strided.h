// What a kernel's parameter of <damo/strided.hpp> is in CUDA C, on both back ends.
#pragma once
namespace damo {
// An array with its shape and strides, in elements (<damo/strided.hpp>).
template <class T, int rank>
struct Strided {
  T* data;
  long shape[rank];
  long strides[rank];
  template <class... Index>
  __host__ __device__ T& operator()(Index... index) const {
    static_assert(sizeof...(Index) == rank, "one index for each axis");
    const long at[] = {static_cast<long>(index)...};
    long offset = 0;
    for (int axis = 0; axis < rank; ++axis) offset += at[axis] * strides[axis];
    return data[offset];
  }
};
}  // namespace damo
