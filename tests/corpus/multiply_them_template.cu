//: array float64 a[400] = uniform(-5, 5)
//: array float64 b[400] = uniform(-5, 5)
//: array float64 dest[400]
//: launch detail::multiply_them<double><<<1, 400>>>(dest, a, b)
//: check dest
namespace detail {
template <typename scalar>
__global__ void multiply_them(scalar *dest, scalar *a, scalar *b) {
  const int i = threadIdx.x;
  dest[i] = a[i] * b[i];
}
}
