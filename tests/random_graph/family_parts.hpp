// What several families of ops of random graphs are made of, of Variables and of Arrays alike. A printed program carries this file with it.
#pragma once
#include <damo/damo.hpp>

namespace damo::testing {

template <class T>
T converted(const T& x, DType dtype) {
  return astype(x, dtype);
}

/// int64 of rank 0: how long an axis is. x is not empty.
inline Variable extent_of(const Variable& x, int axis) { return max(index_along(x, axis)) + 1; }
inline Array extent_of(const Array& x, int axis) { return Array::scalar(Scalar(x.shape()[axis]), x.device()); }

/// Finite and small: NaN is 0, the others are from -4 to 4.
template <class T>
T tamed(const T& x) {
  return clip(where(isnan(x), 0.0, x), -4.0, 4.0);
}

/// Any numbers as positions on an axis of x, from -extent to extent - 1.
template <class T>
T positions_on(const T& x, int axis, const T& numbers) {
  const T extent = extent_of(x, axis);
  return sub(mod(converted(numbers, int64), add(extent, extent)), extent);
}

/// x x^T / columns + 4, symmetric and far from singular: no eigenvalue is below 4.
template <class T>
T well_conditioned(const T& x) {
  const T product = true_div(matmul(x, swap_axes(x, -1, -2)), converted(extent_of(x, x.rank() - 1), x.dtype()));
  return add(product, triu(tril(add(mul(product, 0.0), 4.0))));
}

/// With n and channels in front where x has not got them: rank `spatial` + 2.
template <class T>
T as_picture(T x, int spatial) {
  while (x.rank() < spatial + 2) x = expand_dims(x, 0);
  return x;
}

}  // namespace damo::testing
