// Lambdas on the device and the light part of std.
//: array int32 in[256] = integers(-50, 50)
//: array int32 out[256]
//: launch shape<<<2, 128>>>(in, out)
//: check out
#include <algorithm>
#include <type_traits>
#include <limits>
template <typename F, typename T, typename = typename std::enable_if<std::is_integral<T>::value>::type>
__device__ T map(T x, F f) { return f(x); }
__global__ void shape(const int* in, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int limit = std::numeric_limits<signed char>::max() / 4;
  auto clamp = [=] __device__ (int v) { return std::min(std::max(v, -limit), limit); };
  auto twice = [](auto v) { return v + v; };
  out[i] = twice(map(in[i], clamp));
}
